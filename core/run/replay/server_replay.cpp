// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/run/replay/server_replay.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>

#include "core/base/clock.h"
#include "core/plan/text.h"
#include "core/run/control/work_assignment.h"
#include "core/run/input/held_out.h"
#include "core/run/input/named_rows.h"
#include "core/run/input/round_input.h"
#include "core/run/interpreter/offloading.h"
#include "core/run/meters/step_meter.h"
#include "core/run/replay/server_replay_binding.h"
#include "core/run/servers/server_share.h"
#include "core/run/servers/update_average.h"

namespace trainyard::run {
namespace {

using base::Result;
using plan::OpKind;
using plan::ServerEvent;
using telemetry::Metric;

base::Problem impossible(const char* id, const ServerEvent& event, const std::string& why) {
  return {id,
          base::ProblemCode::bad_input,
          fmt::format("server {}, worker {}", event.server, event.worker),
          why,
          "an order that is possible for these servers",
          "The order file is damaged, or belongs to another experiment."};
}

base::Problem of_rank(base::Problem problem, int rank, std::int64_t step) {
  problem.where = fmt::format("rank {}, step {}: {}", rank, step, problem.where);
  return problem;
}

bool is_table(const BoundOp& pushes) { return pushes.named.row_bytes > 0; }
// Returns the address of the full gradient from which an op pushes, even if the op pushes only some
// rows of a table.
const std::byte* gradient_of(const BoundOp& pushes) {
  return pushes.kind == OpKind::pack ? pushes.own : pushes.data;
}

// Returns for each op of a server the op of the worker for the same bucket; null for ops without
// such a counterpart, such as requests.
std::vector<const BoundOp*> ends_of(const BoundProgram& server, const BoundProgram& worker,
                                    OpKind kind) {
  std::vector<const BoundOp*> ends;
  for (const BoundOp& op : server.ops) {
    const auto same = [&](const BoundOp& other) {
      return other.kind == kind && op.bucket >= 0 && other.bucket == op.bucket;
    };
    const auto found = std::find_if(worker.ops.begin(), worker.ops.end(), same);
    ends.push_back(found == worker.ops.end() ? nullptr : &*found);
  }
  return ends;
}

}  // namespace

struct ServerReplay::State {
  struct Worker {
    std::unique_ptr<BoundRank> rank;
    std::unique_ptr<StepMeter> meter;
    std::unique_ptr<RoundInput> input;
    std::unique_ptr<RowNames> names;
    std::map<int, std::int64_t> named;  // number of rows that the round lists, by share
    std::unique_ptr<HeldOut> held_out;
    WorkAssignment turn;  // current assignment, computed or not
    // For each server: true if the worker has the server's share of the parameters for this
    // assignment.
    std::vector<bool> has;
    // For each server: true if the worker still has to push the gradient to it.
    std::vector<bool> owes;
    bool assigned = false;  // `turn` is assigned but not begun
    bool joined = false;    // true once this worker, or one that it replaced, joined
    std::size_t left = 0;   // number of servers that have seen the worker leave
    std::int64_t step = 0;  // step that the worker computed last
    int program = -1;       // program of that step
    // time at which all servers had given parameters to the worker, and time at which its previous
    // gradient was taken
    std::int64_t given_ns = 0, ended_ns = 0;
  };
  struct Server {
    std::unique_ptr<BoundRank> rank;
    std::unique_ptr<ServerShare> share;
    std::vector<int> held;  // synchronous rules: workers whose gradients wait for the update
    std::vector<std::int64_t> stale;                  // staleness of the gradients in the update
    std::vector<std::pair<int, std::int64_t>> taken;  // worker and step of these gradients
    std::vector<std::int64_t> dropped;
    std::int64_t version = 0, done = 0;
    std::int64_t last_ns = 0;  // time at which the last gradient was taken
  };
  ServedTrainingParts parts;
  std::vector<Worker> workers;
  std::vector<Server> servers;
  std::unique_ptr<compute::Queue> queue;
  std::vector<std::int64_t> bytes;  // payload bytes, by sender and receiver
  // True if all workers use the same memory, which then stays in the cache. This is possible
  // because a worker computes as soon as it has parameters, and afterwards only its gradient is
  // needed. It is not possible if several servers give shares at different times, or if workers
  // have state.
  bool one_at_a_time = false;
  SharedMemory shared;
  std::int64_t gradients = 0;
  UpdateAverage average;

  explicit State(ServedTrainingParts p) : parts(std::move(p)), queue(parts.compute->make_queue()) {}

  Result<void> open();
  Result<void> add_worker(int rank);
  Result<void> add_server(int rank);

  void joins(const ServerEvent& event);
  void leaves(const ServerEvent& event);
  void conclude();
  static std::int64_t step_made(const Server& server) {
    return std::max<std::int64_t>(0, server.done - 1);
  }
  Result<void> takes(const ServerEvent& event);
  Result<void> gather(const ServerEvent& event, Server& server);
  Result<void> update(Server& server, int number, std::int64_t time_ns);
  Result<void> gives(const ServerEvent& event);
  void count_rows(Worker& worker);
  void copy_share(const Worker& worker, int number, int server);
  void copy(const BoundOp& pull, const std::byte* given) const {
    // the addresses are equal if the worker uses the server's memory in place; nothing is then
    // copied
    if (pull.data != given) parts.compute->copy(pull.data, given, pull.bytes);
  }
  Result<void> act(Worker& worker);
  Result<void> evaluate(Worker& worker);
  Result<void> run(Worker& worker, const BoundProgram& program, bool evaluating, double* held_out);
  void load(Worker& worker, const BoundLoad& into, int micro);
  void tell(int number, std::int64_t time_ns);
  void traffic_metrics(int number, std::int64_t time_ns);
  void metric(int server, Metric metric, double value, std::int64_t time_ns,
              int index = 0);  // reports under the last step that the server completed
  void metric_of(std::int64_t step, int server, Metric metric, double value, std::int64_t time_ns,
                 int index);
  std::vector<const BoundOp*> pushed(int number, const Server& server) const;
  std::int64_t monotonic(std::int64_t time_ns) const { return parts.begun_ns + time_ns; }
  std::int64_t& sent(int from, int to) {
    return bytes[static_cast<std::size_t>(from) * static_cast<std::size_t>(parts.plan->ranks) +
                 static_cast<std::size_t>(to)];
  }
  int rank_of(int server) const { return static_cast<int>(workers.size()) + server; }
  bool is_lockstep() const { return servers.front().rank->plan.rule->answers_after_update; }
};

ServerReplay::ServerReplay(std::unique_ptr<State> state) : state_(std::move(state)) {}
ServerReplay::~ServerReplay() = default;

Result<std::unique_ptr<ServerReplay>> ServerReplay::make(ServedTrainingParts parts) {
  auto state = std::make_unique<State>(std::move(parts));
  if (const auto ok = state->open(); !ok) return base::fail(ok.error());
  return std::unique_ptr<ServerReplay>(new ServerReplay(std::move(state)));
}

void ServerReplay::conclude() { state_->conclude(); }
int ServerReplay::workers() const { return static_cast<int>(state_->workers.size()); }
std::int64_t ServerReplay::done() const { return state_->servers.front().done; }
std::int64_t ServerReplay::gradients() const { return state_->gradients; }
std::int64_t ServerReplay::bytes(int from, int to) const { return state_->sent(from, to); }
std::int64_t ServerReplay::memory_bytes() const { return state_->shared.all_bytes; }

compute::Tensor ServerReplay::state(int worker) const {
  return state_->workers[static_cast<std::size_t>(worker)].rank->bound.state;
}

compute::Tensor ServerReplay::parameters(int rank) const {
  const auto number = static_cast<std::size_t>(rank), workers = state_->workers.size();
  return number < workers ? state_->workers[number].rank->bound.parameters
                          : state_->servers[number - workers].share->parameters();
}

Result<void> ServerReplay::follow(const ServerEvent& event) {
  State& s = *state_;
  if (event.server < 0 || event.worker < 0 ||
      static_cast<std::size_t>(event.server) >= s.servers.size() ||
      static_cast<std::size_t>(event.worker) >= s.workers.size())
    return base::fail(impossible("unknown_rank", event, "there is no such server or worker"));
  s.servers[static_cast<std::size_t>(event.server)].done = event.done;
  switch (event.kind) {
    case ServerEvent::Kind::joins: return s.joins(event), Result<void>{};
    case ServerEvent::Kind::leaves: return s.leaves(event), Result<void>{};
    case ServerEvent::Kind::takes: return s.takes(event);
    case ServerEvent::Kind::gives: return s.gives(event);
  }
  return {};
}

// Setup
// ------------------------------------------------------------------------------------------

Result<void> ServerReplay::State::open() {
  bytes.resize(static_cast<std::size_t>(parts.plan->ranks) *
               static_cast<std::size_t>(parts.plan->ranks));
  const plan::RankPlan last = parts.plan->rank_plan(parts.plan->ranks - 1);
  one_at_a_time =
      last.rule && last.rule->workers == parts.plan->ranks - 1 && parts.model->state_elements == 0;
  if (auto ok = shared.make(*parts.plan, *parts.compute); !ok) return ok;
  for (int rank = 0; rank < parts.plan->ranks;
       ++rank)  // servers first, because a worker may use a server's memory
    if (parts.plan->rank_plan(rank).rule)
      if (auto ok = add_server(rank); !ok) return ok;
  for (int rank = 0; rank < parts.plan->ranks; ++rank)
    if (!parts.plan->rank_plan(rank).rule)
      if (auto ok = add_worker(rank); !ok) return ok;
  average = UpdateAverage(*parts.plan, *servers.front().rank->plan.rule,
                          static_cast<int>(servers.size()));
  for (Worker& worker : workers)
    worker.has.resize(servers.size()), worker.owes.resize(servers.size());
  // Initializes the servers last: a worker may use a server's memory in place, which must then hold
  // the server's values.
  for (const Worker& worker : workers) parts.initialize(worker.rank->plan, worker.rank->bound);
  for (const Server& server : servers) parts.initialize(server.rank->plan, server.rank->bound);
  for (Server& server : servers) server.dropped.resize(workers.size());
  return {};
}

Result<void> ServerReplay::State::add_worker(int rank) {
  Worker worker;
  worker.rank = std::make_unique<BoundRank>();
  const BoundRank* beside =
      one_at_a_time && !workers.empty() ? workers.front().rank.get() : nullptr;
  const BoundRank* only_server = one_at_a_time ? servers.front().rank.get() : nullptr;
  if (auto ok = bind_rank(*worker.rank, parts, rank, beside, shared, only_server); !ok) return ok;
  std::int64_t most = 1;
  for (const BoundProgram& program : worker.rank->bound.programs)
    for (const BoundLoad& load : program.loads) most = std::max(most, load.samples);
  worker.input = std::make_unique<RoundInput>(parts.dataset, parts.sampler, rank, most);
  worker.names = std::make_unique<RowNames>(*worker.input);
  worker.held_out = std::make_unique<HeldOut>(parts.dataset,
                                              std::vector<HeldOut::Share>{parts.held_out(rank)}, 0);
  if (auto* events = parts.events ? parts.events(rank) : nullptr)
    worker.meter =
        std::make_unique<StepMeter>(events, nullptr, *parts.model, worker.rank->bound, false);
  workers.push_back(std::move(worker));
  return {};
}

Result<void> ServerReplay::State::add_server(int rank) {
  Server server;
  server.rank = std::make_unique<BoundRank>();
  if (auto ok = bind_rank(*server.rank, parts, rank, nullptr, shared); !ok) return ok;
  server.share = std::make_unique<ServerShare>(
      ServedShareParts{&server.rank->plan, &server.rank->bound, parts.recipe,
                       parts.divides_by_staleness, parts.compute, parts.delay_compensation});
  server.version = parts.first_version;
  servers.push_back(std::move(server));
  return {};
}

// Events of servers
// ------------------------------------------------------------------------------------------

// A process that replaces a lost worker starts with a newly initialized model.
void ServerReplay::State::joins(const ServerEvent& event) {
  Worker& worker = workers[static_cast<std::size_t>(event.worker)];
  sent(event.worker, rank_of(event.server)) += std::int64_t{sizeof(double)};
  if (event.server == 0 && std::exchange(worker.joined, true) && parts.model->state_elements > 0)
    parts.initialize(worker.rank->plan, worker.rank->bound);
}

// Handles that one server has seen a lost worker leave. Other servers may still take its gradient.
// After all servers have seen it leave, another worker may join in its place.
void ServerReplay::State::leaves(const ServerEvent& event) {
  Worker& worker = workers[static_cast<std::size_t>(event.worker)];
  sent(event.worker, rank_of(event.server)) += std::int64_t{sizeof(double)};
  if (++worker.left < servers.size()) return;
  worker.left = 0;
  worker.has.assign(servers.size(), false);
  worker.owes.assign(servers.size(), false);
  worker.assigned = false;
}

Result<void> ServerReplay::State::takes(const ServerEvent& event) {
  Server& server = servers[static_cast<std::size_t>(event.server)];
  Worker& worker = workers[static_cast<std::size_t>(event.worker)];
  if (!worker.owes[static_cast<std::size_t>(event.server)])
    return base::fail(impossible(
        "gradient_not_computed", event,
        "the server takes a gradient that the worker has not computed, or that was already taken"));
  for (const BoundOp* push : pushed(event.worker, server))
    if (push != nullptr)
      sent(event.worker, rank_of(event.server)) +=
          is_table(*push) ? worker.named.at(push->bucket) * push->named.row_bytes : push->bytes;
  if (event.server == 0) tell(event.worker, event.time_ns);
  if (event.dropped) {
    const auto dropped =
        static_cast<double>(++server.dropped[static_cast<std::size_t>(event.worker)]);
    metric_of(worker.step, event.server, Metric::dropped_gradients, dropped, event.time_ns,
              event.worker);
  } else {
    const std::int64_t step = is_lockstep() ? worker.step : step_made(server);
    metric_of(step, event.server, Metric::staleness, static_cast<double>(event.staleness),
              event.time_ns, event.worker);
    if (auto ok = gather(event, server); !ok) return ok;
  }
  worker.owes[static_cast<std::size_t>(event.server)] = false;
  return {};
}

Result<void> ServerReplay::State::gather(const ServerEvent& event, Server& server) {
  server.stale.push_back(event.staleness);
  server.taken.emplace_back(event.worker, workers[static_cast<std::size_t>(event.worker)].step);
  server.last_ns = event.time_ns;
  if (is_lockstep()) {
    server.held.push_back(event.worker);
  } else {
    const auto pushes = pushed(event.worker, server);
    for (std::size_t op = 0; op < pushes.size(); ++op)
      if (pushes[op] != nullptr)
        server.share->take(op, gradient_of(*pushes[op]), server.stale.size() == 1, event.worker);
  }
  if (event.completes)
    if (auto ok = update(server, event.server, event.time_ns); !ok) return ok;
  return parts.between_ops ? parts.between_ops() : Result<void>{};
}

Result<void> ServerReplay::State::update(Server& server, int number, std::int64_t time_ns) {
  std::sort(server.held.begin(), server.held.end());
  std::vector<std::vector<const std::byte*>> sources(server.share->arrival().ops.size());
  for (const int worker : server.held) {
    const auto pushes = pushed(worker, server);
    for (std::size_t op = 0; op < pushes.size(); ++op)
      if (pushes[op] != nullptr) sources[op].push_back(gradient_of(*pushes[op]));
  }
  for (std::size_t op = 0; op < sources.size(); ++op)
    if (!sources[op].empty()) server.share->add(op, sources[op]);
  server.held.clear();
  if (auto ok = server.share->scale(average.factor(server.taken)); !ok) return ok;
  const double rate = server.share->begin_update(++server.version, server.done - 1, server.stale,
                                                 server.share->place());
  server.stale.clear();
  server.taken.clear();
  for (std::size_t op = 0; op < server.share->update().ops.size(); ++op)
    if (auto ran = server.share->run_update(op); !ran) return ran;
  server.share->end_update();
  metric(number, Metric::learning_rate, rate, time_ns);
  metric(number, Metric::version, static_cast<double>(server.version), time_ns);
  return {};
}

std::vector<const BoundOp*> ServerReplay::State::pushed(int number, const Server& server) const {
  const Worker& worker = workers[static_cast<std::size_t>(number)];
  const BoundProgram& program = worker.rank->at(worker.program);
  auto ends = ends_of(server.share->arrival(), program, OpKind::push);
  const auto packs = ends_of(server.share->arrival(), program, OpKind::pack);
  for (std::size_t op = 0; op < ends.size(); ++op)
    if (packs[op] != nullptr) ends[op] = packs[op];
  return ends;
}

Result<void> ServerReplay::State::gives(const ServerEvent& event) {
  const auto s = static_cast<std::size_t>(event.server);
  Worker& worker = workers[static_cast<std::size_t>(event.worker)];
  if (event.server == 0 && !event.last &&
      (event.step < 0 || event.step >= parts.plan->schedule.steps))
    return base::fail(impossible("step_out_of_range", event,
                                 fmt::format("the worker is assigned step {} of {}", event.step,
                                             parts.plan->schedule.steps)));
  if (worker.has[s] && !event.last)
    return base::fail(
        impossible("parameters_not_used", event,
                   "the server sends parameters to a worker that has not used the previous ones"));
  servers[s].share->keep(event.worker);
  copy_share(worker, event.worker, event.server);
  if (event.server == 0) {
    worker.turn = {event.step, event.done, 0, event.last, event.evaluates};
    worker.assigned = true;
    // clears `has`, because every server will also give the worker the final parameters
    if (event.last) worker.has.assign(servers.size(), false);
  }
  worker.has[s] = event.last || !worker.turn.last;
  if (!worker.assigned ||
      !std::all_of(worker.has.begin(), worker.has.end(), [](bool has) { return has; }))
    return {};
  worker.given_ns = event.time_ns;
  return act(worker);
}

void ServerReplay::State::copy_share(const Worker& worker, int number, int server) {
  const ServerShare& share = *servers[static_cast<std::size_t>(server)].share;
  const BoundProgram& turn = worker.rank->at(worker.rank->program("turn"));
  const auto pulls = ends_of(share.answer(), turn, OpKind::pull);
  for (std::size_t op = 0; op < pulls.size(); ++op) {
    if (pulls[op] != nullptr) copy(*pulls[op], share.given_by(share.answer().ops[op]));
    sent(rank_of(server), number) += pulls[op] != nullptr
                                         ? pulls[op]->bytes
                                         : WorkAssignment::kNumbers * std::int64_t{sizeof(double)};
  }
  if (share.named() == nullptr) return;
  const auto tables = ends_of(*share.named(), turn, OpKind::pull);
  for (std::size_t op = 0; op < tables.size(); ++op)
    if (share.named()->ops[op].kind == OpKind::give)
      copy(*tables[op], share.given_by(share.named()->ops[op]));
}

// Counts the bytes of the row lists that a worker sends, and of the rows that it receives. The
// replay itself copies all rows; rows that a round does not look up have no effect.
void ServerReplay::State::count_rows(Worker& worker) {
  const int number = worker.rank->plan.rank;
  worker.named.clear();
  for (const BoundOp& op : worker.rank->at(worker.rank->program("turn")).ops) {
    if (op.kind != OpKind::pull || op.named.list == nullptr) continue;
    const std::int64_t rows =
        worker.turn.last ? 0 : std::ssize(worker.names->of(worker.turn.step, op.named));
    const int server = op.peers.front();
    worker.named[op.bucket] = rows;
    sent(number, server) +=
        (plan::kListHeadSent + rows) * static_cast<std::int64_t>(sizeof(std::int32_t));
    const std::int64_t given =
        worker.turn.last || worker.turn.evaluates ? op.bytes : rows * op.named.row_bytes;
    sent(server, number) += given;
    if (!worker.meter) continue;
    NamedRows list = op.named;
    list.is_list = true;
    worker.meter->carried_rows(
        list, (plan::kListHeadSent + rows) * static_cast<std::int64_t>(sizeof(std::int32_t)),
        false);
    for (const std::int64_t carried : {given, rows * op.named.row_bytes})
      // counts the bytes of the rows twice, because rows are pulled and later pushed
      worker.meter->carried_rows(op.named, carried, false);
  }
}

// Steps of workers
// ------------------------------------------------------------------------------------------

Result<void> ServerReplay::State::act(Worker& worker) {
  worker.assigned = false;
  count_rows(worker);
  if (worker.turn.evaluates)
    if (auto ok = evaluate(worker); !ok) return ok;
  worker.has.assign(servers.size(), false);
  if (worker.turn.last) return {};
  worker.step = worker.turn.step;
  worker.program = worker.rank->program(parts.plan->schedule.program(worker.step));
  if (auto ok = run(worker, worker.rank->at(worker.program), false, nullptr); !ok) return ok;
  worker.owes.assign(servers.size(), true);
  ++gradients;
  return {};
}

Result<void> ServerReplay::State::evaluate(Worker& worker) {
  double sums[2] = {0, 0};
  worker.held_out->rewind();
  for (const char* name : plan::kEvaluationPrograms) {
    const int program = worker.rank->program(name);
    for (std::int64_t i = 0; program >= 0 && i < worker.rank->at(program).repeats; ++i)
      if (auto ok = run(worker, worker.rank->at(program), true, sums); !ok) return ok;
  }
  if (worker.meter)
    worker.meter->evaluated(worker.turn.done - 1, sums[0], sums[1], worker.held_out->count(),
                            monotonic(worker.given_ns));
  return {};
}

// Runs a program's ops in the order in which the plan lists them, which respects their
// dependencies.
Result<void> ServerReplay::State::run(Worker& worker, const BoundProgram& program, bool evaluating,
                                      double* held_out) {
  for (const BoundOp& op : program.ops) {
    if (op.kind == OpKind::load) {
      const BoundLoad& into = *program.load(op.micro);
      evaluating ? worker.held_out->load(*parts.compute, into) : load(worker, into, op.micro);
    }
    if (op.kind == OpKind::rate) write_rate(worker.rank->bound, *parts.recipe, worker.step);
    for (const auto& kernel : op.kernels) kernel->enqueue(*queue);
    if (!op.kernels.empty())
      if (const auto ran = compute::finish(*queue); !ran)
        return base::fail(of_rank(ran.error(), worker.rank->plan.rank, worker.step));
    if (evaluating && op.kind == OpKind::loss)
      for (int i = 0; i < 2; ++i) held_out[i] += worker.rank->bound.metrics.as<double>()[i];
    if (const auto ok = carry_out(op, *parts.compute); !ok)
      return base::fail(of_rank(ok.error(), worker.rank->plan.rank, worker.step));
    if (!evaluating && worker.meter && !op.kernels.empty()) worker.meter->capture(op, worker.step);
    if (const auto ok = expect_finite(op, worker.rank->bound, *parts.recipe, *parts.model); !ok)
      return base::fail(of_rank(ok.error(), worker.rank->plan.rank, worker.step));
    if (parts.between_ops)
      if (auto ok = parts.between_ops(); !ok) return ok;
  }
  return {};
}

void ServerReplay::State::load(Worker& worker, const BoundLoad& into, int micro) {
  run::load(*parts.compute, worker.input->take(worker.step, micro), into);
}

// Reports
// ------------------------------------------------------------------------------------------

// Reports a round. It begins when the worker's previous gradient was taken, and consists of waiting
// for parameters, then compute.
void ServerReplay::State::tell(int number, std::int64_t time_ns) {
  Worker& worker = workers[static_cast<std::size_t>(number)];
  if (!worker.meter) return;
  worker.meter->times = {monotonic(worker.ended_ns),
                         time_ns - worker.given_ns,
                         0,
                         worker.given_ns - worker.ended_ns,
                         0,
                         0};
  traffic_metrics(number, time_ns);
  worker.meter->step_done(worker.step, monotonic(time_ns), worker.rank->at(worker.program), {});
  worker.ended_ns = time_ns;
}

// Reports total traffic, which a real rank reads from its transport.
void ServerReplay::State::traffic_metrics(int number, std::int64_t time_ns) {
  const std::int64_t now = monotonic(time_ns),
                     step = workers[static_cast<std::size_t>(number)].step;
  for (std::size_t s = 0; s < servers.size(); ++s) {
    const int rank = rank_of(static_cast<int>(s));
    for (const auto& [metric, total] :
         {std::pair(Metric::sent_payload_bytes, sent(number, rank)),
          std::pair(Metric::received_payload_bytes, sent(rank, number))})
      parts.events(number)->write({now, now, now, static_cast<double>(total),
                                   static_cast<std::int32_t>(step),
                                   static_cast<std::uint16_t>(metric),
                                   static_cast<std::uint16_t>(rank), telemetry::EventKind::metric});
  }
}

void ServerReplay::State::metric(int server, Metric metric, double value, std::int64_t time_ns,
                                 int index) {
  metric_of(step_made(servers[static_cast<std::size_t>(server)]), server, metric, value, time_ns,
            index);
}

void ServerReplay::State::conclude() {
  const Server& first = servers.front();
  std::vector<std::int64_t> count(workers.size());
  for (const auto& [number, step] : first.taken)
    metric_of(step, 0, Metric::unapplied_gradients,
              static_cast<double>(++count[static_cast<std::size_t>(number)]), first.last_ns,
              number);
}

void ServerReplay::State::metric_of(std::int64_t step, int server, Metric metric, double value,
                                    std::int64_t time_ns, int index) {
  auto* events = parts.events ? parts.events(rank_of(server)) : nullptr;
  if (events == nullptr) return;
  const std::int64_t now = monotonic(time_ns);
  events->write({now, now, now, value, static_cast<std::int32_t>(step),
                 static_cast<std::uint16_t>(metric), static_cast<std::uint16_t>(index),
                 telemetry::EventKind::metric});
}

}  // namespace trainyard::run
