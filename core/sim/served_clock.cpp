// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/sim/served_clock.h"

#include <limits>

namespace trainyard::sim {

using base::Result;
using plan::OpKind;
using plan::ServerEvent;

namespace {

bool computes(const OpModel& op) { return !plan::communicates(op.kind) && !plan::serves(op.kind); }

Picoseconds slowed(const OpModel& op, double factor) {
  return factor == 1 || op.kind == OpKind::load ? op.takes
                                                : picoseconds(seconds(op.takes) * factor);
}

std::int64_t answer_bytes(const ProgramModel& answer) {
  std::int64_t bytes = 0;
  for (const OpModel& op : answer.ops) bytes += op.bucket >= 0 ? op.bytes : 0;
  return bytes;
}

}  // namespace

ServerClock::ServerClock(ServedClockParts parts)
    : parts_(std::move(parts)), links_(*parts_.network) {}

Result<std::unique_ptr<ServerClock>> ServerClock::make(ServedClockParts parts) {
  std::unique_ptr<ServerClock> clock(new ServerClock(std::move(parts)));
  if (const auto ok = clock->open(); !ok) return base::fail(ok.error());
  return clock;
}

// Creates each rank's timing model without its drawn slow-down. The slow-down is instead applied to
// each step of a worker.
Result<void> ServerClock::open() {
  for (int rank = 0; rank < parts_.plan->ranks; ++rank) {
    const plan::RankPlan plan = parts_.plan->rank_plan(rank);
    const topology::DeviceId id = parts_.devices[static_cast<std::size_t>(rank)];
    topology::Device device = parts_.network->device(id);
    const double slow_down = std::exchange(device.slow_down, 1),
                 jitter = std::exchange(device.jitter, 0);
    auto model = model_rank(plan, *parts_.plan, device, host_link(device, parts_.network->host(id)),
                            picoseconds(parts_.launch_seconds));
    if (!model) return base::fail(model.error());
    if (plan.rule) {
      servers_.push_back(
          std::make_unique<Server>(*plan.rule, parts_.plan->schedule.evaluate_every_steps));
      servers_.back()->model = std::move(*model);
      servers_.back()->slowness =
          std::make_unique<run::SlowdownModel>(parts_.seed, rank, slow_down, jitter);
    } else {
      Worker one;
      one.model = std::move(*model);
      one.slowness = std::make_unique<run::SlowdownModel>(parts_.seed, rank, slow_down, jitter);
      workers_.push_back(std::move(one));
    }
  }
  for (std::size_t s = 0; s < servers_.size(); ++s)
    servers_[s]->arrivals.allow(s == 0 ? parts_.plan->schedule.steps
                                       : std::numeric_limits<std::int64_t>::max());
  for (std::size_t s = 0; s < servers_.size(); ++s) {
    servers_[s]->taken.resize(workers_.size());
    servers_[s]->listed.resize(workers_.size());
    if (s > 0)
      for_each_table(0, static_cast<int>(s),
                     [&](const OpModel&) { servers_[s]->awaits_row_list = true; });
  }
  for (std::size_t w = 0; w < workers_.size(); ++w) {
    workers_[w].pushes_missing.resize(servers_.size());
    for (std::size_t s = 0; s < servers_.size(); ++s)
      for (const auto& [from, to] : {std::pair(static_cast<int>(w), rank_of(static_cast<int>(s))),
                                     std::pair(rank_of(static_cast<int>(s)), static_cast<int>(w))})
        if (const auto found = path(from, to); !found) return base::fail(found.error());
  }
  return {};
}

Result<const Path*> ServerClock::path(int from, int to) {
  const auto route = parts_.network->route(parts_.devices[static_cast<std::size_t>(from)],
                                           parts_.devices[static_cast<std::size_t>(to)]);
  if (!route) return base::fail(route.error());
  return &paths_.emplace(std::pair(from, to), Path(*route)).first->second;
}

std::int64_t ServerClock::bytes_sent(int from, int to) const {
  const auto found = sent_.find({from, to});
  return found == sent_.end() ? 0 : found->second;
}

void ServerClock::allow(std::int64_t steps, bool last) {
  allowed_ = std::max(allowed_, steps);
  last_ = last_ || last;
  if (!is_at_limit()) begin_job(0);
}

// True if the steps that the caller allowed are complete. Virtual time then stops before the first
// server starts its next job, so the limit does not change the answer to any worker. If the caller
// later allows more steps, the events are the same as without the limit.
bool ServerClock::is_at_limit() const {
  return !servers_.front()->busy && servers_.front()->arrivals.steps() >= allowed_;
}

void ServerClock::slow(int rank, double slow_down, double jitter) {
  const auto number = static_cast<std::size_t>(rank);
  if (number < workers_.size()) workers_[number].slowness->set(slow_down, jitter);
  else if (number < workers_.size() + servers_.size())
    servers_[number - workers_.size()]->slowness->set(slow_down, jitter);
}

// Time
// ------------------------------------------------------------------------------------------

Result<std::optional<ServerEvent>> ServerClock::next() {
  if (!std::exchange(begun_, true))
    for (std::size_t w = 0; w < workers_.size(); ++w)
      for (std::size_t s = 0; s < servers_.size(); ++s)
        send(PayloadKind::request, static_cast<int>(w), static_cast<int>(s), sizeof(double));
  while (out_.empty() && !is_at_limit())
    if (!advance()) break;
  if (now_ > kLongest)
    return base::fail({"virtual_time_too_long", base::ProblemCode::bad_input, "topology",
                       "the virtual clock exceeds 46 days", "",
                       "Draw faster devices and links, or train fewer steps."});
  if (out_.empty() && is_at_limit() && last_ && !ended_) end();
  if (out_.empty()) return std::nullopt;
  const ServerEvent event = out_.front();
  out_.pop_front();
  return event;
}

// Processes the next event. Returns false if no event is left before the limit of steps.
bool ServerClock::advance() {
  const Picoseconds next = events_.empty() ? Links::kNever : events_.top().time;
  if (const Picoseconds sent = links_.next_end(now_); sent < Links::kNever && sent <= next) {
    now_ = sent;
    for (const int number : links_.take_ended(sent)) {
      const Message& message = messages_[static_cast<std::size_t>(number)];
      events_.push({now_ + message.path->latency, MomentKind::arrives, message.worker,
                    message.server, number});
    }
    return true;
  }
  if (next == Links::kNever) return false;
  const Moment moment = events_.top();
  events_.pop();
  now_ = moment.time;
  handle(moment);
  return true;
}

void ServerClock::handle(const Moment& moment) {
  switch (moment.kind) {
    case MomentKind::arrives: {
      const Message message = messages_[static_cast<std::size_t>(moment.number)];
      free_.push_back(moment.number);
      return arrive(message);
    }
    case MomentKind::served: return end_job(moment.server);
    case MomentKind::posts: return post(moment.worker, moment.number);
  }
}

void ServerClock::send(PayloadKind carries, int worker, int server, std::int64_t bytes) {
  const bool answers = carries == PayloadKind::parameters || carries == PayloadKind::rows;
  const auto ends =
      answers ? std::pair(rank_of(server), worker) : std::pair(worker, rank_of(server));
  int number = static_cast<int>(messages_.size());
  if (free_.empty()) messages_.emplace_back();
  else number = free_.back(), free_.pop_back();
  const Path& path = paths_.at(ends);
  messages_[static_cast<std::size_t>(number)] = {carries, worker, server, &path};
  sent_[ends] += bytes;
  const int lane = 2 * (worker * static_cast<int>(servers_.size()) + server) + (answers ? 1 : 0);
  links_.start(number, lane, path, bytes, now_);
}

void ServerClock::arrive(const Message& message) {
  Worker& to = worker(message.worker);
  if (message.carries == PayloadKind::names)
    return receive_row_list(message.worker, message.server);
  if (message.carries == PayloadKind::parameters || message.carries == PayloadKind::rows) {
    if (message.carries == PayloadKind::rows) to.rows_missing = false;
    else --to.answers_missing;
    if (message.carries == PayloadKind::parameters && message.server == 0 && !closing_)
      name_rows(message.worker);
    if (to.answers_missing == 0 && !to.rows_missing && !closing_) begin_round(message.worker);
    return;
  }
  if (message.carries == PayloadKind::gradient &&
      --to.pushes_missing[static_cast<std::size_t>(message.server)] > 0)
    return;
  server(message.server).jobs.push_back({message.worker, message.carries == PayloadKind::request});
  begin_job(message.server);
}

// Servers
// ------------------------------------------------------------------------------------------

// Starts a server's next job, which adds a worker's gradient. If this gradient is the last one that
// the update needs, the job also makes the update. The server is busy until the job ends; messages
// that arrive meanwhile queue.
void ServerClock::begin_job(int number) {
  Server& serves = server(number);
  if (serves.busy) return;
  while (closing_ && !serves.jobs.empty() && !wanted(number, serves.jobs.front()))
    serves.jobs.pop_front();
  if (serves.jobs.empty()) return;
  serves.busy = true;
  Picoseconds takes = 0;
  if (!serves.jobs.front().joins) {
    serves.push = serves.arrivals.push(serves.jobs.front().worker);
    const double factor =
        serves.slowness->factor(std::max<std::int64_t>(0, serves.arrivals.steps() - 1));
    const auto add = [&](const char* program) {
      const int at = serves.model.program(program);
      const auto& ops = serves.model.programs[static_cast<std::size_t>(at)].ops;
      for (std::size_t op = 0; op < ops.size(); ++op) {
        // Skips an op that receives a worker's request instead of a gradient.
        if (ops[op].bucket < 0 && ops[op].kind == OpKind::take) continue;
        const Picoseconds busy = slowed(ops[op], factor);
        op_event(rank_of(number), at, static_cast<int>(op),
                 std::max<std::int64_t>(0, serves.arrivals.steps() - 1), now_ + takes,
                 now_ + takes + busy, ops[op].kind == OpKind::take ? ops[op].bytes : 0);
        takes += busy;
      }
    };
    if (!serves.push->dropped) add("arrival");
    if (serves.push->completes) add("update");
  }
  events_.push({now_ + takes, MomentKind::served, serves.jobs.front().worker, number, 0});
}

void ServerClock::end_job(int number) {
  Server& serves = server(number);
  const Job job = serves.jobs.front();
  serves.jobs.pop_front();
  serves.busy = false;
  if (job.joins) {
    serves.arrivals.join(job.worker);
    out_.push_back(event(ServerEvent::Kind::joins, number, job.worker));
  } else {
    ++serves.gathered;
    ++serves.taken[static_cast<std::size_t>(job.worker)];
    ServerEvent taken = event(ServerEvent::Kind::takes, number, job.worker);
    taken.dropped = serves.push->dropped, taken.completes = serves.push->completes;
    taken.version = serves.push->pulled, taken.staleness = serves.push->staleness;
    out_.push_back(taken);
  }
  answer(number);
  if (number > 0 || !is_at_limit()) begin_job(number);
}

// Answers waiting workers after the current job, including the worker whose gradient the job
// processed.
void ServerClock::answer(int number) {
  Server& serves = server(number);
  if (serves.busy || closing_) return;
  const auto ready = [&](int to) {
    return !serves.awaits_row_list || serves.listed[static_cast<std::size_t>(to)];
  };
  while (const auto given = serves.arrivals.answer(ready)) {
    run::WorkAssignment turn;
    if (number == 0)
      turn = serves.turns.next(*given, serves.arrivals.steps(), serves.gathered,
                               may_evaluate(given->worker));
    give(number, given->worker, turn, false);
    const auto& answer =
        serves.model.programs[static_cast<std::size_t>(serves.model.program("answer"))];
    std::int64_t bytes =
        answer_bytes(answer) +
        (number == 0 ? run::WorkAssignment::kNumbers * std::int64_t{sizeof(double)} : 0);
    if (serves.awaits_row_list)
      bytes += bytes_of_rows(given->worker, number),
          serves.listed[static_cast<std::size_t>(given->worker)] = false;
    send(PayloadKind::parameters, given->worker, number, bytes);
  }
}

void ServerClock::give(int number, int to, const run::WorkAssignment& turn, bool last) {
  ServerEvent given = event(ServerEvent::Kind::gives, number, to);
  given.version = server(number).arrivals.version();
  given.step = turn.step, given.evaluates = turn.evaluates, given.last = last;
  out_.push_back(given);
  Worker& receives = worker(to);
  if (number == 0) receives.turn = turn;
  // After the first answer, the worker waits for the answers of all servers.
  if (receives.answers_missing == 0) receives.answers_missing = static_cast<int>(servers_.size());
}

ServerEvent ServerClock::event(ServerEvent::Kind kind, int number, int to) const {
  ServerEvent event;
  event.kind = kind, event.server = number, event.worker = to;
  event.done = servers_[static_cast<std::size_t>(number)]->arrivals.steps();
  event.time_ns = nanoseconds(now_);
  return event;
}

// Workers
// ------------------------------------------------------------------------------------------

Picoseconds ServerClock::evaluation_time(const Worker& who) const {
  Picoseconds takes = 0;
  for (const char* name : plan::kEvaluationPrograms) {
    const int at = who.model.program(name);
    if (at < 0) continue;
    const ProgramModel& program = who.model.programs[static_cast<std::size_t>(at)];
    for (const OpModel& op : program.ops) takes += program.repeats * (computes(op) ? op.takes : 0);
  }
  return takes;
}

// Calls `visit(pull op)` for each shard of an embedding table on the server, if the worker pulls
// only the rows that its samples look up.
template <class Visit>
void ServerClock::for_each_table(int number, int server, Visit visit) const {
  const RankModel& model = workers_[static_cast<std::size_t>(number)].model;
  for (const OpModel& op : model.programs[static_cast<std::size_t>(model.program("turn"))].ops)
    if (op.kind == OpKind::pull && op.row_bytes > 0 && op.peers.front() == rank_of(server))
      visit(op);
}

std::int64_t ServerClock::rows_of(int number, const OpModel& op) const {
  return parts_.row_count
             ? parts_.row_count(number, workers_[static_cast<std::size_t>(number)].turn.step,
                                op.bucket)
             : op.max_rows;
}

void ServerClock::name_rows(int number) {
  for (std::size_t s = 0; s < servers_.size(); ++s) {
    std::int64_t bytes = 0;
    for_each_table(number, static_cast<int>(s), [&](const OpModel& op) {
      bytes += (plan::kListHeadSent + rows_of(number, op)) *
               static_cast<std::int64_t>(sizeof(std::int32_t));
    });
    if (bytes == 0) continue;
    if (s == 0) worker(number).rows_missing = true;
    send(PayloadKind::names, number, static_cast<int>(s), bytes);
  }
}

// Handles the list of table rows that a worker needs. The first server has already answered the
// worker's request for samples, so it only sends the rows. For the other servers the list is the
// worker's request, so they answer it now.
void ServerClock::receive_row_list(int number, int server) {
  if (server == 0) return send(PayloadKind::rows, number, server, bytes_of_rows(number, server));
  servers_[static_cast<std::size_t>(server)]->listed[static_cast<std::size_t>(number)] = true;
  answer(server);
}

// Returns the bytes of the rows that a worker pulls. A worker that evaluates pulls all rows.
std::int64_t ServerClock::bytes_of_rows(int number, int server) const {
  std::int64_t bytes = 0;
  const bool all = workers_[static_cast<std::size_t>(number)].turn.evaluates;
  for_each_table(number, server, [&](const OpModel& op) {
    bytes += all ? op.bytes : rows_of(number, op) * op.row_bytes;
  });
  return bytes;
}

// Runs a worker's round: executes its ops in order, and sends each push as soon as the ops that the
// push depends on are complete.
void ServerClock::begin_round(int number) {
  Worker& who = worker(number);
  who.program = who.model.program(parts_.plan->schedule.program(who.turn.step));
  const ProgramModel& program = who.model.programs[static_cast<std::size_t>(who.program)];
  const double factor = who.slowness->factor(who.turn.step);
  Picoseconds at = now_ + (who.turn.evaluates ? evaluation_time(who) : 0);
  std::fill(who.pushes_missing.begin(), who.pushes_missing.end(), 0);
  for (std::size_t op = 0; op < program.ops.size(); ++op) {
    const OpModel& does = program.ops[op];
    if (does.kind == OpKind::push) {
      ++who.pushes_missing[static_cast<std::size_t>(does.peers.front() -
                                                    static_cast<int>(workers_.size()))];
      events_.push({at, MomentKind::posts, number, 0, static_cast<int>(op)});
    } else if (computes(does)) {
      const Picoseconds takes = slowed(does, factor);
      op_event(number, who.program, static_cast<int>(op), who.turn.step, at, at + takes, 0);
      at += takes;
    }
  }
}

void ServerClock::post(int number, int op) {
  const OpModel& pushes = worker(number)
                              .model.programs[static_cast<std::size_t>(worker(number).program)]
                              .ops[static_cast<std::size_t>(op)];
  const std::int64_t bytes =
      pushes.row_bytes > 0 ? rows_of(number, pushes) * pushes.row_bytes : pushes.bytes;
  op_event(number, worker(number).program, op, worker(number).turn.step, now_, now_, bytes);
  send(PayloadKind::gradient, number, pushes.peers.front() - static_cast<int>(workers_.size()),
       bytes);
}

// Ends the run without further computation. The other servers take all gradients that the first
// server has taken. Then all workers get the final parameters and leave.
void ServerClock::end() {
  closing_ = true;
  for (std::size_t s = 1; s < servers_.size(); ++s) begin_job(static_cast<int>(s));
  while (advance()) {
  }
  ended_ = true;
  Server& leads = server(0);
  for (std::size_t w = 0; w < workers_.size(); ++w) {
    const run::WorkAssignment turn =
        leads.turns.last(leads.arrivals.steps(), leads.gathered, may_evaluate(static_cast<int>(w)));
    for (std::size_t s = 0; s < servers_.size(); ++s)
      give(static_cast<int>(s), static_cast<int>(w), turn, true);
  }
  for (std::size_t w = 0; w < workers_.size(); ++w)
    for (std::size_t s = 0; s < servers_.size(); ++s)
      out_.push_back(event(ServerEvent::Kind::leaves, static_cast<int>(s), static_cast<int>(w)));
}

bool ServerClock::wanted(int number, const Job& job) const {
  const auto worker = static_cast<std::size_t>(job.worker);
  return number > 0 && !job.joins &&
         servers_[static_cast<std::size_t>(number)]->taken[worker] <
             servers_.front()->taken[worker];
}

void ServerClock::op_event(int rank, int program, int op, std::int64_t step, Picoseconds begin,
                           Picoseconds end, std::int64_t bytes) {
  if (!parts_.on_event) return;
  const std::int64_t from = nanoseconds(begin);
  parts_.on_event(rank, {from, from, nanoseconds(end), static_cast<double>(bytes),
                         static_cast<std::int32_t>(step), static_cast<std::uint16_t>(op),
                         static_cast<std::uint16_t>(program), telemetry::EventKind::op});
}

}  // namespace trainyard::sim
