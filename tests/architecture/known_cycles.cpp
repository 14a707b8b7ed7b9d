// SPDX-License-Identifier: GPL-3.0-or-later
// Include cycles of today. Remove members as the cycles disappear; never add one.
#include "tests/architecture/cycles.h"

namespace trainyard::architecture {

const KnownCycles& known_unit_cycles() {
  static const KnownCycles known{
      {"backends/cuda/module/fragments", "backends/cuda/module/warp_gpu"},
      {"backends/cuda/module/kernels/sum", "backends/cuda/module/prepare"},
      {"backends/zmq/transport", "backends/zmq/transport_end", "backends/zmq/transport_link"},
      {"core/base/fields", "core/base/json"},
      {"core/check/check", "core/check/proofs"},
      {"core/collective/algorithm", "core/collective/member_ring"},
      {"core/collective/chunk_spans", "core/collective/steps"},
      {"core/collective/cost", "core/collective/pieces"},
      {"core/compute/op_check", "core/compute/validate"},
      {"core/data/clicks", "core/data/csv", "core/data/dataset", "core/data/generated",
       "core/data/idx", "core/data/stored_set", "core/data/text"},
      {"core/experiment/bipartition",
       "core/experiment/buckets",
       "core/experiment/compression",
       "core/experiment/document",
       "core/experiment/engine",
       "core/experiment/field_templates",
       "core/experiment/fields",
       "core/experiment/fsdp",
       "core/experiment/imposed",
       "core/experiment/local_sgd",
       "core/experiment/measured_partition",
       "core/experiment/mesh",
       "core/experiment/mixing_matrix",
       "core/experiment/multiplies",
       "core/experiment/partition",
       "core/experiment/placement",
       "core/experiment/precision",
       "core/experiment/rank_duties",
       "core/experiment/resolve",
       "core/experiment/roles",
       "core/experiment/rpc",
       "core/experiment/servers",
       "core/experiment/stages",
       "core/experiment/tensor",
       "core/experiment/ties",
       "core/experiment/tpu",
       "core/experiment/unused_settings",
       "core/experiment/validation_result"},
      {"core/model/layers", "core/model/model"},
      {"core/run/interpreter/interpreter", "core/run/interpreter/interpreter_state"},
      {"core/run/replay/server_replay", "core/run/replay/server_replay_binding"},
      {"core/run/servers/server", "core/run/servers/server_state"},
      {"core/session/checkpoint/checkpoint", "core/session/checkpoint/checkpoint_pieces"},
      {"core/session/coordinator/coordination", "core/session/coordinator/coordinator",
       "core/session/coordinator/rank_entry"},
      {"core/sim/outcome", "core/sim/served_simulation", "core/sim/simulation",
       "core/sim/simulator", "core/sim/virtual_rank"},
      {"core/strategy/compression", "core/strategy/replica", "core/strategy/replica_buffers",
       "core/strategy/replica_ops", "core/strategy/replica_spans", "core/strategy/replica_step",
       "core/strategy/vertical"},
      {"ui/inspector/field_form", "ui/inspector/field_row"},
  };
  return known;
}

const KnownCycles& known_folder_cycles() {
  static const KnownCycles known{
      {"backends/cuda/module", "backends/cuda/module/cudnn", "backends/cuda/module/kernels"},
      {"core/compute", "core/compute/compression"},
  };
  return known;
}

}  // namespace trainyard::architecture
