// SPDX-License-Identifier: GPL-3.0-or-later
// A rank's plan with its resources and memory, for a thread that runs several ranks.
#pragma once

#include <optional>
#include <span>
#include <string>

#include "core/run/bind/private_memory.h"

namespace trainyard::run {

struct BoundRank {
  plan::RankPlan plan;
  std::optional<PrivateMemory> own;  // private memory
  std::span<std::byte> shared;       // memory that other ranks read
  OffloadSpace offload_space;
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
  const std::string* offload_directory = nullptr;  // directory for files of offloaded buffers
};

// Binds `rank`, whose plan and shared memory must be set. If several ranks have one private memory,
// it must be set, too; otherwise `bind` allocates it. Returns a Problem if a kernel cannot be
// prepared or memory is insufficient.
base::Result<void> bind(BoundRank& rank, const BindingParts& parts,
                        const SharedBuffer& shared_buffer = {});

}  // namespace trainyard::run
