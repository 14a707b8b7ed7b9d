// SPDX-License-Identifier: GPL-3.0-or-later
// Sharding: which rank trains on which samples, or on which features. With every kind, every epoch
// uses every sample exactly once over all ranks. With iid, samples are reassigned every epoch, and
// with vertical, each rank has some feature columns of every sample. In both cases n ranks are
// equivalent to one device. With the other kinds each rank owns a shard for the full run, as if
// data could not leave the place of its origin. Training is then not equivalent to one device.
#pragma once

#include "core/base/field_table.h"

namespace trainyard::data {

enum class ShardingKind {
  // Every global batch is a slice of one permutation, and a rank's part is a slice of the batch.
  iid,
  contiguous,  // A rank owns a contiguous block of the file, or of the order of generation.
  // Each class is divided among ranks by a Dirichlet distribution (Yurochkin et al. 2019, ICML).
  label_skew,
  // Shards have the same mix of classes, with sizes falling geometrically from rank 0 to the last.
  size_skew,
  // A rank has some feature columns of all samples. The first layer sums over the columns of all
  // ranks; after it, rows are divided among ranks as with iid.
  vertical,
};

struct ShardingSpec {
  ShardingKind kind = ShardingKind::iid;
  // Dirichlet concentration for label_skew. With a small alpha, few ranks own samples of a class.
  // With a large alpha, all ranks own a similar mix of classes.
  double alpha = 0.5;
  double size_ratio = 4;  // size_skew: (samples of rank 0) / (samples of the last rank).
  std::int64_t seed = 1;  // Only for label_skew and size_skew.

  bool operator==(const ShardingSpec&) const = default;
};

// True if a rank keeps its samples for the full run.
inline bool owns_samples(const ShardingSpec& spec) {
  return spec.kind != ShardingKind::iid && spec.kind != ShardingKind::vertical;
}

// True if a rank has only some feature columns of every sample.
inline bool owns_columns(const ShardingSpec& spec) { return spec.kind == ShardingKind::vertical; }

}  // namespace trainyard::data

template <>
struct trainyard::base::Names<trainyard::data::ShardingKind> {
  using Kind = trainyard::data::ShardingKind;
  static constexpr std::pair<Kind, std::string_view> table[] = {{Kind::iid, "iid"},
                                                                {Kind::contiguous, "contiguous"},
                                                                {Kind::label_skew, "label_skew"},
                                                                {Kind::size_skew, "size_skew"},
                                                                {Kind::vertical, "vertical"}};
};

template <>
struct trainyard::base::Fields<trainyard::data::ShardingSpec> {
  using S = trainyard::data::ShardingSpec;
  using Kind = trainyard::data::ShardingKind;
  static constexpr std::string_view title = "Sharding";
  static auto table() {
    return std::tuple{
        field("kind", &S::kind, "", {},
              "Sharding of samples; iid: all samples are reassigned each epoch; contiguous: each "
              "rank owns a contiguous block; label_skew: classes differ by rank; size_skew: shard "
              "sizes differ; vertical: each rank has some feature columns of every sample, for a "
              "linear first layer. With contiguous, label_skew and size_skew, n ranks are not "
              "equivalent to one device"),
        field("alpha", &S::alpha, "", {0.001, 1e6},
              "Dirichlet concentration: at 0.1 a rank has few classes, at 100 ranks have nearly "
              "the same mix",
              [](const S& s) { return s.kind == Kind::label_skew; }),
        field("size_ratio", &S::size_ratio, "", {1, 1e6},
              "Ratio of the shard sizes of the first and the last rank. Sizes between fall "
              "geometrically",
              [](const S& s) { return s.kind == Kind::size_skew; }),
        field("seed", &S::seed, "", {0, 9e15}, "Random seed of the sample assignment",
              [](const S& s) { return s.kind == Kind::label_skew || s.kind == Kind::size_skew; })};
  }
};
