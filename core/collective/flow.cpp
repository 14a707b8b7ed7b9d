// SPDX-License-Identifier: GPL-3.0-or-later
#include <map>

#include "core/collective/pieces.h"

namespace trainyard::collective {
namespace {

std::int64_t bytes_over_all_segments(const Step& step, const Pieces& pieces) {
  return pieces.segments_of(true) * pieces.bytes_of(step, true) +
         pieces.segments_of(false) * pieces.bytes_of(step, false);
}

}  // namespace

std::vector<Flow> flows(Algorithm algorithm, std::int64_t segment_bytes, const Work& work) {
  const Formation group = formation(work.hosts);
  const Pieces pieces(is_sharded(work.collective) ? 0 : segment_bytes, work,
                      chunks(work.collective, algorithm, group));
  std::vector<Flow> all;
  for (int position = 0; position < group.members; ++position) {
    std::map<int, std::int64_t> sent;
    for (const Round& round : program(work.collective, algorithm, group, position, 0))
      for (const Step& step : round)
        if (step.kind == StepKind::send) sent[step.peer] += bytes_over_all_segments(step, pieces);
    for (const auto& [peer, bytes] : sent) all.push_back({position, peer, bytes});
  }
  return all;
}

std::vector<std::int64_t> sent_bytes(Collective collective, Algorithm algorithm,
                                     std::int64_t segment_bytes, const Work& work) {
  const Formation group = formation(work.hosts);
  const Pieces pieces(segment_bytes, work, chunks(collective, algorithm, group));
  std::vector<std::int64_t> sent(static_cast<std::size_t>(group.members), 0);
  for (int position = 0; position < group.members; ++position)
    for (const Round& round : program(collective, algorithm, group, position, 0))
      for (const Step& step : round)
        if (step.kind == StepKind::send)
          sent[static_cast<std::size_t>(position)] += bytes_over_all_segments(step, pieces);
  return sent;
}

}  // namespace trainyard::collective
