// SPDX-License-Identifier: GPL-3.0-or-later
// A rank's plan with everything looked up: addresses, prepared kernels, peers. What the interpreter
// runs; flat, and nothing in it is allocated or named in the loop.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "core/compute/compute.h"
#include "core/model/model.h"
#include "core/run/layout.h"
#include "core/run/memory_use.h"
#include "core/run/swap_space.h"

namespace trainyard::run {

// How the loss is scaled in fp16 (core/run/loss_scale.h).
struct LossScaling {
  double initial = 1;
  std::int64_t double_every_steps = 1;
  double least = 1;
};

// What the plan leaves to the experiment: how the optimizer updates a segment, and at which rate.
struct Recipe {
  std::function<compute::Op(const compute::UpdateInputs& common,
                            std::span<const compute::Tensor> moments, const compute::Tensor& step)>
      update;
  std::function<double(std::int64_t step)> learning_rate;
  double clip_norm = 0;  // 0: nothing is clipped
  bool stops_at_non_finite = false,
       skips_non_finite = false;  // gradients; where neither, they are used
  compute::compression::CompressionSpec compression;
  compute::Multiplies multiplies = compute::Multiplies::full;  // in training and evaluation
  std::int64_t seed = 0;                                       // of what is dropped
  LossScaling loss_scaling = {};
};

// Where the samples of one micro-step go.
struct BoundLoad {
  int micro = 0;
  std::int64_t samples = 0;       // the rank's own
  compute::Tensor input, labels;  // where the rank has but some columns, the input has those of the
                                  // samples of all ranks
  compute::Tensor sample_numbers;  // in the data set; empty where nothing asks for them
  plan::Columns columns = {};      // none: all

  std::int64_t labels_of_sample() const { return samples > 0 ? labels.elements() / samples : 1; }
};

// Of an op that carries only the rows of a table that a list names (core/run/named_rows.h), or that
// makes or carries the list.
struct NamedRows {
  std::int64_t first = 0, rows = 0;  // of the table, those that the share has
  std::int64_t row_bytes = 0;
  std::int64_t slot_count = 0;  // columns of a sample that name rows
  std::int64_t most = 0;        // that a list can name
  std::int32_t* list =
      nullptr;  // of a server: that of its first worker, before those of the others
  std::int32_t* packed_rows = nullptr;  // of pack and the push after it: how many there are
  std::byte* handed = nullptr;  // of give: where the first worker's rows lie side by side, before
                                // those of the others
  bool is_list = false;         // it carries the list itself

  std::int32_t* list_of(int worker) const { return list + worker * (plan::kListHead + most); }
  std::byte* handed_to(int worker) const { return handed + worker * most * row_bytes; }
};

// Of an op that puts aside or brings back: bytes on the device, and where they are else; in a file,
// from an offset on.
struct BoundCopy {
  std::byte *near = nullptr, *home = nullptr;
  const SwapSpace* file = nullptr;  // null: in the host's memory
  std::int64_t offset = 0, bytes = 0;
};

struct BoundOp {
  plan::OpKind kind = plan::OpKind::load;
  plan::LaneId lane;
  int segment = -1, micro = -1;
  int bucket = -1;           // of encode and decode
  bool leaves_norm = false;  // the rank's own gradient of the segment is whole, and its norm known
  bool leaves_statistics = false;  // those of updates, summed over ranks that each update a part
  bool leaves_loss = false;        // of the samples of its micro-step, and how many it got right
  bool leaves_first_loss = false;  // of the program
  std::vector<std::unique_ptr<compute::Kernel>>
      kernels;  // compute ops; of a server's update [from * places + to]
  std::shared_ptr<const plan::Pairing>
      pairing;  // of offer and agree: which of `peers` it is in a step
  // Sends and receives.
  int channel = 0;
  std::vector<int> peers;      // of reduce_many all whose chunks it adds but itself, in that order
  int own_position = -1;       // of reduce_many: where this rank's chunk stands in the sum
  std::uint32_t transfer = 0;  // the same number at both ends
  int root = 0;  // of a collective that an engine takes whole: a position in the group
  std::int64_t engine_bytes =
      0;  // likewise: what is sent for it at least, by formula (core/collective/engine_cost.h)
  std::byte* data = nullptr;       // what is sent or written
  const std::byte* own = nullptr;  // what the rank itself adds or copies; mostly `data`
  std::int64_t bytes = 0, elements = 0;
  base::DType dtype = base::DType::fp32;
  NamedRows named;
  std::vector<BoundCopy> copies;  // of OUT and IN

  // Payload that crosses to or from peers; what an engine sends, by formula.
  std::int64_t bytes_moved() const { return engine_bytes + bytes * std::ssize(peers_in(0)); }
  // With whom the op talks in a step.
  std::span<const int> peers_in(std::int64_t step) const {
    return pairing ? std::span(peers).subspan(pairing->choice(step), 1) : std::span(peers);
  }
};

struct BoundProgram {
  std::int64_t samples = 0, global_samples = 0, repeats = 1;
  std::vector<BoundOp> ops;
  std::vector<BoundLoad> loads;   // by micro-step, of those that the rank takes
  bool averages_weights = false;  // after this step or a later one, with all or with neighbours:
                                  // then the rank's gradient is the mean of its own samples

  const BoundLoad* load(int micro) const {  // null: the rank takes none in it
    const auto at = std::find_if(loads.begin(), loads.end(),
                                 [micro](const BoundLoad& one) { return one.micro == micro; });
    return at != loads.end() ? &*at : nullptr;
  }
  std::int64_t gradient_samples() const {
    return averages_weights ? samples : global_samples;
  }  // each has 1 / this part of the gradient
};

// Bytes of an arena, and what they are for.
struct ResidentPart {
  MemoryPart part = MemoryPart::other;
  const std::byte* begin = nullptr;  // null: not in the host's memory
  std::int64_t bytes = 0;
};

struct BoundPlan {
  compute::Compute* device = nullptr;  // that runs it
  std::vector<BoundProgram> programs;
  compute::Tensor parameters;  // the rank's own: all, or its part of them
  compute::Tensor metrics, local_norms, statistics, rate;
  bool sums_statistics = false;  // over ranks that update but a part each, after the updates
  compute::Tensor factor;        // of the gradient in the update; empty where it is always 1
  compute::Tensor
      loss_scale;  // fp64 [2] (core/run/loss_scale.h); empty where the loss is not scaled
  compute::Tensor squared_errors;  // of compression, by bucket: what the rank's part of the sums
                                   // lacks; empty without
  compute::Tensor spread;        // of ranks with parameters of their own, by segment: their squared
                                 // distance from the mean; empty without
  double compression_ratio = 0;  // bytes of the gradient / bytes that it is encoded in, of one
                                 // rank; 0: nothing is compressed
  std::vector<compute::Tensor> versions;  // of a server: its share of the parameters, in places for
                                          // several versions; an update goes from one to another
  compute::Tensor given, compensated;     // of one that compensates for delay: what it gave each
                                          // worker last, share by share; a gradient while it does
  std::vector<ResidentPart> memory;       // all that the rank's buffers take, by what it is for
  std::vector<compute::Tensor> moments;  // of the optimizer: of all that the rank updates, wherever
                                         // they are; none where it keeps none
  compute::Tensor
      state;  // what training keeps besides parameters (model::Model::state); may be empty
};

// What a RATE op writes, of `step`: its learning rate, and its number from 1.
inline void write_rate(const BoundPlan& bound, const Recipe& recipe, std::int64_t step) {
  bound.rate.as<double>()[0] = recipe.learning_rate(step);
  bound.rate.as<double>()[1] = static_cast<double>(step + 1);
}

// Where the run is to stop at a gradient that is not finite: a Problem, once an op has left one.
base::Result<void> expect_finite(const BoundOp& op, const BoundPlan& bound, const Recipe& recipe,
                                 const model::Model& model);

// A buffer that lies where another rank of this process has it, and not in the arenas.
struct Lent {
  plan::BufferId buffer;  // none, where nothing is lent
  std::byte* data = nullptr;
};

// What no other rank reads. Where `at_hand` is not null, what would lie before layout's
// result_bytes lies there, and `memory` begins with what comes after it.
struct OwnArena {
  std::span<std::byte> memory;
  std::byte* at_hand = nullptr;

  OwnArena() = default;
  OwnArena(std::span<std::byte> others, std::byte* results = nullptr)
      : memory(others), at_hand(results) {}  // NOLINT(google-explicit-constructor): it is one
};

// What peers read. What would lie from layout's shared_host_bytes on lies at `on_device` instead,
// where that is not null; then `memory` may end there.
struct SharedArena {
  std::span<std::byte> memory;
  std::byte* on_device = nullptr;

  SharedArena() = default;
  SharedArena(std::span<std::byte> all, std::byte* device = nullptr)
      : memory(all), on_device(device) {}  // NOLINT(google-explicit-constructor): it is one
};

// Arenas must be as large as `layout` says, zero at first (the optimizer's state begins so) and
// stay alive; so must what is put aside, null where nothing is, and what is lent. A kernel that
// cannot be prepared is a Problem that names the op.
base::Result<BoundPlan> bind(const plan::RankPlan& plan, const std::vector<plan::Group>& groups,
                             const model::Model& model, const Recipe& recipe,
                             compute::Compute& compute, const OwnArena& own_arena,
                             const SharedArena& shared_arena, const SwapSpace* aside = nullptr,
                             const Lent& lent = {});

}  // namespace trainyard::run
