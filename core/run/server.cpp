// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/run/server.h"

#include <algorithm>
#include <limits>
#include <thread>

#include "core/base/clock.h"
#include "core/comm/expect.h"
#include "core/plan/text.h"
#include "core/run/served_share.h"
#include "core/run/turns.h"

namespace trainyard::run {
namespace {

using base::Result;
using telemetry::Metric;

constexpr std::chrono::microseconds kWaitSlice{2000};  // the abort word and the gate are looked at between slices
constexpr std::int64_t kLongestSleep = 2'000'000;      // nanoseconds: then it looks whether it was told to stop

}  // namespace

struct Server::State {
  // What one worker and this server have between them.
  struct Worker {
    int rank = 0;
    std::vector<std::uint64_t> taken, posted;  // messages, by op of "arrival" and of "answer"
    std::uint32_t generation = 0;
    bool here = false, asks = false, told_last = false;
    bool lost = false, forgotten = false;  // and what lay between the two
    double wish = 0;                       // of one that asks out of turn
    int reads = -1;                        // the place that it still reads; -1: none
    std::int64_t given_ns = 0;             // when it was answered
  };
  ServerParts parts;
  plan::Arrivals arrivals;
  ServedShare share;
  const BoundProgram &arrival, &update, &answer;
  Turns turns;
  std::vector<Worker> workers;
  std::vector<int> held;              // in step: whose gradients wait for the update, in order of arrival
  std::vector<std::int64_t> stale;    // of the gradients that are in the update
  std::vector<std::int64_t> dropped;  // by worker
  std::vector<const std::byte*> sources;
  int first_asked = 0;         // of the next round over all workers
  std::int64_t gathered = 0;   // gradients that were taken, since the start
  std::int64_t last_step = 0;  // of those that do not lead: steps, as the first server counted them at the end
  std::int64_t saved = 0;      // checkpoints, in steps / save_every_steps
  bool leads = false, was_held = false;

  explicit State(ServerParts p)
      : parts(std::move(p)),
        arrivals(*parts.plan->rule),
        share({parts.plan, parts.bound, parts.recipe, parts.divides_by_staleness, parts.compute, parts.delay_compensation}),
        arrival(share.arrival()),
        update(share.update()),
        answer(share.answer()),
        turns(*parts.plan->rule, parts.evaluate_every_steps, parts.first_step),
        leads(!answer.ops.empty() && answer.ops.front().bucket < 0) {
    const plan::Group& asked = (*parts.groups)[static_cast<std::size_t>(arrival.ops.front().channel)];
    for (const std::int32_t rank : asked.ranks)
      if (rank != parts.plan->rank)
        workers.push_back({rank, std::vector<std::uint64_t>(arrival.ops.size()), std::vector<std::uint64_t>(answer.ops.size()), parts.generation});
    dropped.resize(workers.size());
    arrivals.go_on_from(parts.first_version, parts.first_step);
    last_step = parts.first_step;
    if (parts.save_every_steps > 0) saved = parts.first_step / parts.save_every_steps;
    if (!leads) arrivals.allow(std::numeric_limits<std::int64_t>::max());
  }

  Worker& worker(int number) { return workers[static_cast<std::size_t>(number)]; }

  Result<std::int64_t> run();
  bool over() const;
  Result<bool> pass();
  Result<bool> hear(int number);
  Result<bool> hear_of(int number);
  void lose(int number);
  void hear_who_is_gone();
  void save();
  Result<void> forget_the_lost();
  Result<bool> take_wish(int number);
  Result<bool> whole_gradient(const Worker& from);
  Result<void> take_gradient(int number);
  Result<void> add(int number, bool first);
  Result<void> add_held();
  Result<void> release(Worker& from);
  Result<void> make_update();
  Result<int> await_place();
  int free_place() const;
  Result<void> see_what_was_read();
  Result<bool> give();
  Result<bool> give_last();
  Result<bool> give_out_of_turn();
  Result<void> give(int number, const Turn& turn);
  Result<std::span<const std::byte>> front(const Worker& from, std::size_t op);
  void say_staleness(int number, const plan::Arrivals::Push& push);
  void note(plan::Served::Kind kind, int number, const std::function<void(plan::Served&)>& fill = {});
  void metric(Metric metric, double value, int index = 0);
  void worked(const char* program_name, std::size_t op, std::int64_t begin, std::int64_t bytes);
  void op_event(const char* program_name, std::size_t op, std::int64_t begin, std::int64_t end, std::int64_t bytes, std::int64_t imposed_ns = 0);
  void is_at(const char* program_name);
  void be_idle();
};

Server::Server(ServerParts parts) : state_(std::make_unique<State>(std::move(parts))) {}
Server::~Server() = default;
Result<std::int64_t> Server::run() { return state_->run(); }
std::int64_t Server::version() const { return state_->arrivals.version(); }
compute::Tensor Server::parameters() const { return state_->share.parameters(); }

Result<std::int64_t> Server::State::run() {
  while (!over()) {
    if (parts.gate->closed()) return base::fail({base::ProblemCode::cancelled, "rank " + std::to_string(parts.plan->rank), "was told to stop", "", ""});
    if (const auto ok = parts.transport->state(); !ok) return base::fail(ok.error());
    if (leads) arrivals.allow(parts.gate->horizon().step);
    const auto moved = pass();
    if (!moved) return base::fail(moved.error());
    if (!*moved) be_idle();
  }
  return leads || parts.plan->rule->answers_after_update ? arrivals.steps() : last_step;
}

// Of the checkpoint whose turn it is, if it is: those that were jumped over are not written.
void Server::State::save() {
  if (parts.save_every_steps <= 0 || arrivals.steps() / parts.save_every_steps <= saved) return;
  saved = arrivals.steps() / parts.save_every_steps;
  parts.save(saved * parts.save_every_steps, arrivals.version());
}

// Everybody came, and left, but for those that are lost.
bool Server::State::over() const {
  const auto left = [](const Worker& one) { return one.told_last && !one.here; };
  return std::all_of(workers.begin(), workers.end(), [&](const Worker& one) { return one.lost || left(one); }) &&
         std::any_of(workers.begin(), workers.end(), left);
}

// One look at everything; true when anything moved. Whose turn it is to be looked at first changes, so that nobody is always first. A push and the
// pull that follows are one: who pushed is answered before another is heard, where the rule lets it.
Result<bool> Server::State::pass() {
  if (const auto ok = forget_the_lost().and_then([&] { return see_what_was_read(); }); !ok) return base::fail(ok.error());
  bool moved = false;
  const int count = static_cast<int>(workers.size());
  for (int i = 0; i < count; ++i) {
    auto heard = hear((first_asked + i) % count);
    if (!heard) return heard;
    if (!*heard && i > 0) continue;
    auto given = give();
    if (!given) return given;
    moved = moved || *heard || *given;
  }
  first_asked = (first_asked + 1) % count;
  for (const auto part : {&State::give_last, &State::give_out_of_turn}) {
    auto given = (this->*part)();
    if (!given) return given;
    moved = moved || *given;
  }
  return moved;
}

Result<bool> Server::State::hear(int number) {
  const Worker& from = worker(number);
  const bool known = from.lost && !from.forgotten;
  const bool lost = !known && parts.transport->has_lost(from.rank);  // asked first: what it sent until then is heard still
  auto heard = hear_of(number);
  if (!lost || !heard || *heard || (from.told_last && !from.here)) return heard;
  lose(number);
  return true;
}

// In step its gradient may be held for an update: that can be made of it still, where it lies.
void Server::State::lose(int number) {
  Worker& from = worker(number);
  arrivals.leave(number);
  from.lost = true, from.forgotten = false;
  from.here = from.asks = from.told_last = false;
  from.reads = -1;
}

// The coordinator knows of deaths that no connection tells, as of one that had not connected yet.
void Server::State::hear_who_is_gone() {
  for (const auto& [rank, generation] : parts.gate->take_gone())
    for (std::size_t number = 0; number < workers.size(); ++number) {
      const Worker& one = workers[number];
      if (one.rank == rank && one.generation == generation && (!one.lost || one.forgotten)) lose(static_cast<int>(number));
    }
}

Result<void> Server::State::forget_the_lost() {
  hear_who_is_gone();
  for (std::size_t number = 0; number < workers.size(); ++number) {
    Worker& one = workers[number];
    if (!one.lost || one.forgotten || std::find(held.begin(), held.end(), static_cast<int>(number)) != held.end()) continue;
    if (auto ok = parts.transport->begin_anew(one.rank, ++one.generation); !ok) return ok;
    std::fill(one.taken.begin(), one.taken.end(), 0);
    std::fill(one.posted.begin(), one.posted.end(), 0);
    one.forgotten = true;
    note(plan::Served::Kind::leaves, static_cast<int>(number));
  }
  return {};
}

Result<bool> Server::State::hear_of(int number) {
  Worker& from = worker(number);
  if (from.lost && !from.forgotten) return false;
  if (from.told_last && !from.here) return false;
  auto asked = take_wish(number);
  if (!asked || *asked || !from.here || arrivals.waits(number) || from.told_last) return asked;
  auto whole = whole_gradient(from);
  if (!whole || !*whole) return whole;
  return take_gradient(number).map([] { return true; });
}

// Comes for the first time, wants what is there at the end, or leaves.
Result<bool> Server::State::take_wish(int number) {
  Worker& from = worker(number);
  const auto message = front(from, 0);
  if (!message) return base::fail(message.error());
  if (message->empty()) return false;
  double wish = 0;
  std::copy_n(message->data(), sizeof wish, reinterpret_cast<std::byte*>(&wish));
  if (const auto ok = parts.transport->release(from.rank, arrival.ops.front().channel); !ok) return base::fail(ok.error());
  ++from.taken[0];
  if (wish == kLeaves) {
    arrivals.leave(number);
    note(plan::Served::Kind::leaves, number);
    from.here = false, from.told_last = true, from.reads = -1;
  } else if (!from.here) {
    from.here = true, from.lost = false;
    arrivals.join(number);
    note(plan::Served::Kind::joins, number);
  } else {
    from.asks = true, from.wish = wish;
    last_step = std::max(last_step, parts.first_step + static_cast<std::int64_t>(wish));
  }
  return true;
}

// What lies in front of a worker's line; empty: nothing.
Result<std::span<const std::byte>> Server::State::front(const Worker& from, std::size_t op) {
  const BoundOp& takes = arrival.ops[op];
  const std::size_t bytes = takes.bucket < 0 ? sizeof(double) : static_cast<std::size_t>(takes.bytes);
  const comm::Tag tag{from.generation, static_cast<std::uint32_t>(from.taken[op]), takes.transfer};
  const auto message = comm::receive_expected(*parts.transport, from.rank, takes.channel, {tag, bytes});
  if (!message) return base::fail(message.error());
  return *message ? (*message)->bytes : std::span<const std::byte>{};
}

Result<bool> Server::State::whole_gradient(const Worker& from) {
  for (std::size_t op = 1; op < arrival.ops.size(); ++op) {
    const auto message = front(from, op);
    if (!message) return base::fail(message.error());
    if (message->empty()) return false;
  }
  return true;
}

Result<void> Server::State::take_gradient(int number) {
  is_at("arrival");
  const plan::Arrivals::Push push = arrivals.push(number);
  ++gathered;
  note(plan::Served::Kind::takes, number, [&](plan::Served& event) {
    event.dropped = push.dropped, event.completes = push.completes, event.version = push.pulled, event.staleness = push.staleness;
  });
  say_staleness(number, push);
  if (push.dropped) return release(worker(number));
  stale.push_back(push.staleness);
  if (parts.plan->rule->answers_after_update) {
    held.push_back(number);
    if (!push.completes) return {};
    if (auto ok = add_held(); !ok) return ok;
  } else if (auto ok = add(number, stale.size() == 1); !ok) {
    return ok;
  }
  return push.completes ? make_update() : Result<void>{};
}

Result<void> Server::State::add(int number, bool first) {
  Worker& from = worker(number);
  for (std::size_t op = 1; op < arrival.ops.size(); ++op) {
    const BoundOp& takes = arrival.ops[op];
    const auto message = front(from, op);
    if (!message) return base::fail(message.error());
    const std::int64_t begin = base::now_nanoseconds();
    share.take(op, message->data(), first, number);
    worked("arrival", op, begin, takes.bytes);
  }
  return release(from);
}

Result<void> Server::State::add_held() {
  std::sort(held.begin(), held.end());
  for (std::size_t op = 1; op < arrival.ops.size(); ++op) {
    const BoundOp& takes = arrival.ops[op];
    sources.clear();
    for (const int number : held) {
      const auto message = front(worker(number), op);
      if (!message) return base::fail(message.error());
      sources.push_back(message->data());
    }
    const std::int64_t begin = base::now_nanoseconds();
    share.add(op, sources);
    worked("arrival", op, begin, takes.bytes * std::ssize(held));
  }
  for (const int number : held)
    if (auto ok = release(worker(number)); !ok) return ok;
  held.clear();
  return {};
}

Result<void> Server::State::release(Worker& from) {
  for (std::size_t op = 1; op < arrival.ops.size(); ++op) {
    if (auto ok = parts.transport->release(from.rank, arrival.ops[op].channel); !ok) return ok;
    ++from.taken[op];
  }
  return {};
}

Result<void> Server::State::make_update() {
  is_at("update");
  const auto place = await_place();
  if (!place) return base::fail(place.error());
  const double rate = share.begin_update(arrivals.version(), arrivals.steps() - 1, stale, *place);
  stale.clear();
  for (std::size_t op = 0; op < update.ops.size(); ++op) {
    const std::int64_t begin = base::now_nanoseconds();
    share.run_update(op);
    worked("update", op, begin, 0);
  }
  share.end_update();
  metric(Metric::learning_rate, rate);
  metric(Metric::version, static_cast<double>(arrivals.version()));
  if (parts.whereabouts->first_step_done_ns.load(std::memory_order_relaxed) == 0)
    parts.whereabouts->first_step_done_ns.store(base::now_nanoseconds(), std::memory_order_relaxed);
  save();
  return {};
}

// Another than that of now, which nobody reads; -1: there is none.
int Server::State::free_place() const {
  for (int i = 1; i < share.places(); ++i) {
    const int place = (share.place() + i) % share.places();
    if (std::none_of(workers.begin(), workers.end(), [&](const Worker& one) { return one.reads == place; })) return place;
  }
  return -1;
}

// A worker that stands still keeps one place, and the others theirs.
Result<int> Server::State::await_place() {
  for (int place = free_place();; place = free_place()) {
    if (place >= 0) return place;
    if (const auto ok = see_what_was_read(); !ok) return base::fail(ok.error());
    if (const auto ok = parts.transport->state(); !ok) return base::fail(ok.error());
    if (parts.gate->closed()) return share.next_place();
    if (free_place() < 0) parts.transport->wait(kWaitSlice);
  }
}

Result<void> Server::State::see_what_was_read() {
  for (Worker& to : workers) {
    if (to.reads < 0) continue;
    bool all = true;
    for (std::size_t op = 0; op < answer.ops.size() && all; ++op) {
      const auto consumed = parts.transport->consumed(to.rank, answer.ops[op].channel);
      if (!consumed) return base::fail(consumed.error());
      all = *consumed >= to.posted[op];
    }
    if (!all) continue;
    to.reads = -1;
    const std::int64_t now = base::now_nanoseconds();
    for (std::size_t op = leads ? 1 : 0; op < answer.ops.size(); ++op) op_event("answer", op, to.given_ns, now, answer.ops[op].bytes);
  }
  return {};
}

Result<bool> Server::State::give() {
  bool moved = false;
  while (const auto given = arrivals.answer()) {
    Turn turn = turns.next(*given, arrivals.steps(), gathered);
    turn.held = std::exchange(was_held, false);
    if (const auto ok = give(given->worker, turn); !ok) return base::fail(ok.error());
    moved = true;
  }
  return moved;
}

// Nothing is left to do: whoever waits may leave, with the final parameters. One of them evaluates those.
Result<bool> Server::State::give_last() {
  if (!leads || !arrivals.spent()) return false;
  const Gate::Horizon horizon = parts.gate->horizon();
  if (!horizon.last || arrivals.steps() < horizon.step) {
    was_held = true;
    return false;
  }
  bool moved = false;
  for (std::size_t number = 0; number < workers.size(); ++number) {
    Worker& to = workers[number];
    if (!to.here || to.told_last || !arrivals.waits(static_cast<int>(number))) continue;
    to.told_last = true;
    if (const auto ok = give(static_cast<int>(number), turns.last(arrivals.steps(), gathered)); !ok) return base::fail(ok.error());
    moved = true;
  }
  return moved;
}

Result<bool> Server::State::give_out_of_turn() {
  bool moved = false;
  for (std::size_t number = 0; number < workers.size(); ++number) {
    Worker& to = workers[number];
    if (!to.asks || to.reads >= 0 || static_cast<double>(gathered) < to.wish) continue;
    // It may not have been answered since its last gradient, as the update that this is part of wants others that will not come. First that answer then.
    const bool owed = arrivals.waits(static_cast<int>(number));
    if (owed) arrivals.leave(static_cast<int>(number));
    else to.asks = false, to.told_last = true;
    if (const auto ok = give(static_cast<int>(number), {}); !ok) return base::fail(ok.error());
    moved = true;
  }
  return moved;
}

Result<void> Server::State::give(int number, const Turn& turn) {
  is_at("answer");
  Worker& to = worker(number);
  note(plan::Served::Kind::gives, number,
       [&](plan::Served& event) { event.step = turn.step, event.evaluates = turn.evaluates, event.last = to.told_last, event.version = arrivals.version(); });
  share.keep(number);
  to.reads = share.place();
  to.given_ns = base::now_nanoseconds();
  for (std::size_t op = 0; op < answer.ops.size(); ++op) {
    const BoundOp& gives = answer.ops[op];
    const std::byte* data = share.given_by(gives);
    std::size_t bytes = static_cast<std::size_t>(gives.bytes);
    if (gives.bucket < 0) {
      double* numbers = reinterpret_cast<double*>(gives.data) + number * Turn::kNumbers;
      turn.write(numbers);
      data = reinterpret_cast<const std::byte*>(numbers);
      bytes = Turn::kNumbers * sizeof(double);
    }
    const comm::Tag tag{to.generation, static_cast<std::uint32_t>(to.posted[op]), gives.transfer};
    const auto accepted = parts.transport->post(to.rank, gives.channel, tag, {data, bytes});
    if (!accepted) return base::fail(accepted.error());
    if (!*accepted)
      return base::fail({base::ProblemCode::failed, "rank " + std::to_string(parts.plan->rank), "the line to rank " + std::to_string(to.rank) + " is full",
                         "one answer under way", ""});
    ++to.posted[op];
  }
  return {};
}

// What a worker's gradient was, its own report says.
void Server::State::say_staleness(int number, const plan::Arrivals::Push& push) {
  if (push.dropped) metric(Metric::dropped_gradients, static_cast<double>(++dropped[static_cast<std::size_t>(number)]), worker(number).rank);
  else metric(Metric::staleness, static_cast<double>(push.staleness), worker(number).rank);
  parts.whereabouts->step.store(arrivals.steps(), std::memory_order_relaxed);
  parts.whereabouts->ops_done.fetch_add(1, std::memory_order_relaxed);
}

// By who knows the order in which servers did what they did, all can be computed again.
void Server::State::note(plan::Served::Kind kind, int number, const std::function<void(plan::Served&)>& fill) {
  if (parts.order == nullptr) return;
  plan::Served event;
  event.kind = kind, event.server = parts.number, event.worker = number;
  event.done = arrivals.steps(), event.time_ns = base::now_nanoseconds();
  if (fill) fill(event);
  parts.order->write(event);
}

void Server::State::metric(Metric metric, double value, int index) {
  if (parts.events == nullptr) return;
  const std::int64_t now = base::now_nanoseconds();
  const auto step = static_cast<std::int32_t>(std::max<std::int64_t>(0, arrivals.steps() - 1));
  parts.events->write({now, now, now, value, step, static_cast<std::uint16_t>(metric), static_cast<std::uint16_t>(index), telemetry::EventKind::metric});
}

// Waits where the op shall take longer than it did.
void Server::State::worked(const char* program_name, std::size_t op, std::int64_t begin, std::int64_t bytes) {
  const std::int64_t done = base::now_nanoseconds(), real = done - begin;
  std::int64_t shall = real;
  if (parts.slowness != nullptr && parts.slowness->active())
    shall = parts.slowness->shall_take(parts.plan->program(program_name), static_cast<int>(op), std::max<std::int64_t>(0, arrivals.steps() - 1), real);
  std::int64_t now = done;
  while (now < begin + shall && !parts.gate->closed()) {
    std::this_thread::sleep_for(std::chrono::nanoseconds(std::min(begin + shall - now, kLongestSleep)));
    parts.whereabouts->ops_done.fetch_add(1, std::memory_order_relaxed);  // slow as it is, it does not hang
    now = base::now_nanoseconds();
  }
  op_event(program_name, op, begin, now, bytes, now - done);
}

void Server::State::op_event(const char* program_name, std::size_t op, std::int64_t begin, std::int64_t end, std::int64_t bytes, std::int64_t imposed_ns) {
  if (parts.events == nullptr || !parts.record_ops) return;
  const auto step = static_cast<std::int32_t>(std::max<std::int64_t>(0, arrivals.steps() - 1));
  parts.events->write({begin,
                       begin,
                       end,
                       static_cast<double>(bytes),
                       step,
                       static_cast<std::uint16_t>(op),
                       static_cast<std::uint16_t>(parts.plan->program(program_name)),
                       telemetry::EventKind::op,
                       {},
                       static_cast<float>(base::seconds(imposed_ns))});
}

void Server::State::is_at(const char* program_name) {
  parts.whereabouts->program.store(parts.plan->program(program_name), std::memory_order_relaxed);
  parts.whereabouts->op.store(0, std::memory_order_relaxed);
}

// Who has nothing to do stands at the horizon, as far as it is its own.
void Server::State::be_idle() {
  parts.whereabouts->op.store(-1, std::memory_order_relaxed);
  parts.whereabouts->step.store(leads ? arrivals.steps() : std::max(arrivals.steps(), parts.gate->horizon().step), std::memory_order_relaxed);
  parts.transport->wait(kWaitSlice);
}

}  // namespace trainyard::run
