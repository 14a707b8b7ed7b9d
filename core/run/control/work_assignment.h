// SPDX-License-Identifier: GPL-3.0-or-later
// Work assignment that the first server sends to a worker that asks for work, and the message with
// which a worker asks for parameters or leaves (`wish`). Both are sent as fp64 numbers, which
// represent every count exactly.
#pragma once

#include <cstdint>

#include "core/compute/tensor.h"

namespace trainyard::run {

struct WorkAssignment {
  // step to which the round belongs; it determines the samples of the round, and the worker names
  // it in its reports
  std::int64_t step = 0;
  std::int64_t done = 0;       // completed steps of the run when the parameters were sent
  std::int64_t gradients = 0;  // gradients that the servers had taken by then
  // true if no work is left; the worker then leaves with the final parameters
  bool last = false;
  bool evaluates = false;  // true if the worker must first evaluate with these parameters
  // true if the run was paused, so that no worker was sent parameters for a while
  bool held = false;

  static constexpr int kNumbers = 4;  // three counts, and the flags as bits
  void write(double* numbers) const {
    numbers[0] = static_cast<double>(step);
    numbers[1] = static_cast<double>(done);
    numbers[2] = static_cast<double>(gradients);
    numbers[3] = (last ? 1 : 0) + (evaluates ? 2 : 0) + (held ? 4 : 0);
  }
  static WorkAssignment read(const double* numbers) {
    const auto flags = static_cast<unsigned>(numbers[3]);
    return {static_cast<std::int64_t>(numbers[0]),
            static_cast<std::int64_t>(numbers[1]),
            static_cast<std::int64_t>(numbers[2]),
            (flags & 1U) != 0,
            (flags & 2U) != 0,
            (flags & 4U) != 0};
  }
};

// A wish is one number that a worker sends. kLeaves: the worker leaves. Other values: the worker
// requests parameters that include at least this many gradients.
inline constexpr double kLeaves = -1;

}  // namespace trainyard::run
