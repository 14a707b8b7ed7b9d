// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/plan/engine_lane.h"

namespace trainyard::plan {

RankPlan assign_to_engine(RankPlan coarse, const std::string& engine) {
  for (Lane& lane : coarse.lanes)
    if (lane.kind == LaneKind::comm) lane.name = engine + ".g" + std::to_string(lane.group);
  for (Buffer& buffer : coarse.buffers) buffer.shared = false;
  return coarse;
}

Plan assign_to_engine(const Plan& coarse, const std::string& engine) {
  return {coarse.ranks, coarse.groups, coarse.schedule,
          [rank_plan = coarse.rank_plan, engine](std::int32_t rank) {
            return assign_to_engine(rank_plan(rank), engine);
          }};
}

std::string engine_of(const Lane& lane) {
  if (lane.kind != LaneKind::comm) return "";
  const std::string name = lane.name.substr(0, lane.name.find('.'));
  return name == "comm" ? "" : name;
}

std::string engine_of(const RankPlan& rank) {
  for (const Lane& lane : rank.lanes)
    if (std::string engine = engine_of(lane); !engine.empty()) return engine;
  return "";
}

}  // namespace trainyard::plan
