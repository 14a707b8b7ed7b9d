// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/run/interpreter/offloading.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "core/base/clock.h"

namespace trainyard::run {
namespace {

constexpr std::size_t kEndedAtOnce = 1024;
constexpr std::chrono::milliseconds kMaxHoldTime{10};  // longest sleep before checking for a stop

// Copies between a file and device memory that system calls cannot access.
base::Result<void> move_by_host(const BoundCopy& copy, bool out, compute::Compute& compute) {
  std::vector<std::byte> between(static_cast<std::size_t>(copy.bytes));
  if (out) compute.copy(between.data(), copy.near, copy.bytes);
  auto moved = out ? copy.file->write(copy.offset, between) : copy.file->read(copy.offset, between);
  if (moved && !out) compute.copy(copy.near, between.data(), copy.bytes);
  return moved;
}

base::Result<void> move(const BoundCopy& copy, bool out, compute::Compute& compute) {
  const auto bytes = static_cast<std::size_t>(copy.bytes);
  if (copy.file != nullptr && !compute.on_host()) return move_by_host(copy, out, compute);
  if (copy.file != nullptr)
    return out ? copy.file->write(copy.offset, {copy.near, bytes})
               : copy.file->read(copy.offset, {copy.near, bytes});
  out ? compute.copy(copy.home, copy.near, copy.bytes)
      : compute.copy(copy.near, copy.home, copy.bytes);
  return {};
}

using Marks = std::vector<std::vector<bool>>;  // flags by program and op

// Marks the op of `program` that the dependency waits for. Does nothing if the dependency names
// another program.
void mark(const plan::Dependency& dependency, const plan::Program& program,
          std::vector<bool>& marks) {
  std::int32_t passed = 0;
  std::size_t last = program.ops.size();
  for (std::size_t i = 0; i < program.ops.size(); ++i) {
    if (program.ops[i].lane != dependency.lane) continue;
    last = i;
    if (++passed == dependency.sequence) break;
  }
  if (last < program.ops.size()) marks[last] = true;
}

// Returns the ops that a lane's ops wait for. A dependency on an earlier step may refer to any
// program.
Marks awaited_by(const plan::RankPlan& plan, plan::LaneId lane) {
  Marks marks;
  for (const plan::Program& program : plan.programs) marks.emplace_back(program.ops.size(), false);
  for (std::size_t p = 0; p < plan.programs.size(); ++p)
    for (const plan::Op& op : plan.programs[p].ops)
      for (const plan::Dependency& dependency :
           op.lane == lane ? op.after : std::vector<plan::Dependency>{})
        for (std::size_t target = 0; target < plan.programs.size(); ++target)
          if (target == p || dependency.steps_back > 0)
            mark(dependency, plan.programs[target], marks[target]);
  return marks;
}

std::int64_t bytes_of(const BoundOp& op) {
  return std::accumulate(op.copies.begin(), op.copies.end(), std::int64_t{0},
                         [](std::int64_t sum, const BoundCopy& copy) { return sum + copy.bytes; });
}

}  // namespace

base::Result<void> carry_out(const BoundOp& op, compute::Compute& compute) {
  for (const BoundCopy& copy : op.copies)
    if (auto ok = move(copy, op.kind == plan::OpKind::offload, compute); !ok) return ok;
  return {};
}

Offloading::Offloading(const plan::RankPlan& plan, plan::Frontier& frontier, plan::LaneId lane,
                       const BoundPlan& bound, compute::Compute& compute, Exchange* peers,
                       const SlowdownModel* slowness)
    : frontier_(frontier),
      lane_(lane),
      awaited_(awaited_by(plan, lane)),
      bound_(bound),
      compute_(compute),
      peers_(peers),
      slowness_(slowness) {
  ended_.reserve(kEndedAtOnce);
  thread_ = std::thread([this] { run(); });
}

Offloading::~Offloading() {
  stop_.store(true);
  notify_thread();
  thread_.join();
}

void Offloading::notify_thread() {
  changes_.fetch_add(1, std::memory_order_release);
  changes_.notify_one();
}

void Offloading::run() {
  for (;;) {
    const std::uint32_t seen = changes_.load(std::memory_order_acquire);
    // the stop flag must be read after `changes_`: a stop sets the flag first and notifies
    // afterwards
    if (stop_.load()) return;
    if (carry_out_next()) continue;
    settled_.store(seen, std::memory_order_release);
    changes_.wait(seen, std::memory_order_acquire);
  }
}

// Waits until the copy has taken as long as on the drawn device. A straggler's slowdown does not
// apply to copies, only to compute ops.
void Offloading::hold_back(const plan::Frontier::Ready& ready, std::int64_t begin_ns) const {
  if (slowness_ == nullptr || !slowness_->paced()) return;
  const auto slowed_ns =
      static_cast<double>(slowness_->target_ns(ready.program, ready.op, ready.step, 0));
  const std::int64_t end_ns = begin_ns + std::llround(slowed_ns / slowness_->factor(ready.step));
  for (std::int64_t left = end_ns - base::now_nanoseconds(); left > 0 && !stop_.load();
       left = end_ns - base::now_nanoseconds())
    std::this_thread::sleep_for(
        std::min<std::chrono::nanoseconds>(std::chrono::nanoseconds(left), kMaxHoldTime));
}

// Runs the next copy op. Returns false if none may start, or after a failure.
bool Offloading::carry_out_next() {
  if (failure_) return false;
  const auto ready = frontier_.next(lane_);
  if (!ready) return false;
  frontier_.start(lane_);
  const std::int64_t begin = base::now_nanoseconds();
  const auto done = carry_out(op_of(*ready), compute_);
  if (done) hold_back(*ready, begin);
  tell(*ready, done, begin);
  return done.has_value();
}

// Records that an op ended, and wakes the rank's thread, which may wait for copies or for messages
// of peers.
void Offloading::tell(const plan::Frontier::Ready& ready, const base::Result<void>& done,
                      std::int64_t begin_ns) {
  {
    const std::lock_guard lock(mutex_);
    if (done) {
      ended_.push_back({ready, begin_ns, base::now_nanoseconds(), bytes_of(op_of(ready))});
      frontier_.finish(lane_, ready);
    } else {
      failure_.emplace(ready, done.error());
    }
  }
  changed_.notify_one();
  if (peers_ != nullptr) peers_->wake();
}

// True while the copy thread may have work. Reads the counters before the list `ended_`, because
// otherwise an op that completes in between could be missed.
bool Offloading::under_way() const {
  if (settled_.load(std::memory_order_acquire) != changes_.load(std::memory_order_acquire))
    return true;
  const std::lock_guard lock(mutex_);
  return !ended_.empty() || failure_;
}

bool Offloading::take(std::vector<CompletedCopy>& ended) {
  ended.clear();
  const std::lock_guard lock(mutex_);
  std::swap(ended, ended_);
  return !ended.empty();
}

void Offloading::wait(std::chrono::microseconds limit) {
  std::unique_lock lock(mutex_);
  changed_.wait_for(lock, limit, [this] { return !ended_.empty() || failure_; });
}

std::optional<std::pair<plan::Frontier::Ready, base::Problem>> Offloading::failure() const {
  const std::lock_guard lock(mutex_);
  return failure_;
}

}  // namespace trainyard::run
