// SPDX-License-Identifier: GPL-3.0-or-later
// Ops of a program on one lane, in one line.
#pragma once

#include <string>

#include "core/plan/text.h"

namespace trainyard::strategy {

inline const plan::Program& program_of(const plan::RankPlan& rank, const std::string& name) {
  return rank.programs.at(static_cast<std::size_t>(rank.program(name)));
}

inline std::string on_lane(const plan::RankPlan& rank, const std::string& program,
                           const std::string& lane) {
  std::string text;
  for (const plan::Op& op : program_of(rank, program).ops)
    if (rank.lanes[op.lane.index()].name == lane)
      text += (text.empty() ? "" : " ") + plan::token(op);
  return text;
}

inline std::string tokens(const plan::RankPlan& rank, const std::string& program,
                          plan::LaneKind lane) {
  std::string text;
  for (const plan::Op& op : program_of(rank, program).ops)
    if (rank.lanes[op.lane.index()].kind == lane)
      text += (text.empty() ? "" : " ") + plan::token(op);
  return text;
}

}  // namespace trainyard::strategy
