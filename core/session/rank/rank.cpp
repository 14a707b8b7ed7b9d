// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/session/rank/rank.h"

#include <fmt/core.h>
#include <sched.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <optional>
#include <span>

#include "core/base/clock.h"
#include "core/base/hash.h"
#include "core/base/json.h"
#include "core/base/log.h"
#include "core/base/units.h"
#include "core/compute/host_copy.h"
#include "core/experiment/engine.h"
#include "core/experiment/fsdp.h"
#include "core/experiment/imposed.h"
#include "core/experiment/mesh.h"
#include "core/experiment/rank_duties.h"
#include "core/experiment/servers.h"
#include "core/experiment/stages.h"
#include "core/plan/text.h"
#include "core/run/bind/loss_scale.h"
#include "core/run/bind/memory_use.h"
#include "core/run/bind/private_memory.h"
#include "core/run/meters/chunk_sampler.h"
#include "core/session/checkpoint/checkpoint_pieces.h"
#include "core/session/checkpoint/resume.h"
#include "core/session/protocol/timeouts.h"
#include "core/session/rank/evaluator.h"
#include "core/session/rank/heartbeat_sender.h"
#include "core/session/rank/rank_link.h"
#include "core/session/rank/recipe.h"
#include "core/session/rank/text_generator.h"
#include "core/strategy/strategy.h"

namespace trainyard::session {
namespace {

using base::Problem;
using base::ProblemCode;
using base::Result;

using compute::Memory;

// Rank that has made its plan and allocated its memory, but is not connected to other ranks yet.
struct Prepared {
  Assign assignment;
  experiment::Resolved resolved;
  plan::Plan plan;
  plan::RankPlan rank_plan;
  std::string plan_hash;
  run::Layout layout;
  std::unique_ptr<compute::Compute> compute;
  std::shared_ptr<const data::Dataset> dataset;
  std::optional<data::Sampler> sampler;
  std::unique_ptr<DataPlane> data_plane;  // Null for a single rank, or if an engine is used.
  // Engine (such as NCCL) that executes each collective as a single op.
  std::unique_ptr<comm::BoundCollectives> bound_engine;

  std::string endpoint() const {
    return data_plane ? data_plane->endpoint() : bound_engine ? bound_engine->endpoint() : "";
  }
  std::optional<run::PrivateMemory> own;
  run::OffloadSpace offload_space;
};

template <class Wanted>
Result<Wanted> await(ControlClient& client, int rank) {
  const std::int64_t end = base::now_nanoseconds() + kStartLimit;
  while (base::now_nanoseconds() < end) {
    const auto received = client.receive(std::chrono::milliseconds(100));
    if (!received) return base::fail(received.error());
    if (!*received) continue;
    if (const auto* wanted = std::get_if<Wanted>(&**received)) return *wanted;
    if (const auto* abort = std::get_if<Abort>(&**received)) return base::fail(abort->reason);
  }
  return base::fail(
      {"no_answer", ProblemCode::failed, fmt::format("rank {}", rank),
       "the coordinator did not answer for 60 s", "",
       "See run.log in the run directory, and run again when this machine is less busy."});
}

Result<experiment::Resolved> read_experiment(const std::string& text) {
  return base::parse_json(text, "the resolved experiment").and_then([](const base::Json& json) {
    return experiment::resolved_from_json(json);
  });
}

class Rank {
 public:
  Rank(const RankIdentity& identity, const RankServices& services)
      : identity_(identity), services_(services) {}

  Result<void> run() {
    auto client = services_.connect(identity_.endpoint);
    if (client) client_ = std::move(*client);
    auto trained = client ? prepare_and_train_in_memory() : base::fail(client.error());
    if (!trained) report(trained.error());
    return trained;
  }

 private:
  Result<void> prepare_and_train_in_memory() {
    try {
      return prepare_and_train();
    } catch (const std::bad_alloc&) {
      return leaves(base::out_of_memory(where()));
    } catch (const std::exception& error) {
      return leaves({"unexpected_exception", ProblemCode::failed, where(),
                     fmt::format("unexpected exception: {}", error.what()), "", "See its log."});
    }
  }

  Result<void> prepare_and_train() {
    if (auto ok =
            client_->send(Hello{identity_.rank, identity_.token, TRAINYARD_VERSION, ::getpid()});
        !ok)
      return ok;
    const auto assignment = await<Assign>(*client_, identity_.rank);
    if (!assignment) return base::fail(assignment.error());
    p_.assignment = *assignment;
    if (auto ok = start_heartbeats(); !ok) return ok;
    if (auto ok = prepare(); !ok) return ok;
    say("info", fmt::format("ready on {}, buffers: {} private and {} shared{}", p_.compute->name(),
                            base::format_bytes(static_cast<double>(p_.layout.private_bytes)),
                            base::format_bytes(static_cast<double>(p_.layout.shared_bytes)),
                            device_memory_text()));
    if (auto ok = client_->send(Planned{identity_.rank, p_.plan_hash, p_.endpoint()}); !ok)
      return ok;
    const auto start = await<Start>(*client_, identity_.rank);
    if (!start) return base::fail(start.error());
    if (start->plan_hash != p_.plan_hash)
      return base::fail({"plans_differ", ProblemCode::refused, where(),
                         fmt::format("the rank made plan {}, but the coordinator made plan {}",
                                     p_.plan_hash, start->plan_hash),
                         "one plan", "Use the same software version everywhere."});
    if (auto ok = connect(start->endpoints); !ok) return ok;
    return train();
  }

  std::string device_memory_text() const {
    if (!p_.data_plane) return "";
    if (const std::string why = p_.data_plane->not_on_device_reason(); !why.empty())
      return fmt::format(", all of it in host memory: {}", why);
    if (p_.data_plane->on_device() == nullptr) return "";
    return fmt::format(", of which {} are on the GPU and exported to peers",
                       base::format_bytes(static_cast<double>(p_.layout.shared_bytes -
                                                              p_.layout.shared_host_bytes)));
  }

  Result<void> connect(const std::vector<std::string>& endpoints) {
    if (p_.data_plane)
      return p_.data_plane->connect(endpoints).map(
          [&](std::unique_ptr<comm::Transport> made) { use(std::move(made)); });
    if (p_.bound_engine)
      return p_.bound_engine->connect(endpoints).map(
          [&](std::unique_ptr<comm::Collectives> made) { engine_ = std::move(made); });
    return {};
  }

  void use(std::unique_ptr<comm::Transport> transport) {
    transport_ = std::move(transport);
    for (int peer = 0; peer < p_.resolved.world(); ++peer)
      if (peer != identity_.rank && experiment::is_loss_allowed(p_.resolved, peer))
        transport_->allow_loss(peer);
  }

  // Called only after the first message of the rank: the coordinator must know the rank's main
  // connection before its heartbeat connection.
  Result<void> start_heartbeats() {
    auto client = services_.connect(identity_.endpoint);
    if (!client) return base::fail(client.error());
    heartbeat_sender_.emplace(
        std::move(*client),
        std::vector{Hello{identity_.rank, identity_.token, TRAINYARD_VERSION, ::getpid()}});
    return {};
  }

  Result<void> prepare() {
    auto resolved = read_experiment(p_.assignment.resolved);
    if (!resolved) return base::fail(resolved.error());
    p_.resolved = std::move(*resolved);
    auto plan = strategy::make_plan(p_.resolved);
    if (!plan) return base::fail(plan.error());
    p_.plan = std::move(*plan);
    p_.plan_hash = plan::hash(p_.plan);
    p_.rank_plan = p_.plan.rank_plan(identity_.rank);
    p_.resolved = experiment::of_rank(p_.resolved, identity_.rank);
    heartbeat_sender_->follow(p_.rank_plan);
    p_.layout = run::layout(p_.rank_plan);
    if (auto ok = prepare_device(); !ok) return ok;
    if (p_.resolved.world() == 1 || evaluates()) return {};
    if (experiment::engine_of(p_.resolved) != experiment::Engine::own)
      return services_.make_engine({&p_.resolved, identity_.rank, &p_.plan.groups})
          .map([&](auto bound) { p_.bound_engine = std::move(bound); });
    auto plane =
        services_.make_data_plane({&p_.resolved, identity_.rank, p_.assignment.generation,
                                   p_.assignment.run_key, static_cast<int>(p_.plan.groups.size()),
                                   static_cast<std::size_t>(plan::max_message_bytes(p_.rank_plan)),
                                   static_cast<std::size_t>(p_.layout.shared_bytes),
                                   static_cast<std::size_t>(p_.layout.shared_host_bytes),
                                   p_.compute.get(), p_.assignment.run_directory});
    if (!plane) return base::fail(plane.error());
    p_.data_plane = std::move(*plane);
    return {};
  }

  Result<void> prepare_device() {
    const topology::Network network(p_.resolved.document.topology);
    const topology::Device& device =
        network.device(p_.resolved.ranks[static_cast<std::size_t>(identity_.rank)]);
    auto compute = services_.make_compute(device);
    if (!compute) return base::fail(compute.error());
    p_.compute = std::move(*compute);
    if (auto ok = prepare_slowness(device); !ok) return ok;
    if (run::loads(p_.rank_plan)) {
      auto dataset = data::open(p_.resolved.document.data, "");
      if (!dataset)
        return base::fail(data::at_field(dataset.error(), p_.resolved.document.data, ""));
      p_.dataset = std::move(*dataset);
    }
    auto sampler = experiment::sampler(p_.resolved);
    if (!sampler) return base::fail(sampler.error());
    p_.sampler = std::move(*sampler);
    auto offload_space = run::OffloadSpace::make(p_.layout, offload_directory(), where());
    if (!offload_space) return base::fail(offload_space.error());
    p_.offload_space = std::move(*offload_space);
    return run::PrivateMemory::make(p_.layout, *p_.compute, where())
        .map([&](run::PrivateMemory own) { p_.own = std::move(own); })
        .map_error([&](const Problem& problem) { return with_accounts(problem); });
  }

  // Extends an out-of-memory problem by the memory that the rank needs, by purpose, and by advice
  // on how to find settings that need less.
  Problem with_accounts(Problem problem) const {
    const topology::Network network(p_.resolved.document.topology);
    const std::string& drawn =
        network.device(p_.resolved.ranks[static_cast<std::size_t>(identity_.rank)]).name;
    problem.what += fmt::format("; the buffers of the rank need {}",
                                run::describe(run::memory_use(p_.rank_plan, p_.layout)));
    problem.advice += fmt::format(
        "{} the memory of \"{}\" in the drawing to the memory that is free on this machine. The "
        "command validate then lists settings that fit.",
        problem.advice.empty() ? "Set" : " Or set", drawn);
    return problem;
  }

  std::string offload_directory() const {
    const std::string& named = p_.resolved.document.training.swap.directory;
    if (!named.empty()) return named;
    const std::string& run = p_.assignment.run_directory;
    return run.empty() ? std::filesystem::temp_directory_path().string() : run;
  }

  Result<void> prepare_slowness(const topology::Device& device) {
    run::OpTimes drawn;
    if (p_.resolved.document.run.devices == experiment::DeviceSpeed::paced) {
      const topology::Topology drawing = experiment::as_imposed(p_.resolved.document);
      const int host = p_.resolved.hosts[static_cast<std::size_t>(identity_.rank)];
      auto times = services_.drawn_op_times(p_.rank_plan, p_.plan, device,
                                            drawing.hosts[static_cast<std::size_t>(host)]);
      if (!times) return base::fail(times.error());
      drawn = std::move(*times);
    }
    slowness_.emplace(p_.resolved.document.training.seed, identity_.rank, device.slow_down,
                      device.jitter, std::move(drawn));
    return {};
  }

  Result<void> train() {
    const run::Recipe recipe = session::recipe(p_.resolved);
    const auto shared = shared_memory();
    if (!shared) return base::fail(shared.error());
    const auto bound = run::bind(p_.rank_plan, p_.plan.groups, p_.resolved.model, recipe,
                                 *p_.compute, p_.own->arena(), *shared, &p_.offload_space);
    if (!bound)
      return base::fail(bound.error().code == ProblemCode::unavailable
                            ? with_accounts(bound.error())
                            : bound.error());
    if (!warms_up())
      if (auto ok = begin(*bound); !ok) return ok;
    return interpret(recipe, *bound);
  }

  // Writes the initial state into the rank's memory before the first step. Until then, the memory
  // contains zeros.
  Result<void> begin(const run::BoundPlan& bound) {
    initialize(p_.resolved, p_.rank_plan, bound);
    // Ranks that do not load the saved state receive all of it from others.
    const bool takes_over =
        !evaluates() && (p_.rank_plan.rule || p_.resolved.model.state_elements > 0);
    if (p_.resolved.first_step == 0 || !takes_over) return {};
    return initial_state(p_.resolved).map([&](const InitialState& begins) {
      load_initial_state(begins, p_.resolved, p_.rank_plan, bound);
    });
  }

  // True if every op must be executed once before the initial state is written. With NCCL, the
  // first use of a GPU function may wait for all work on the GPU. If this work includes NCCL
  // operations that wait for peers, the rank deadlocks.
  bool warms_up() const { return uses_nccl() && p_.bound_engine; }

  Result<void> warm_up(run::Interpreter& interpreter, const run::InterpreterParts& parts) {
    if (auto ran = interpreter.warm_up(); !ran) return ran;
    const run::PrivateArena own = p_.own->arena();
    const std::int64_t on_host = p_.layout.shared_host_bytes;
    const std::span<std::byte> shared(send_memory_[1].get(),
                                      static_cast<std::size_t>(p_.layout.shared_bytes - on_host));
    for (const std::span<std::byte> memory : {own.memory, shared})
      if (auto cleared = run::clear(*p_.compute, memory); !cleared) return cleared;
    std::fill_n(own.result_memory, p_.layout.result_bytes, std::byte{});
    std::fill_n(send_memory_[0].get(), on_host, std::byte{});
    run::begin_loss_scale(*parts.bound, parts.recipe->loss_scaling);
    return begin(*parts.bound);
  }

  // Returns the memory that peers read: the arena of the transport, if it has one. Otherwise
  // returns local memory, from which the transport sends or which an engine accesses.
  Result<run::SharedArena> shared_memory() {
    const auto bytes = static_cast<std::size_t>(p_.layout.shared_bytes),
               of_host = static_cast<std::size_t>(p_.layout.shared_host_bytes);
    std::byte* const on_device = p_.data_plane ? p_.data_plane->on_device() : nullptr;
    if (const auto arena = transport_ ? transport_->arena() : std::span<std::byte>{};
        arena.size() >= bytes)
      return p_.compute->reach(on_device != nullptr ? arena.first(of_host) : arena)
          .map([&](std::shared_ptr<void> reached) {
            reached_ = std::move(reached);
            return run::SharedArena(arena, on_device);
          });
    // NCCL accesses device memory; every other transport or engine accesses host memory.
    const bool splits = uses_nccl();
    const std::int64_t on_host = splits ? p_.layout.shared_host_bytes : p_.layout.shared_bytes;
    auto result_memory = p_.compute->allocate_host_visible(on_host, where()),
         others = p_.compute->allocate(p_.layout.shared_bytes - on_host, where());
    if (!result_memory || !others)
      return base::fail((result_memory ? others : result_memory).error());
    send_memory_ = {std::move(*result_memory), std::move(*others)};
    return run::SharedArena(std::span(send_memory_[0].get(), static_cast<std::size_t>(on_host)),
                            splits ? send_memory_[1].get() : nullptr);
  }

  Result<void> interpret(const run::Recipe& recipe, const run::BoundPlan& bound) {
    run::Gate gate;
    run::RankProgress& rank_progress = heartbeat_sender_->rank_progress();
    telemetry::EventRing events;
    telemetry::ChunkValueQueue values;
    run::OrderLog order;
    run::OrderLog* const kept = run::keeps_order(p_.rank_plan) ? &order : nullptr;
    run::ChunkSampler chunks(p_.rank_plan, p_.plan.groups, bound, strategy::method(p_.resolved),
                             gate, values);
    SavedQueue saved;
    LatestCommit committed;
    const auto writer = part_writer(saved);
    auto speaker = text_sampler(recipe, bound);
    if (!speaker) return base::fail(speaker.error());
    RankLink link({identity_.rank, &gate, &*heartbeat_sender_, &events, transport_.get(),
                   &*slowness_, engine_.get(), &values, kept, &saved, &committed},
                  *client_);
    run::InterpreterParts parts{.plan = &p_.rank_plan,
                                .schedule = p_.plan.schedule,
                                .bound = &bound,
                                .model = &p_.resolved.model,
                                .recipe = &recipe,
                                .compute = p_.compute.get(),
                                .transport = transport_.get(),
                                .dataset = p_.dataset,
                                .sampler = std::move(*p_.sampler),
                                .held_out = p_.resolved.held_out(identity_.rank),
                                .generation = p_.assignment.generation,
                                .events = &events,
                                .record_ops = p_.resolved.document.run.record_ops,
                                .gate = &gate,
                                .rank_progress = &rank_progress,
                                .slowness = &*slowness_,
                                .engine = engine_.get(),
                                .chunks = &chunks,
                                .is_own_process = is_own_process(),
                                .share = experiment::share_of(p_.resolved, identity_.rank),
                                .order = kept};
    if (*speaker)
      parts.evaluated = [&](std::int64_t step) {
        link.say("text", sample_text(**speaker, p_.resolved, step));
      };
    if (writer && generates_text_from_checkpoints(p_.resolved))
      parts.evaluated = [&](std::int64_t step) { offer_part(*writer, bound, step + 1); };
    auto steps = p_.rank_plan.rule
                     ? serve(server_parts(p_.resolved, p_.plan, parts), writer.get(), saved)
                 : evaluates() ? evaluate(parts, committed, link)
                               : work(std::move(parts), writer.get(), saved);
    const bool is_peer_failure = !steps && engine_ && is_reported_by_engine(steps.error());
    if (!steps) leave(steps.error());
    if (is_peer_failure) link.await_abort();
    link.close();
    failed_step_ = rank_progress.step.load();
    if (const auto reason = link.abort_reason()) return base::fail(*reason);
    if (!steps) return base::fail(steps.error());
    return finish(*steps, bound, rank_progress.first_step_done_ns.load());
  }

  // Creates the text sampler if the data set is text and this rank generates text with its
  // parameters.
  Result<std::optional<run::TextSampler>> text_sampler(const run::Recipe& recipe,
                                                       const run::BoundPlan& bound) {
    const bool generates =
        evaluates() || (p_.resolved.evaluators == 0 && identity_.rank == p_.resolved.chief);
    if (!generates || has_shard() || !p_.dataset || !generates_text(p_.resolved))
      return std::nullopt;
    return run::TextSampler::make({&p_.resolved.model, p_.compute.get(), bound.parameters,
                                   bound.state, recipe.multiplies, p_.dataset->vocabulary()})
        .map([](run::TextSampler sampler) { return std::optional(std::move(sampler)); });
  }

  bool is_reported_by_engine(const Problem& problem) const {
    const auto state = engine_->state();
    return !state && state.error() == problem;
  }

  Result<void> leaves(const Problem& why) {
    leave(why);
    return base::fail(why);
  }

  // Tells the other ranks why this rank leaves.
  void leave(const Problem& why) {
    if (transport_) transport_->abort(why);
    if (engine_) engine_->abort(why);
  }

  // Creates the checkpoint writer of a rank that saves only a part of the model; null if the rank
  // saves none. In training with servers, the part is a server's share, or a worker's model state
  // besides parameters. Otherwise it is some of the layers, or shards of them. A chief on another
  // machine saves all of the model as one part.
  std::unique_ptr<PartWriter> part_writer(SavedQueue& box) {
    const auto made = [&](const std::string& name, bool state) {
      return std::make_unique<PartWriter>(checkpoints(), identity_.rank, name, state,
                                          p_.resolved.model, p_.compute.get(), box);
    };
    if (has_shard())
      return writes_part(p_.resolved, identity_.rank)
                 ? made("part-" + std::to_string(identity_.rank), false)
                 : nullptr;
    if (evaluates()) return nullptr;
    if (p_.resolved.servers == 0) return is_remote_chief() ? made("model", false) : nullptr;
    if (p_.rank_plan.rule)
      return made("server-" + std::to_string(identity_.rank - p_.resolved.workers()), false);
    return p_.resolved.model.state_elements > 0 ? made("state", true) : nullptr;
  }

  Result<std::int64_t> serve(run::ServerParts parts, PartWriter* writer, SavedQueue& box) {
    run::Server* serving = nullptr;
    const auto spans = [&] {
      return spans_of_server(p_.resolved, parts.number, serving->parameters(),
                             parts.bound->moments);
    };
    parts.save = [&](std::int64_t step, std::int64_t version) {
      offer(*writer, box, step, version, spans());
    };
    run::Server server(parts);
    serving = &server;
    auto steps = server.run();
    if (!steps) return steps;
    return writer->write_now(*steps, server.version(), spans()).map([&] { return *steps; });
  }

  Result<std::int64_t> work(run::InterpreterParts parts, PartWriter* writer, SavedQueue& box) {
    const compute::Tensor& state = parts.bound->state;
    if (writer != nullptr && p_.resolved.servers > 0) {
      parts.save_every_steps = p_.resolved.document.run.checkpoint_every_steps;
      parts.save = [&](std::int64_t step) {
        if (parts.gate->chief() == identity_.rank)
          offer(*writer, box, step, step, {{CheckpointBuffer::state, 0, state}});
      };
    }
    run::Interpreter interpreter(parts);
    if (warms_up())
      if (auto ok = warm_up(interpreter, parts); !ok) return base::fail(ok.error());
    auto steps = interpreter.run();
    if (!steps) return steps;
    if (has_shard() && writer == nullptr) return steps;
    if (has_shard())
      return writer->write_now(*steps, *steps, local_part(*parts.bound)).map([&] {
        return *steps;
      });
    if (p_.resolved.servers == 0) return save(*steps, *parts.bound, writer);
    if (writer == nullptr || parts.gate->chief() != identity_.rank) return steps;
    return writer->write_now(*steps, *steps, {{CheckpointBuffer::state, 0, state}}).map([&] {
      return *steps;
    });
  }

  // Runs an evaluator, at idle priority, so that training ranks go first when cores are scarce.
  Result<std::int64_t> evaluate(const run::InterpreterParts& parts, LatestCommit& committed,
                                RankLink& link) {
    const sched_param none{};
    static_cast<void>(
        // Idle priority applies to this thread and to threads that it creates.
        ::sched_setscheduler(0, SCHED_IDLE, &none));
    run::Interpreter interpreter(parts);
    return evaluate_checkpoints(
        {checkpoints(), &p_.resolved.model, parts.bound, &interpreter, parts.gate,
         parts.rank_progress, &committed,
         [&](const Problem& problem) { link.say("warning", base::to_string(problem)); }});
  }

  void offer(PartWriter& writer, SavedQueue& box, std::int64_t step, std::int64_t version,
             const std::vector<CheckpointSpan>& spans) {
    if (!writer.offer(step, version, spans))
      box.put({{identity_.rank, step, false, "", "", 0, 0,
                "the previous checkpoint is still being written"}});
  }

  // Starts to save the rank's part of a checkpoint for text generation. Text needs the parts of all
  // ranks, so there is none for a step at which a rank skips its part.
  void offer_part(PartWriter& writer, const run::BoundPlan& bound, std::int64_t steps) {
    static_cast<void>(writer.offer(steps, steps, local_part(bound)));
  }

  std::vector<CheckpointSpan> local_part(const run::BoundPlan& bound) const {
    return spans_of_part(p_.resolved, identity_.rank, bound.parameters, bound.state);
  }

  // Saves the final checkpoint. Called while the coordinator link is open, so that heartbeats
  // continue however long the disk takes.
  Result<std::int64_t> save(std::int64_t steps, const run::BoundPlan& bound, PartWriter* writer) {
    if (identity_.rank != p_.resolved.chief) return steps;
    if (writer != nullptr) {
      std::vector<CheckpointSpan> spans{{CheckpointBuffer::parameters, 0, bound.parameters}};
      if (!bound.state.empty()) spans.push_back({CheckpointBuffer::state, 0, bound.state});
      return writer->write_now(steps, steps, spans).map([&] { return steps; });
    }
    std::vector<std::byte> parameters, state;
    const auto seen = [&](const compute::Tensor& tensor, std::vector<std::byte>& memory) {
      return compute::seen(p_.compute.get(), tensor, memory);
    };
    return write_checkpoint(checkpoints(), {steps, p_.plan_hash}, p_.resolved.model,
                            {seen(bound.parameters, parameters), seen(bound.state, state)})
        .map([&] { return steps; });
  }

  Result<void> finish(std::int64_t steps, const run::BoundPlan& bound,
                      std::int64_t first_step_done_ns) {
    Finished finished{identity_.rank,
                      steps,
                      experiment::keeps_parameters(p_.resolved.document, identity_.rank) &&
                              !bound.parameters.empty()
                          ? hash_of(bound.parameters)
                          : "",
                      is_own_process() ? peak_memory_bytes() : 0,
                      first_step_done_ns,
                      {}};
    finished.peers.resize(static_cast<std::size_t>(p_.resolved.world()));
    for (int peer = 0; transport_ && peer < transport_->ranks(); ++peer) {
      if (peer == identity_.rank) continue;
      const comm::Traffic traffic = transport_->traffic(peer);
      finished.peers[static_cast<std::size_t>(peer)] = {
          traffic.sent_payload_bytes, traffic.sent_header_bytes, traffic.received_payload_bytes,
          traffic.received_header_bytes};
    }
    return client_->send(finished);
  }

  bool uses_nccl() const { return experiment::engine_of(p_.resolved) == experiment::Engine::nccl; }
  bool evaluates() const { return p_.resolved.is_evaluator(identity_.rank); }
  // True if the rank holds only some of the parameters.
  bool has_shard() const { return experiment::has_partial_parameters(p_.resolved); }

  // Directory of the checkpoints; empty on another machine than the coordinator's.
  std::string checkpoints() const {
    const std::string& run = p_.assignment.run_directory;
    return run.empty() ? "" : run + "/checkpoints";
  }

  bool is_remote_chief() const {
    return identity_.rank == p_.resolved.chief && p_.assignment.run_directory.empty();
  }

  // True if the rank is a process. Ranks over the inproc transport are threads of one process.
  bool is_own_process() const {
    return p_.resolved.document.run.transport != experiment::TransportKind::inproc;
  }

  static std::uint64_t peak_memory_bytes() {
    rusage usage{};
    ::getrusage(RUSAGE_SELF, &usage);
    return static_cast<std::uint64_t>(usage.ru_maxrss) * 1024;
  }

  std::string hash_of(const compute::Tensor& tensor) const {
    std::vector<std::byte> memory;
    const compute::Tensor seen = compute::seen(p_.compute.get(), tensor, memory);
    return base::hex(base::xxh64({seen.data, static_cast<std::size_t>(seen.bytes())}));
  }

  void report(const Problem& problem) {
    base::log_error(base::to_string(problem));
    if (client_)
      static_cast<void>(client_->send(Failed{identity_.rank, failed_step_, "", problem}));
  }

  void say(const char* level, const std::string& text) {
    static_cast<void>(client_->send(Log{identity_.rank, base::now_nanoseconds(), level, text}));
  }

  std::string where() const { return fmt::format("rank {}", identity_.rank); }

  RankIdentity identity_;
  const RankServices& services_;
  std::unique_ptr<ControlClient> client_;
  Prepared p_;
  std::optional<run::SlowdownModel> slowness_;
  std::optional<HeartbeatSender> heartbeat_sender_;  // Refers to the plan in `p_`.
  // Host and device memory from which the transport sends. Must outlive the transport, because the
  // transport may send data until it is destroyed, even after the last op.
  std::array<Memory, 2> send_memory_;
  std::unique_ptr<comm::Transport> transport_;
  std::shared_ptr<void> reached_;  // Mapping of the transport's arena for the device.
  std::unique_ptr<comm::Collectives> engine_;
  std::int64_t failed_step_ = 0;
};

}  // namespace

Result<void> run_rank(const RankIdentity& identity, const RankServices& services) {
  return Rank(identity, services).run();
}

}  // namespace trainyard::session
