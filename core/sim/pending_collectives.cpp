// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/sim/pending_collectives.h"

#include <fmt/core.h>

#include "core/collective/engine_cost.h"

namespace trainyard::sim {

base::Result<int> PendingCollectives::join(int rank, const OpModel& op, std::int64_t step) {
  std::vector<int>& numbers = of_group_[op.channel];
  const std::size_t turn = next_of_rank_[{op.channel, rank}]++;
  if (turn == numbers.size()) {
    numbers.push_back(static_cast<int>(collectives_.size()));
    collectives_.push_back({&op, step, 0, false});
  }
  const int number = numbers[turn];
  PendingCollective& pending = collectives_[static_cast<std::size_t>(number)];
  const OpModel& first = *pending.op;
  if (pending.step != step ||
      std::tie(first.kind, first.bucket, first.bytes) != std::tie(op.kind, op.bucket, op.bytes))
    return base::fail({"collectives_differ", base::ProblemCode::bad_input,
                       fmt::format("rank {}, step {}", rank, step),
                       fmt::format("the rank reached the collective of bucket {} ({} B), but a "
                                   "peer reached the collective of bucket {} ({} B) of step {}",
                                   op.bucket, op.bytes, first.bucket, first.bytes, pending.step),
                       "collectives in the same order on all ranks", ""});
  if (++pending.here == op.members.size()) complete_.push_back(number);
  return number;
}

base::Result<Picoseconds> PendingCollectives::duration(const OpModel& op) {
  if (const auto known = durations_.find(key(op)); known != durations_.end()) return known->second;
  collective::Work work{
      op.bytes / op.element_bytes, op.element_bytes, {}, std::vector<int>(op.members.size(), 0)};
  for (const int member : op.members)
    work.devices.push_back(ranks_[static_cast<std::size_t>(member)]);
  return collective::engine_seconds(*collective::collective_of(op.kind), work, network_)
      .map([&](double seconds) { return durations_[key(op)] = picoseconds(seconds); });
}

Picoseconds PendingCollectives::known_duration(const OpModel& op) const {
  const auto known = durations_.find(key(op));
  return known == durations_.end() ? 0 : known->second;
}

}  // namespace trainyard::sim
