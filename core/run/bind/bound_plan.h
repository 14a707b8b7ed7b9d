// SPDX-License-Identifier: GPL-3.0-or-later
// A rank's plan with all names resolved to addresses, prepared kernels and peers. The interpreter
// runs it without allocations and name lookups.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "core/compute/compute.h"
#include "core/compute/ops.h"
#include "core/model/model.h"
#include "core/run/bind/layout.h"
#include "core/run/bind/memory_use.h"
#include "core/run/bind/offload_space.h"

namespace trainyard::run {

// Loss scaling for fp16 (core/run/bind/loss_scale.h).
struct LossScaling {
  double initial = 1;
  std::int64_t double_every_steps = 1;
  double least = 1;
};

// Settings that the plan does not contain: optimizer, learning rate, clipping and others.
struct Recipe {
  std::function<compute::Op(const compute::UpdateInputs& common,
                            std::span<const compute::Tensor> moments, const compute::Tensor& step)>
      update;
  std::function<double(std::int64_t step)> learning_rate;
  double clip_norm = 0;  // maximum norm of the gradient; 0: no clipping
  // reaction to non-finite gradients; if both fields are false, updates use such gradients
  bool stops_at_non_finite = false, skips_non_finite = false;
  compute::compression::CompressionSpec compression;
  // number format of matrix products in training and evaluation
  compute::Multiplies multiplies = compute::Multiplies::full;
  std::int64_t seed = 0;  // seed of dropout
  LossScaling loss_scaling = {};
};

// Memory into which the samples of one micro-step are loaded.
struct BoundLoad {
  int micro = 0;
  std::int64_t samples = 0;  // samples of this rank
  // if the rank holds only some columns, `input` has these columns for the samples of all ranks
  compute::Tensor input, labels;
  // indices of the samples in the data set; empty if no op needs them
  compute::Tensor sample_numbers;
  plan::Columns columns = {};  // columns that are loaded; none: all

  std::int64_t labels_of_sample() const { return samples > 0 ? labels.elements() / samples : 1; }
};

// Binding of an op that transfers only listed table rows (core/run/input/named_rows.h), or that
// writes or transfers the list itself.
struct NamedRows {
  std::int64_t first = 0, rows = 0;  // rows of the table in this share
  std::int64_t row_bytes = 0;
  std::int64_t slot_count = 0;   // number of columns of a sample that contain row numbers
  std::int64_t most = 0;         // maximum number of rows in a list
  std::int32_t* list = nullptr;  // list of the rows; on a server one list per worker, in order
  // row numbers of the packed rows; for ops that pack rows and for the push that follows
  std::int32_t* packed_rows = nullptr;
  // packed rows to send to workers, one block per worker, in order; for give ops
  std::byte* handed = nullptr;
  bool is_list = false;  // true if the op transfers the list itself

  std::int32_t* list_of(int worker) const { return list + worker * (plan::kListHead + most); }
  std::byte* assign_to_engine(int worker) const { return handed + worker * most * row_bytes; }
};

// Copy of an offload or fetch, between device memory and an address in host memory or an offset in
// a file.
struct BoundCopy {
  std::byte *near = nullptr, *home = nullptr;
  // file that holds the offloaded bytes; null if they are in host memory
  const OffloadSpace* file = nullptr;
  std::int64_t offset = 0, bytes = 0;
};

struct BoundOp {
  plan::OpKind kind = plan::OpKind::load;
  plan::LaneId lane;
  int segment = -1, micro = -1;
  int bucket = -1;  // index of the bucket, for encode and decode
  // true if the op completes the segment's local gradient and writes its norm
  bool leaves_norm = false;
  // true if the op all-reduces the statistics of updates (squared norms), because each rank updates
  // only a shard
  bool leaves_statistics = false;
  // true if the op writes the loss of its micro-step's samples, and the number of correct
  // predictions
  bool leaves_loss = false;
  bool leaves_first_loss = false;  // true if the op is the first of the program that writes a loss
  // kernels of a compute op; a server's update has one for each pair of version slots: the kernel
  // that reads slot `from` and writes slot `to` is at [from * slots + to]
  std::vector<std::unique_ptr<compute::Kernel>> kernels;
  // for a mix that is weighted by samples: the op without its weight, which depends on the step
  std::optional<compute::WeightedSum> weighed;
  // partner of each step, as an index in `peers`; for offer and agree ops of gossip
  std::shared_ptr<const plan::GossipPair> gossip_pair;
  // The following fields are used by sends and receives.
  int channel = 0;
  std::vector<int> peers;      // reduce_many: all other ranks of the sum, in order
  int local_position = -1;     // reduce_many: position of this rank's chunk in the sum
  std::uint32_t transfer = 0;  // id of the transfer, equal at both ends
  // for a collective that an engine runs as one op: position of the root in the group
  int root = 0;
  // for a collective that an engine runs as one op: lower bound of the bytes sent, by formula
  // (core/collective/engine_cost.h)
  std::int64_t engine_bytes = 0;
  std::byte* data = nullptr;       // bytes that are sent or written
  const std::byte* own = nullptr;  // local operand, which is added or copied; usually `data`
  std::int64_t bytes = 0, elements = 0;
  base::DType dtype = base::DType::fp32;
  NamedRows named;
  std::vector<BoundCopy> copies;  // copies made by an OUT (offload) or IN (fetch) op

  // Returns the payload bytes exchanged with peers. For an op that an engine runs, these are
  // computed by a formula, because they cannot be counted.
  std::int64_t bytes_moved() const { return engine_bytes + bytes * std::ssize(peers_in(0)); }
  // Returns the peers with which the op exchanges data in a step.
  std::span<const int> peers_in(std::int64_t step) const {
    return gossip_pair ? std::span(peers).subspan(gossip_pair->choice(step), 1) : std::span(peers);
  }
};

struct BoundProgram {
  std::int64_t samples = 0, global_samples = 0, repeats = 1;
  std::vector<BoundOp> ops;
  std::vector<BoundLoad> loads;  // one load per micro-step in which the rank has samples
  // true if parameters are averaged, with all ranks or with neighbors, after this step or a later
  // one. The rank's gradient is then the mean over its local samples
  bool averages_weights = false;
  // By segment: true if an op of the program writes the norm of its local gradient. A rank that
  // scatters gradients after every one of several micro-steps never holds this gradient.
  std::vector<bool> leaves_norm;

  // returns null if the rank has no samples in the micro-step
  const BoundLoad* load(int micro) const {
    const auto at = std::find_if(loads.begin(), loads.end(),
                                 [micro](const BoundLoad& one) { return one.micro == micro; });
    return at != loads.end() ? &*at : nullptr;
  }
  std::int64_t gradient_samples() const {
    return averages_weights ? samples : global_samples;
  }  // number of samples over which the gradient is a mean
};

// A range of bytes in memory, and its purpose.
struct MemorySpan {
  MemoryPurpose part = MemoryPurpose::other;
  const std::byte* begin = nullptr;  // null if not in host memory
  std::int64_t bytes = 0;
};

struct BoundPlan {
  compute::Compute* device = nullptr;  // device that runs the plan
  std::vector<BoundProgram> programs;
  compute::Tensor parameters;  // local parameters: all of them, or a shard
  compute::Tensor metrics, local_norms, statistics, rate;
  // true if ranks all-reduce the statistics of updates (squared norms), because each rank updates
  // only a shard
  bool sums_statistics = false;
  // factor of the gradient in the update, for example for clipping; empty if always 1
  compute::Tensor factor;
  // two fp64 numbers, see struct LossScale (core/run/bind/loss_scale.h); empty without loss scaling
  compute::Tensor loss_scale;
  // for compression: squared error of what the rank sends, by bucket; empty without compression
  compute::Tensor squared_errors;
  // if ranks have local parameters: squared distance from the mean, by segment; else empty
  compute::Tensor spread;
  // bytes of the gradient / bytes of its encoding, per rank; 0: no compression
  double compression_ratio = 0;
  // server: its share of the parameters, one tensor per version slot; an update reads one slot and
  // writes another
  std::vector<compute::Tensor> versions;
  // for a server with delay compensation: the parameters last given to each worker, share by share;
  // and scratch for a compensated gradient
  compute::Tensor given, compensated;
  std::vector<MemorySpan> memory;  // memory of all buffers, by purpose
  // optimizer moments of everything that the rank updates, on the device or offloaded; may be empty
  std::vector<compute::Tensor> moments;
  compute::Tensor state;  // persistent state besides parameters (model::Model::state); may be empty
};

// Writes the learning rate of `step`, and the number of the step counted from 1, for a RATE op.
inline void write_rate(const BoundPlan& bound, const Recipe& recipe, std::int64_t step) {
  bound.rate.as<double>()[0] = recipe.learning_rate(step);
  bound.rate.as<double>()[1] = static_cast<double>(step + 1);
}

// Returns a Problem if an op has computed a non-finite gradient and the experiment requests to stop
// in this case.
base::Result<void> expect_finite(const BoundOp& op, const BoundPlan& bound, const Recipe& recipe,
                                 const model::Model& model);

// Buffer that is bound to the memory of another rank in this process, not to the arenas of its own
// rank.
struct SharedBuffer {
  plan::BufferId buffer;  // invalid if nothing is shared
  std::byte* data = nullptr;
};

// Private arena (memory block) of a rank. If `result_memory` is not null, it holds the first
// `result_bytes` of the layout, and `memory` begins with the byte after them.
struct PrivateArena {
  std::span<std::byte> memory;
  std::byte* result_memory = nullptr;

  PrivateArena() = default;
  PrivateArena(std::span<std::byte> others, std::byte* results = nullptr)
      : memory(others), result_memory(results) {}  // NOLINT(google-explicit-constructor): it is one
};

// Shared arena of a rank, which peers read. If `on_device` is not null, it holds the bytes of the
// layout from `shared_host_bytes` on, and `memory` needs to hold only the bytes before.
struct SharedArena {
  std::span<std::byte> memory;
  std::byte* on_device = nullptr;

  SharedArena() = default;
  SharedArena(std::span<std::byte> all, std::byte* device = nullptr)
      : memory(all), on_device(device) {}  // NOLINT(google-explicit-constructor): it is one
};

// Binds a plan to memory. Arenas must have the sizes of `layout` and be zeroed, because the
// optimizer's state starts at zero. They must outlive the result; so must `offload_space` (null
// without offloading) and the memory of `shared_buffer`. Returns a Problem that names the op if a
// kernel cannot be prepared.
base::Result<BoundPlan> bind(const plan::RankPlan& plan, const std::vector<plan::Group>& groups,
                             const model::Model& model, const Recipe& recipe,
                             compute::Compute& compute, const PrivateArena& private_arena,
                             const SharedArena& shared_arena,
                             const OffloadSpace* offload_space = nullptr,
                             const SharedBuffer& shared_buffer = {});

}  // namespace trainyard::run
