// SPDX-License-Identifier: GPL-3.0-or-later
// What the proof of the meaning asks of layers that are split among ranks. Some ops make but a part
// of what the next ones read: PART a part of a sum, and B, where it has columns (outputs of its
// layer), of the gradient at its input; SOFTMAX of the classes what the loss asks. All ranks of the
// group that sums or gathers these make such a part at once, of columns that are together all there
// are, each once; nobody reads them sooner, nor those of another micro-step. Columns that F makes,
// which nobody sums, are those of whoever reads them (passing.cpp), and over all ranks there are as
// many of each. What changes a sum in place, as an activation does, does so alike on all ranks.
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

// Of one program of all ranks, as it is rehearsed.
class Layers {
 public:
  Layers(const Scope& scope, const std::string& program, Buckets& buckets);

  // Columns that are missing or there twice, and parts that nobody sums or gathers.
  std::optional<Flaw> first_flaw() const { return flaw_; }

  bool split() const { return split_; }
  bool is_summed(const Bucket& bucket) const {
    return buckets_.contains({bucket.group, bucket.number});
  }
  // Whether the op makes the rank's part of what stands there.
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
  struct Part {
    plan::OpKind kind = plan::OpKind::partial;
    std::int32_t segment = -1, micro = -1;
    std::int32_t group = -1;  // that sums or gathers it; -1: none has to
    bool operator<(const Part& other) const {
      return std::tie(kind, segment, micro, group) <
             std::tie(other.kind, other.segment, other.micro, other.group);
    }
  };
  void find(const plan::RankPlan& rank, const plan::Program& program, Buckets& buckets);
  std::int32_t find_buckets(const plan::RankPlan& rank, const plan::Op& op, Buckets& buckets);
  void judge_columns(const Part& part, std::vector<Made> made);
  void judge_members(const Part& part, const std::vector<Made>& made);
  void fail(std::int32_t rank, std::string what);

  const Scope& scope_;
  bool split_ = false;  // layers, and not the features of samples (vertical.h)
  std::map<Part, std::vector<Made>> made_;
  std::set<std::pair<std::int32_t, std::int32_t>> buckets_;  // by group and number
  std::map<std::tuple<std::int32_t, std::int32_t, std::int32_t>, std::int32_t>
      micro_;  // by rank, group and number
  std::optional<Flaw> flaw_;
};

}  // namespace trainyard::check
