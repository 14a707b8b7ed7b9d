// SPDX-License-Identifier: GPL-3.0-or-later
// The buffers of a rank that passes samples through layers.
#pragma once

#include <vector>

#include "core/strategy/replica_step.h"

namespace trainyard::strategy {

// What peers read in place.
enum class Shared { nothing, gradients, parameters };

// Of how many micro-steps a rank has rows side by side.
struct Slots {
  std::int32_t samples = 1;
  std::vector<std::int32_t>
      activations = {},
      gradients = {},
      sums = {};  // by segment, the latter of batch normalisation; empty: of one each

  std::int32_t of_activation(std::size_t s) const {
    return activations.empty() ? 1 : activations[s];
  }
  std::int32_t of_gradient(std::size_t s) const { return gradients.empty() ? 1 : gradients[s]; }
  std::int32_t of_sums(std::size_t s) const { return sums.empty() ? 1 : sums[s]; }
};

// Elements of flat buffers.
struct Flat {
  std::int64_t parameters = 0, gradients = 0, moments = 0;
};
Flat whole_model(const experiment::Resolved& experiment);

// Appends all that a model asks for, whose `experiment` that is. `synchronises`: sums of batch
// normalisation are read by peers.
ReplicaBuffers add_buffers(const experiment::Resolved& experiment, Shared peers_read,
                           bool synchronises, std::vector<plan::Buffer>& list, const Slots& slots,
                           const Flat& flat);
ReplicaBuffers add_buffers(const experiment::Resolved& experiment, Shared peers_read,
                           bool synchronises, std::vector<plan::Buffer>& list,
                           const Slots& slots = {});

// By buffer, as in Replica: of those that add_buffers appended, which are the first of a rank.
std::vector<std::int32_t> slots_by_buffer(const ReplicaBuffers& buffers, const Slots& slots,
                                          std::size_t count);

}  // namespace trainyard::strategy
