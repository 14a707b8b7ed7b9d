// SPDX-License-Identifier: GPL-3.0-or-later
// State of all members between two steps. Every state is computed from the first step on, so that
// stepping forward and back gives equal results.
#include <algorithm>
#include <utility>

#include "core/base/random.h"
#include "core/collective/steps.h"

namespace trainyard::collective {
namespace {

PartialSum added(PartialSum sum, const PartialSum& summand, Add add) {
  sum.value = add(sum.value, summand.value);
  sum.of.insert(sum.of.end(), summand.of.begin(), summand.of.end());
  return sum;
}

PartialSum& at(std::vector<std::vector<PartialSum>>& cells, int position, int chunk) {
  return cells[static_cast<std::size_t>(position)][static_cast<std::size_t>(chunk)];
}

void take(const Move& move, int chunk, State& state, Add add) {
  PartialSum& sum = at(state.scratch_sums, move.to, chunk);
  if (move.begins) sum = {};
  for (const int summand : move.taken)
    sum = sum.of.empty() ? at(state.held, summand, chunk)
                         : added(sum, at(state.held, summand, chunk), add);
  if (move.ends) at(state.held, move.to, chunk) = std::exchange(sum, {});
}

void apply(const Move& move, int chunk, State& state, Add add) {
  PartialSum& own = at(state.held, move.to, chunk);
  switch (move.effect) {
    case Effect::replaces: own = at(state.held, move.from, chunk); return;
    case Effect::adds: own = added(own, at(state.held, move.from, chunk), add); return;
    case Effect::sums: take(move, chunk, state, add); return;
    case Effect::copies_from_scratch:
      own = std::exchange(at(state.scratch_sums, move.to, chunk), {});
      return;
  }
}

void apply(const Move& move, State& state, Add add) {
  for (int chunk = move.chunk; chunk < move.chunk + move.chunks; ++chunk)
    apply(move, chunk, state, add);
  state.sent[static_cast<std::size_t>(move.from)] += move.bytes;
  state.received[static_cast<std::size_t>(move.to)] += move.bytes;
}

State start_state(const Steps& steps, const Values& start) {
  const auto members = static_cast<std::size_t>(steps.members());
  const std::vector<PartialSum> nothing(static_cast<std::size_t>(steps.chunks()));
  State state{{members, nothing},
              {members, nothing},
              std::vector<std::int64_t>(members),
              std::vector<std::int64_t>(members)};
  for (int position = 0; position < steps.members(); ++position)
    for (int chunk = 0; chunk < steps.chunks(); ++chunk)
      if (steps.given(position, chunk))
        at(state.held, position, chunk) = {
            start[static_cast<std::size_t>(position)][static_cast<std::size_t>(chunk)], {position}};
  return state;
}

}  // namespace

State state_at(const Steps& steps, const Values& start, int step, Add add) {
  State state = start_state(steps, start);
  for (int done = 0; done < std::min(step, steps.count()); ++done)
    apply(steps.moves[static_cast<std::size_t>(done)], state, add);
  return state;
}

bool Steps::given(int position, int chunk) const {
  switch (exercise.collective) {
    case Collective::all_gather:
    case Collective::gather: return chunk == position;
    case Collective::broadcast:
    case Collective::scatter: return position == exercise.root;
    default: return true;
  }
}

bool Steps::wanted(int position, int chunk) const {
  switch (exercise.collective) {
    case Collective::reduce_scatter:
    case Collective::scatter: return chunk == position;
    case Collective::reduce:
    case Collective::gather: return position == exercise.root;
    default: return true;
  }
}

int Steps::after_round(int step) const {
  if (step >= count()) return count();
  const int round = moves[static_cast<std::size_t>(step)].round;
  while (step < count() && moves[static_cast<std::size_t>(step)].round == round) ++step;
  return step;
}

int Steps::before_round(int step) const {
  if (step <= 0) return 0;
  const int round = moves[static_cast<std::size_t>(step - 1)].round;
  while (step > 0 && moves[static_cast<std::size_t>(step - 1)].round == round) --step;
  return step;
}

Values seeded_values(std::uint64_t seed, int members, int chunks) {
  Values values(static_cast<std::size_t>(members));
  for (int position = 0; position < members; ++position) {
    const base::Random random(seed, base::Purpose::generate, static_cast<std::uint32_t>(position));
    for (int chunk = 0; chunk < chunks; ++chunk)
      values[static_cast<std::size_t>(position)].push_back(
          1 + static_cast<double>(random.below(static_cast<std::uint64_t>(chunk), 9)));
  }
  return values;
}

}  // namespace trainyard::collective
