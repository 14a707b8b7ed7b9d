// SPDX-License-Identifier: GPL-3.0-or-later
// A rank's plan with everything it needs, and the memory that it lives in: of one of several ranks
// that one thread has.
#pragma once

#include <optional>
#include <span>
#include <string>

#include "core/run/own_memory.h"

namespace trainyard::run {

struct BoundRank {
  plan::RankPlan plan;
  std::optional<OwnMemory> own;  // what no other rank reads
  std::span<std::byte> shared;   // what others do
  SwapSpace aside;
  BoundPlan bound;

  int program(const std::string& name) const { return plan.program(name); }
  const BoundProgram& at(int number) const {
    return bound.programs[static_cast<std::size_t>(number)];
  }
};

struct BindingParts {
  const std::vector<plan::Group>* groups = nullptr;
  const model::Model* model = nullptr;
  const Recipe* recipe = nullptr;
  compute::Compute* compute = nullptr;
  const std::string* swap_directory = nullptr;  // of what is put aside on disk
};

// Of `rank`, the plan and what it shares are there, and its own memory where others have it too. A
// kernel that cannot be prepared, or memory that is not there, is a Problem.
base::Result<void> bind(BoundRank& rank, const BindingParts& parts, const Lent& lent = {});

}  // namespace trainyard::run
