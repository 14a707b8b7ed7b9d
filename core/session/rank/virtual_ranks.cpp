// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/session/rank/virtual_ranks.h"

#include <fmt/core.h>
#include <sys/resource.h>
#include <unistd.h>

#include <optional>

#include "core/base/clock.h"
#include "core/base/hash.h"
#include "core/base/json.h"
#include "core/base/log.h"
#include "core/base/units.h"
#include "core/plan/text.h"
#include "core/session/checkpoint/checkpoint.h"
#include "core/session/protocol/timeouts.h"
#include "core/session/rank/heartbeat_sender.h"
#include "core/session/rank/recipe.h"
#include "core/strategy/strategy.h"

namespace trainyard::session {
namespace {

using base::Problem;
using base::ProblemCode;
using base::Result;

// Nanoseconds between two polls of the connection to the coordinator.
constexpr std::int64_t kServePeriod = 5'000'000;
constexpr std::int64_t kShipLimit = 2'000'000'000;  // Nanoseconds for the last events to be sent.
// Maximum number of server events between two sends. Every event adds ops and metrics to the event
// rings.
constexpr int kShipEvery = 16;
constexpr std::size_t kRingEvents = 1 << 14;  // Events that a rank may add between two sends.

class VirtualRanks {
 public:
  VirtualRanks(const std::vector<RankIdentity>& ranks, const VirtualServices& services)
      : ranks_(ranks), services_(services) {}

  Result<void> run() {
    auto client = services_.connect(ranks_.front().endpoint);
    if (!client) return base::fail(client.error());
    client_ = std::move(*client);
    auto trained = train_in_memory();
    if (!trained) {
      base::log_error(base::to_string(trained.error()));
      for (const RankIdentity& rank : ranks_)
        static_cast<void>(client_->send(Failed{rank.rank, done(), "", trained.error()}));
    }
    return trained;
  }

 private:
  Result<void> train_in_memory() {
    try {
      return train();
    } catch (const std::bad_alloc&) {
      return base::fail(base::out_of_memory("the ranks on the virtual clock"));
    }
  }

  Result<void> train() {
    return join()
        .and_then([&] { return prepare(); })
        .and_then([&] { return start(); })
        .and_then([&] { return follow(); })
        .and_then([&] { return finish(); });
  }

  Result<void> join() {
    std::vector<Hello> hellos;
    for (const RankIdentity& rank : ranks_)
      hellos.push_back({rank.rank, rank.token, TRAINYARD_VERSION, ::getpid()});
    for (const Hello& hello : hellos)
      if (auto ok = client_->send(hello); !ok) return ok;
    Assign assignment;
    for (std::size_t i = 0; i < hellos.size(); ++i) {
      auto one = await<Assign>();
      if (!one) return base::fail(one.error());
      assignment = std::move(*one);
    }
    // Opens the heartbeat connection only now, so that the coordinator already knows the main
    // connection of every rank.
    auto client = services_.connect(ranks_.front().endpoint);
    if (!client) return base::fail(client.error());
    heartbeat_sender_.emplace(std::move(*client), std::move(hellos));
    run_directory_ = assignment.run_directory;
    auto resolved =
        base::parse_json(assignment.resolved, "the resolved experiment")
            .and_then([](const base::Json& json) { return experiment::resolved_from_json(json); });
    if (!resolved) return base::fail(resolved.error());
    resolved_ = std::move(*resolved);
    return {};
  }

  Result<void> prepare() {
    auto plan = strategy::make_plan(resolved_);
    if (!plan) return base::fail(plan.error());
    plan_ = std::move(*plan);
    recipe_ = recipe(resolved_);
    const topology::Network network(resolved_.document.topology);
    auto compute = services_.make_compute(network.device(resolved_.ranks.front()));
    if (!compute) return base::fail(compute.error());
    compute_ = std::move(*compute);
    for (int rank = 0; rank < resolved_.world(); ++rank)
      rings_.push_back(std::make_unique<telemetry::EventRing>(kRingEvents));
    auto parts = served_training_parts(resolved_, plan_, recipe_, *compute_);
    if (!parts) return base::fail(parts.error());
    parts->events = [this](int rank) { return rings_[static_cast<std::size_t>(rank)].get(); };
    parts->begun_ns = begun_ns_;
    if (parts->offload_directory.empty()) parts->offload_directory = run_directory_;
    parts->between_ops = [this] {
      heartbeat_sender_->rank_progress().ops_done.fetch_add(1, std::memory_order_relaxed);
      return serve();
    };
    auto training = run::ServerReplay::make(std::move(*parts));
    if (!training) return base::fail(training.error());
    training_ = std::move(*training);
    say(fmt::format("ready on {}, {} on the virtual clock, buffers of ", compute_->name(),
                    base::counted(resolved_.world(), "rank")) +
        base::format_bytes(static_cast<double>(training_->memory_bytes())));
    for (int server = 0; server < resolved_.servers; ++server)
      orders_.push_back({resolved_.workers() + server, {}});
    return make_clock();
  }

  Result<void> make_clock() {
    const bool record = resolved_.document.run.record_ops;
    auto clock =
        services_.make_clock(resolved_, plan_, [this, record](int rank, telemetry::Event event) {
          if (!record) return;
          event.begin_ns += begun_ns_, event.ready_ns += begun_ns_, event.end_ns += begun_ns_;
          rings_[static_cast<std::size_t>(rank)]->write(event);
        });
    if (!clock) return base::fail(clock.error());
    clock_ = std::move(*clock);
    return {};
  }

  Result<void> start() {
    const std::string hash = plan::hash(plan_);
    for (const RankIdentity& rank : ranks_)
      if (auto ok = client_->send(Planned{rank.rank, hash, ""}); !ok) return ok;
    const auto start = await<Start>();
    if (!start) return base::fail(start.error());
    heard_ns_ = base::now_nanoseconds();
    return {};
  }

  // Executes the events of the virtual clock one by one, up to the horizon.
  Result<void> follow() {
    while (!clock_->over()) {
      if (auto ok = serve(); !ok) return ok;
      const auto event = clock_->next();
      if (!event) return base::fail(event.error());
      if (!*event) {
        if (auto ok = wait(); !ok) return ok;
        continue;
      }
      if (auto ok = training_->follow(**event); !ok) return ok;
      plan::append(**event, orders_[static_cast<std::size_t>((*event)->server)].events);
      heartbeat_sender_->rank_progress().ops_done.fetch_add(1, std::memory_order_relaxed);
      if (++unshipped_ == kShipEvery)
        if (auto ok = ship_all(); !ok) return ok;
      if (first_step_done_ns_ == 0 && done() > 0) first_step_done_ns_ = base::now_nanoseconds();
    }
    return {};
  }

  Result<void> finish() {
    training_->conclude();
    const compute::Tensor parameters = training_->parameters(resolved_.chief);
    if (auto ok =
            write_checkpoint(run_directory_ + "/checkpoints", {done(), plan::hash(plan_)},
                             resolved_.model, {parameters, training_->state(resolved_.chief)});
        !ok)
      return ok;
    const std::int64_t end = base::now_nanoseconds() + kShipLimit;
    while (!ship() && base::now_nanoseconds() < end)
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    for (const RankIdentity& rank : ranks_)
      if (auto ok = client_->send(finished(rank.rank)); !ok) return ok;
    return {};
  }

  Finished finished(int rank) const {
    rusage usage{};
    ::getrusage(RUSAGE_SELF, &usage);
    Finished note{rank,
                  done(),
                  "",
                  rank == 0 ? static_cast<std::uint64_t>(usage.ru_maxrss) * 1024 : 0,
                  first_step_done_ns_,
                  {}};
    if (rank < training_->workers()) {
      const compute::Tensor parameters = training_->parameters(rank);
      note.parameters_xxh64 =
          base::hex(base::xxh64({parameters.data, static_cast<std::size_t>(parameters.bytes())}));
    }
    for (int peer = 0; peer < resolved_.world(); ++peer)
      note.peers.push_back({static_cast<std::uint64_t>(training_->bytes(rank, peer)), 0,
                            static_cast<std::uint64_t>(training_->bytes(peer, rank)), 0});
    return note;
  }

  // Connection to the coordinator

  template <class Wanted>
  Result<Wanted> await() {
    const std::int64_t end = base::now_nanoseconds() + kStartLimit;
    while (base::now_nanoseconds() < end) {
      const auto received = client_->receive(std::chrono::milliseconds(100));
      if (!received) return base::fail(received.error());
      if (!*received) continue;
      if (const auto* wanted = std::get_if<Wanted>(&**received)) return *wanted;
      if (const auto* abort = std::get_if<Abort>(&**received)) return base::fail(abort->reason);
    }
    return base::fail({"no_answer", ProblemCode::failed, "ranks on the virtual clock",
                       "the coordinator did not answer for 60 s", "",
                       "See run.log, and run again."});
  }

  // Polls the connection; called during computation, and limited to one poll per kServePeriod.
  Result<void> serve() {
    const std::int64_t now = base::now_nanoseconds();
    if (now - served_ns_ < kServePeriod || clock_ == nullptr) return {};
    served_ns_ = now;
    return listen(std::chrono::milliseconds(0));
  }

  Result<void> wait() { return listen(std::chrono::milliseconds(5)); }

  Result<void> listen(std::chrono::milliseconds limit) {
    for (auto received = client_->receive(limit); received && *received;
         received = client_->receive(std::chrono::milliseconds(0))) {
      heard_ns_ = base::now_nanoseconds();
      take(**received);
    }
    if (aborted_) return base::fail(*aborted_);
    // time for which this process was suspended does not count as silence of the coordinator
    const std::int64_t now = base::now_nanoseconds();
    if (looked_ns_ > 0 && now - looked_ns_ > kOwnPause && heard_ns_ > 0)
      heard_ns_ = std::min(heard_ns_ + now - looked_ns_, now);
    looked_ns_ = now;
    if (heard_ns_ > 0 && base::now_nanoseconds() - heard_ns_ > kLease)
      return base::fail({"coordinator_lost", ProblemCode::failed, "ranks on the virtual clock",
                         "received nothing from the coordinator for 10 s", "",
                         "Start the run again."});
    static_cast<void>(ship());
    return {};
  }

  void take(const Message& message) {
    if (const auto* horizon = std::get_if<Horizon>(&message))
      clock_->allow(horizon->step, horizon->last);
    if (const auto* slow = std::get_if<Slow>(&message))
      clock_->slow(slow->rank, slow->slow_down, slow->jitter);
    if (const auto* abort = std::get_if<Abort>(&message)) aborted_ = abort->reason;
  }

  // Sends events, then progress. Returns false if the connection accepts no more messages now;
  // unsent messages are sent first the next time.
  bool ship() {
    for (const RankIdentity& rank : ranks_) {
      telemetry::EventRing& ring = *rings_[static_cast<std::size_t>(rank.rank)];
      if (batch_.empty()) batch_of_ = rank.rank, ring.read(batch_);
      // Skips this rank while another rank has an unsent batch, because that batch must be sent
      // first.
      else if (batch_of_ != rank.rank) continue;
      if (!batch_.empty() && !client_->send(Events{rank.rank, ring.dropped(), batch_}))
        return false;
      batch_.clear();
    }
    for (Order& order : orders_) {
      if (order.events.empty()) continue;
      if (!client_->send(order)) return false;
      order.events.clear();
    }
    if (done() == reported_done_) return true;
    run::RankProgress& at = heartbeat_sender_->rank_progress();
    at.step.store(done(), std::memory_order_relaxed);
    // The coordinator takes the run's step from the first server, so its progress is sent
    // immediately.
    if (!client_->send(Progress{resolved_.workers(), done(),
                                at.ops_done.load(std::memory_order_relaxed), "", -1}))
      return false;
    reported_done_ = done();
    return true;
  }

  // Sends the events of all rings before one of the rings is full. The computation waits for this,
  // so no event is lost.
  Result<void> ship_all() {
    for (bool shipped = false; !shipped;) {
      if (auto ok = listen(std::chrono::milliseconds(0)); !ok) return ok;
      shipped = ship();
      if (!shipped) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    unshipped_ = 0;
    return {};
  }

  void say(const std::string& text) {
    static_cast<void>(client_->send(Log{0, base::now_nanoseconds(), "info", text}));
  }
  std::int64_t done() const { return training_ ? training_->done() : 0; }

  const std::vector<RankIdentity>& ranks_;
  const VirtualServices& services_;
  std::unique_ptr<ControlClient> client_;
  std::optional<HeartbeatSender> heartbeat_sender_;
  experiment::Resolved resolved_;
  plan::Plan plan_;
  run::Recipe recipe_;
  std::string run_directory_;
  std::unique_ptr<compute::Compute> compute_;
  std::vector<std::unique_ptr<telemetry::EventRing>> rings_;  // One ring per rank.
  std::unique_ptr<run::ServerReplay> training_;
  std::unique_ptr<plan::ServerEventSource> clock_;
  std::vector<telemetry::Event> batch_;  // Events that are being sent.
  std::vector<Order> orders_;            // Events not sent yet, by server.
  int batch_of_ = 0;
  std::optional<Problem> aborted_;
  std::int64_t begun_ns_ = base::now_nanoseconds(), first_step_done_ns_ = 0;
  std::int64_t served_ns_ = 0, heard_ns_ = 0, looked_ns_ = 0, reported_done_ = -1;
  int unshipped_ = 0;  // Number of server events since the rings were emptied.
};

}  // namespace

Result<void> run_virtual_ranks(const std::vector<RankIdentity>& ranks,
                               const VirtualServices& services) {
  return VirtualRanks(ranks, services).run();
}

}  // namespace trainyard::session
