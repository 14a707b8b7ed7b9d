// SPDX-License-Identifier: GPL-3.0-or-later
// What the first server tells a worker that asked, and what a worker tells a server when it asks.
// As fp64 numbers, which hold every count exactly.
#pragma once

#include <cstdint>

#include "core/compute/tensor.h"

namespace trainyard::run {

struct Turn {
  std::int64_t step = 0;       // of the round: by it samples are taken, and it is reported
  std::int64_t done = 0;       // steps of the run that were done when the parameters were given
  std::int64_t gradients = 0;  // that were taken until then
  bool last = false;           // there is none: it may take leave, with the final parameters
  bool evaluates = false;      // by these parameters, before all else
  bool held = false;           // nobody was given any for a while, as the run was paused

  static constexpr int kNumbers = 4;  // flags as bits
  void write(double* numbers) const {
    numbers[0] = static_cast<double>(step);
    numbers[1] = static_cast<double>(done);
    numbers[2] = static_cast<double>(gradients);
    numbers[3] = (last ? 1 : 0) + (evaluates ? 2 : 0) + (held ? 4 : 0);
  }
  static Turn read(const double* numbers) {
    const auto flags = static_cast<unsigned>(numbers[3]);
    return {static_cast<std::int64_t>(numbers[0]),
            static_cast<std::int64_t>(numbers[1]),
            static_cast<std::int64_t>(numbers[2]),
            (flags & 1U) != 0,
            (flags & 2U) != 0,
            (flags & 4U) != 0};
  }
};

// A wish is one number: how many gradients must be in the parameters that it asks for; or that it
// leaves.
inline constexpr double kLeaves = -1;

}  // namespace trainyard::run
