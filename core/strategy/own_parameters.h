// SPDX-License-Identifier: GPL-3.0-or-later
// What strategies have in common whose ranks train parameters of their own: all sum them to the
// mean, bucket by bucket, by an all-reduce of one n-th of each rank's; by the mean, or by what a
// strategy puts in its place, all evaluate and end; and each says how far it is from the mean.
#pragma once

#include <utility>
#include <vector>

#include "core/strategy/edit.h"
#include "core/strategy/replica.h"

namespace trainyard::strategy {

// What is read counts so much of `denominator`, in what is written.
plan::Op mix(std::vector<plan::Access> reads, std::vector<std::int64_t> numerators,
             std::int64_t denominator, const plan::Access& write);

// Of one rank, whose plan is a replica's. Buffers: mean, of all ranks' parameters, which peers
// read; spread, fp64, by segment the squared distance from it. A comm lane of `group`, which is of
// all `ranks`.
class MeanOfRanks {
 public:
  MeanOfRanks(plan::RankPlan& plan, const experiment::Resolved& experiment,
              const std::vector<Bucket>& buckets, std::int32_t group);

  const plan::Access& buffer() const { return mean_; }
  plan::LaneId lane() const { return lane_; }
  plan::Access in_bucket(const plan::Access& flat, std::int32_t bucket) const;
  plan::Access in_segment(const plan::Access& flat, int segment) const;
  std::int32_t bucket_count() const { return static_cast<std::int32_t>(buckets_.size()); }
  std::int32_t bucket_of(int segment) const;

  // What a rank adds to the mean of a bucket. The first to do so waits for the mean before: peers
  // read what a rank adds until the last one is made everywhere.
  plan::Op addend(std::int32_t bucket) const;
  plan::Op all_reduce(std::int32_t bucket, std::int32_t after_compute_ops) const;

  // The program "average": the mean, and the rank's distance from it; `scratch` is as long as the
  // parameters, and nobody reads what was in it.
  std::vector<plan::Op> average(const plan::Access& scratch) const;
  void evaluate_by(plan::Program& program, const plan::Access& parameters) const;
  std::vector<plan::Op> copy(const plan::Access& from,
                             const plan::Access& to) const;  // segment by segment
  std::vector<plan::Op> end(
      const plan::Access& parameters) const;  // all end with these, once the last mean is made

  // Segments with parameters, bucket by bucket: `visit(segment, whether it is the first of its
  // bucket)`.
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
  plan::Access parameters_, mean_, spread_;
  plan::LaneId lane_;
};

}  // namespace trainyard::strategy
