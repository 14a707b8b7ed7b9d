// SPDX-License-Identifier: GPL-3.0-or-later
// Payload kind of a message between ranks. It is determined by the buffer that the sending op
// reads, and by the op's collective, if any. Pure.
#pragma once

#include <QString>
#include <cstdint>

#include "core/plan/plan.h"

namespace trainyard::ui {

enum class PayloadKind : std::uint8_t {
  activations,
  activation_gradients,
  partial_sums,           // outputs of layers that are sharded over ranks
  partial_gradient_sums,  // gradients at the inputs of sharded layers
  parameters,
  gathered_parameters,
  averaged_parameters,
  gradients,
  summed_gradients,
  scattered_gradients,
  compressed_gradients,
  samples,
  table_rows,  // rows of embedding tables that a worker requests
  statistics,  // norms, losses, and sums or running statistics of normalization
  turns,       // messages that assign rounds to workers
  other,
};

// Payload of an op that counts as a message on the op's rank: a send to a peer, or the op by which
// a worker receives a server's reply.
struct OpPayload {
  PayloadKind payload = PayloadKind::other;
  std::int32_t peer = -1;  // -1: the op has no such message
  bool arrives = false;    // true if the rank receives the message from the peer
  bool pairs = false;      // true if the peer is the step's partner (`plan::GossipPair`)
};

OpPayload payload_of(const plan::RankPlan& rank, const plan::Program& program, const plan::Op& op);

QString as_text(PayloadKind payload);  // "gradients, reduce-scattered"

}  // namespace trainyard::ui
