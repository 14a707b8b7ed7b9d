// SPDX-License-Identifier: GPL-3.0-or-later
// Rules for reduced sums of layers that are split among ranks. Some ops compute only a partial
// result. PART computes one term of the layer's output. B with columns (a range of the layer's
// outputs) computes one term of the layer's input gradient. SOFTMAX computes the loss terms of the
// rank's classes.
//
// A partial result is summed or gathered by a group. All ranks of the group must compute it in the
// same micro-step, and their columns must cover all columns exactly once. No op may read the result
// before it is summed or gathered, or read the result of another micro-step. An op that changes a
// sum in place, such as an activation, must change it on all ranks alike.
//
// Exception: output columns of a forward op (F) that are neither summed nor gathered. passing.cpp
// checks which ops read them. This file only checks that every column is computed by the same
// number of ranks.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "core/check/buckets.h"

namespace trainyard::check {

// Checks the rules of split layers for one program, on all ranks, while the rehearsal executes it.
class Layers {
 public:
  Layers(const Scope& scope, const std::string& program, Buckets& buckets);

  // Returns the first error: missing or duplicate columns, or a partial result that is never summed
  // or gathered.
  std::optional<Flaw> first_flaw() const { return flaw_; }

  bool split() const { return split_; }
  bool is_summed(const Bucket& bucket) const {
    return buckets_.contains({bucket.group, bucket.number});
  }
  // True if the op writes the partial result of a split layer on this rank to the span.
  bool makes(std::int32_t rank, const plan::Op& op, const plan::Access& written) const;

  void write(std::int32_t rank, const Bucket& bucket, std::int32_t micro) {
    micro_[{rank, bucket.group, bucket.number}] = micro;
  }
  bool of_its_micro_step(std::int32_t rank, const Bucket& bucket, std::int32_t micro) const;

 private:
  struct Made {
    std::int32_t rank = 0;
    plan::Columns columns;
  };
  struct PartialResult {
    plan::OpKind kind = plan::OpKind::partial;
    std::int32_t segment = -1, micro = -1;
    std::int32_t group = -1;  // group that sums or gathers the part; -1 if no group must
    bool operator<(const PartialResult& other) const {
      return std::tie(kind, segment, micro, group) <
             std::tie(other.kind, other.segment, other.micro, other.group);
    }
  };
  void find(const plan::RankPlan& rank, const plan::Program& program, Buckets& buckets);
  std::int32_t find_buckets(const plan::RankPlan& rank, const plan::Op& op, Buckets& buckets);
  void check_columns(const PartialResult& part, std::vector<Made> made);
  void check_members(const PartialResult& part, const std::vector<Made>& made);
  void fail(std::int32_t rank, std::string what);

  const Scope& scope_;
  // true if the plan splits layers among ranks; false if it splits the features of samples
  // (vertical.h)
  bool split_ = false;
  std::map<PartialResult, std::vector<Made>> made_;
  // buckets of partial results: group and bucket number
  std::set<std::pair<std::int32_t, std::int32_t>> buckets_;
  std::map<std::tuple<std::int32_t, std::int32_t, std::int32_t>, std::int32_t>
      micro_;  // micro-step of the partial result, by rank, group and bucket number
  std::optional<Flaw> flaw_;
};

}  // namespace trainyard::check
