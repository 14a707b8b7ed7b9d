// SPDX-License-Identifier: GPL-3.0-or-later
// Payload kind of a message between ranks. It follows from the buffer that the sending op reads,
// and from the collective of that op, if any. Pure.
#pragma once

#include <QString>
#include <cstdint>

#include "core/plan/plan.h"

namespace trainyard::ui {

enum class PayloadKind : std::uint8_t {
  activations,
  activation_gradients,
  partial_sums,           // outputs of layers shared by ranks
  partial_gradient_sums,  // gradients at the inputs of such layers
  parameters,
  gathered_parameters,
  averaged_parameters,
  gradients,
  summed_gradients,
  scattered_gradients,
  compressed_gradients,
  samples,
  table_rows,  // rows of embedding tables, requested by a worker
  statistics,  // norms, losses, sums of normalizations
  turns,       // assignment of rounds to workers
  other,
};

// Payload of an op that counts as a message on its rank: a send to a peer, or an op by which a
// worker receives a server's reply.
struct OpPayload {
  PayloadKind payload = PayloadKind::other;
  std::int32_t peer = -1;  // -1: the op has no such message
  bool arrives = false;    // received from the peer
  bool pairs = false;      // the peer is the partner of the step (`plan::Pairing`)
};

OpPayload payload_of(const plan::RankPlan& rank, const plan::Program& program, const plan::Op& op);

QString as_text(PayloadKind payload);  // "gradients, reduce-scattered"

}  // namespace trainyard::ui
