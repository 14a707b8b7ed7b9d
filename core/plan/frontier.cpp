// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/plan/frontier.h"

#include <algorithm>
#include <bit>

namespace trainyard::plan {
namespace {

constexpr std::int64_t kMaxInFlight = 64;  // number of bits of finished_ahead

std::int64_t round_key(const Op& op) {
  return communicates(op.kind) && op.round >= 0 ? (std::int64_t{op.bucket} << 32) | op.round : -1;
}

}  // namespace

Frontier::Frontier(const RankPlan& plan) : lanes_(plan.lanes.size()) {
  for (const Program& program : plan.programs) {
    CompiledProgram compiled;
    compiled.lane_ops.resize(plan.lanes.size());
    for (std::size_t i = 0; i < program.ops.size(); ++i) {
      const Op& op = program.ops[i];
      compiled.lane_ops[op.lane.index()].push_back(static_cast<int>(i));
      compiled.first_after.push_back(static_cast<std::uint32_t>(compiled.after.size()));
      compiled.after.insert(compiled.after.end(), op.after.begin(), op.after.end());
      compiled.round.push_back(round_key(op));
      for (const Dependency& dependency : op.after)
        furthest_back_ = std::max<std::int64_t>(furthest_back_, dependency.steps_back);
    }
    compiled.first_after.push_back(static_cast<std::uint32_t>(compiled.after.size()));
    programs_.push_back(std::move(compiled));
  }
  for (Instance& instance : instances_) instance.base.assign(plan.lanes.size(), 0);
}

bool Frontier::admit(int program, std::int64_t step) {
  const std::int64_t number = admitted_.load(std::memory_order_relaxed);
  // Instance (program run) `number` reuses the slot of an older instance. The slot is free when no
  // lane is in the older instance and no lane can still depend on it.
  for (const LaneState& lane : lanes_)
    if (lane.instance.load(std::memory_order_acquire) - furthest_back_ <= number - window)
      return false;
  Instance& slot = instances_[static_cast<std::size_t>(number % window)];
  slot.program = program;
  slot.step = step;
  for (std::size_t l = 0; l < lanes_.size(); ++l)
    slot.base[l] = number == 0 ? 0
                               : at(number - 1).base[l] +
                                     static_cast<std::int64_t>(ops_of(number - 1, l).size());
  admitted_.store(number + 1, std::memory_order_release);
  return true;
}

// Moves the lane past instances in which the lane has no ops left. Returns false if no admitted
// instance has further ops for the lane.
bool Frontier::has_current(LaneState& state, std::size_t lane) const {
  const std::int64_t admitted = admitted_.load(std::memory_order_acquire);
  std::int64_t instance = state.instance.load(std::memory_order_relaxed);
  if (instance >= admitted) return false;
  while (state.position == ops_of(instance, lane).size()) {
    if (instance + 1 == admitted) return false;
    state.instance.store(++instance, std::memory_order_release);
    state.position = 0;
  }
  return true;
}

bool Frontier::met(const Dependency& dependency, std::int64_t instance) const {
  const std::int64_t target = instance - dependency.steps_back;
  if (target < 0) return true;
  const std::size_t lane = dependency.lane.index();
  const auto count = static_cast<std::int64_t>(ops_of(target, lane).size());
  const std::int64_t wanted = dependency.sequence == Dependency::end
                                  ? count
                                  : std::min<std::int64_t>(dependency.sequence, count);
  return lanes_[lane].completed.load(std::memory_order_acquire) >= at(target).base[lane] + wanted;
}

bool Frontier::may_join(const LaneState& state, std::int64_t round, std::int64_t instance,
                        bool in_order) const {
  const std::int64_t ahead = state.started - state.completed.load(std::memory_order_relaxed);
  if (ahead == 0) return true;
  return ahead < kMaxInFlight && instance == state.open_instance &&
         (in_order || (round >= 0 && round == state.open_round));
}

std::optional<Frontier::Ready> Frontier::next(LaneId lane) const { return next(lane, false); }

std::optional<Frontier::Ready> Frontier::next_in_order(LaneId lane) const {
  return next(lane, true);
}

std::optional<Frontier::Ready> Frontier::next(LaneId lane, bool in_order) const {
  LaneState& state = lanes_[lane.index()];
  if (!has_current(state, lane.index())) return std::nullopt;
  const std::int64_t instance = state.instance.load(std::memory_order_relaxed);
  const int program = at(instance).program;
  const CompiledProgram& compiled = programs_[static_cast<std::size_t>(program)];
  const int op = compiled.lane_ops[lane.index()][state.position];
  const auto index = static_cast<std::size_t>(op);
  if (!may_join(state, compiled.round[index], instance, in_order)) return std::nullopt;
  for (auto i = compiled.first_after[index]; i < compiled.first_after[index + 1]; ++i)
    if (const Dependency& dependency = compiled.after[i];
        !(in_order && dependency.lane == lane && dependency.steps_back == 0) &&
        !met(dependency, instance))
      return std::nullopt;
  return Ready{program, op, at(instance).step, instance, state.started};
}

void Frontier::start(LaneId lane) {
  LaneState& state = lanes_[lane.index()];
  const std::int64_t instance = state.instance.load(std::memory_order_relaxed);
  const CompiledProgram& compiled = programs_[static_cast<std::size_t>(at(instance).program)];
  state.open_round =
      compiled.round[static_cast<std::size_t>(compiled.lane_ops[lane.index()][state.position])];
  state.open_instance = instance;
  ++state.started;
  ++state.position;
}

void Frontier::finish(LaneId lane, const Ready& ready) {
  LaneState& state = lanes_[lane.index()];
  const std::int64_t completed = state.completed.load(std::memory_order_relaxed);
  state.finished_ahead |= std::uint64_t{1} << (ready.sequence - completed);
  const int prefix = std::countr_one(state.finished_ahead);
  if (prefix == 0) return;
  state.finished_ahead = prefix == 64 ? 0 : state.finished_ahead >> prefix;
  state.completed.store(completed + prefix, std::memory_order_release);
}

bool Frontier::instance_complete(std::int64_t instance) const {
  for (std::size_t l = 0; l < lanes_.size(); ++l)
    if (lanes_[l].completed.load(std::memory_order_acquire) <
        at(instance).base[l] + static_cast<std::int64_t>(ops_of(instance, l).size()))
      return false;
  return true;
}

std::int64_t Frontier::completed(LaneId lane) const {
  return lanes_[lane.index()].completed.load(std::memory_order_acquire);
}

}  // namespace trainyard::plan
