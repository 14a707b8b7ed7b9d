// SPDX-License-Identifier: GPL-3.0-or-later
// The ranks of a served training (served_training.h), each bound to memory, all in one process:
// they may share it, and lend it.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <utility>

#include "core/run/bound_rank.h"
#include "core/run/served_training.h"

namespace trainyard::run {

// What ranks read of each other, in one piece: many small ones would lie on many pages.
struct SharedMemory {
  compute::Memory memory;
  std::int64_t taken = 0, all_bytes = 0;

  base::Result<void> make(const plan::Plan& plan, compute::Compute& compute);
  std::span<std::byte> take(std::int64_t bytes);
};

// In the own memory of `beside`, where there is one and it is as large. `lender`: the one server,
// by whose parameters a worker may compute where they lie; null: it has its own.
base::Result<void> bind_rank(BoundRank& to, const ServedTrainingParts& parts, int rank,
                             const BoundRank* beside, SharedMemory& shared,
                             const BoundRank* lender = nullptr);

}  // namespace trainyard::run
