// SPDX-License-Identifier: GPL-3.0-or-later
// Buffers of a rank that runs layers.
#pragma once

#include <vector>

#include "core/strategy/replica_step.h"

namespace trainyard::strategy {

// Buffers of a rank that its peers read in place.
enum class Shared { nothing, gradients, parameters };

// Number of slots of each buffer. A buffer with n slots holds the rows of n micro-steps at once.
struct Slots {
  std::int32_t samples = 1;
  std::vector<std::int32_t> activations = {}, gradients = {},
                            // by segment: number of slots of the buffers for its outputs, gradients
                            // and batch norm sums; if a list is empty, each of its buffers has one
                            // slot
      sums = {};

  std::int32_t of_activation(std::size_t s) const {
    return activations.empty() ? 1 : activations[s];
  }
  std::int32_t of_gradient(std::size_t s) const { return gradients.empty() ? 1 : gradients[s]; }
  std::int32_t of_sums(std::size_t s) const { return sums.empty() ? 1 : sums[s]; }
};

// Number of elements of each flat buffer of a rank.
struct Flat {
  std::int64_t parameters = 0, gradients = 0, moments = 0;
};
Flat full_model(const experiment::Resolved& experiment);

// Appends all buffers for the model of `experiment`. `synchronizes`: peers read batch norm sums.
ReplicaBuffers add_buffers(const experiment::Resolved& experiment, Shared peers_read,
                           bool synchronizes, std::vector<plan::Buffer>& list, const Slots& slots,
                           const Flat& flat);
ReplicaBuffers add_buffers(const experiment::Resolved& experiment, Shared peers_read,
                           bool synchronizes, std::vector<plan::Buffer>& list,
                           const Slots& slots = {});

// Returns the number of slots of each buffer (`Replica::slots`). The buffers from add_buffers must
// be the first buffers of the rank.
std::vector<std::int32_t> slots_by_buffer(const ReplicaBuffers& buffers, const Slots& slots,
                                          std::size_t count);

}  // namespace trainyard::strategy
