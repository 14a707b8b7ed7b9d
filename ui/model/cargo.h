// SPDX-License-Identifier: GPL-3.0-or-later
// What a message between ranks is: as the op that sent it reads a buffer, and is part of a
// collective or of none. Pure.
#pragma once

#include <QString>
#include <cstdint>

#include "core/plan/plan.h"

namespace trainyard::ui {

enum class Cargo : std::uint8_t {
  activations,
  activation_gradients,
  partial_sums,           // of outputs, of layers that ranks share
  partial_gradient_sums,  // of the gradients at their inputs
  parameters,
  gathered_parameters,
  averaged_parameters,
  gradients,
  summed_gradients,
  scattered_gradients,
  compressed_gradients,
  samples,
  row_numbers,  // of tables, that a worker wants
  statistics,   // norms, losses, sums of normalisations
  turns,        // who takes which round
  other,
};

// Of an op whose messages are counted where it ran: one that sends to a peer, or with which a
// worker gets what a server sent it.
struct OpCargo {
  Cargo cargo = Cargo::other;
  std::int32_t peer = -1;  // -1: it is none of these
  bool arrives = false;    // from the peer
  bool pairs = false;      // the peer is the partner of the step (plan::Pairing)
};

OpCargo cargo_of(const plan::RankPlan& rank, const plan::Program& program, const plan::Op& op);

QString words(Cargo cargo);  // "gradients, reduce-scattered"

}  // namespace trainyard::ui
