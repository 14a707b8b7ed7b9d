// SPDX-License-Identifier: GPL-3.0-or-later
// Common part of strategies in which every rank trains parameters of its own. To form the mean,
// bucket by bucket, each rank scales its parameters by its weight, and an all-reduce sums the
// scaled parameters. All ranks evaluate and end with the mean, or with other common parameters such
// as the center of elastic averaging. Each rank reports its distance from the mean.
#pragma once

#include <utility>
#include <vector>

#include "core/strategy/edit.h"
#include "core/strategy/replica.h"

namespace trainyard::strategy {

// Returns an op that writes a weighted sum of the spans in `reads`. The weight of span i is
// `numerators`[i] / `denominator`.
plan::Op mix(std::vector<plan::Access> reads, std::vector<std::int64_t> numerators,
             std::int64_t denominator, const plan::Access& write);

// Weights of the ranks in their mean.
enum class Weighting {
  uniform,     // 1/n for each of n ranks
  by_samples,  // fraction of the samples since the last mean (plan/sample_count.h)
};

// Adds the mean of all ranks' parameters to the plan of a rank with a replica. Buffers: "mean",
// which peers read; "spread" (fp64), the squared distance from the mean by segment. Adds a comm
// lane for `group`, which contains all ranks.
class MeanOfRanks {
 public:
  MeanOfRanks(plan::RankPlan& plan, const experiment::Resolved& experiment,
              const std::vector<Bucket>& buckets, std::int32_t group,
              Weighting weighting = Weighting::uniform);

  const plan::Access& buffer() const { return mean_; }
  plan::LaneId lane() const { return lane_; }
  plan::Access in_bucket(const plan::Access& flat, std::int32_t bucket) const;
  plan::Access in_segment(const plan::Access& flat, int segment) const;
  std::int32_t bucket_count() const { return static_cast<std::int32_t>(buckets_.size()); }
  std::int32_t bucket_of(int segment) const;

  // Returns the op that writes a bucket of the rank's parameters, multiplied by the rank's weight,
  // to the buffer that is then all-reduced. The first such op of a mean waits until the previous
  // mean is complete on all ranks: until then, peers may read the buffer.
  plan::Op addend(std::int32_t bucket) const;
  plan::Op all_reduce(std::int32_t bucket, std::int32_t after_compute_ops) const;

  // Returns the program "average", which computes the mean and the rank's distance from it.
  // `scratch` must be as long as the parameters; its contents are overwritten.
  std::vector<plan::Op> average(const plan::Access& scratch) const;
  void evaluate_with(plan::Program& program, const plan::Access& parameters) const;
  std::vector<plan::Op> copy(const plan::Access& from,
                             const plan::Access& to) const;  // one op per segment
  // returns the ops that copy `parameters` (such as the mean) to the rank's parameters at the end
  // of the run
  std::vector<plan::Op> end(const plan::Access& parameters) const;

  // Calls `visit` for every segment with parameters, bucket by bucket, with the segment and whether
  // it is the first one of its bucket.
  template <class Visit>
  void for_each_segment(Visit visit) const {
    for (const Bucket& one : buckets_) {
      bool first = true;
      for (int s = one.last_segment; s >= one.first_segment; --s)
        if (segments_[static_cast<std::size_t>(s)].elements > 0)
          visit(s, std::exchange(first, false));
    }
  }

 private:
  void add_distance(int segment, bool first_of_bucket, const plan::Access& scratch,
                    std::vector<plan::Op>& ops) const;

  const std::vector<Bucket>& buckets_;
  const std::vector<model::Segment>& segments_;
  std::int32_t rank_, ranks_, group_;
  Weighting weighting_;
  plan::Access parameters_, mean_, spread_;
  plan::LaneId lane_;
};

}  // namespace trainyard::strategy
