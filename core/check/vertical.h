// SPDX-License-Identifier: GPL-3.0-or-later
// What the proof of the meaning asks of vertical sharding, which is that of a segment with an op
// PART. In every micro-step the columns of all ranks are all columns, each once. What PART writes
// is reduce-scattered, and F reads the sum over all of them, in the rank's own rows; W reads the
// gathered gradients of the rows of all, and its columns are those of PART. All are of one
// micro-step. The buckets of all micro-steps lie in one buffer, so what is asked of them is asked
// when they are read.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/check/buckets.h"

namespace trainyard::check {

// Of one program of all ranks, as it is rehearsed.
class Vertical {
 public:
  Vertical(const Scope& scope, const std::string& program, const Buckets& buckets);

  // Columns that are missing or there twice, and ranks of which one is in another micro-step.
  std::optional<Flaw> first_flaw() const { return flaw_; }

  bool is_exchanged(const Bucket& bucket) const {
    return buckets_.contains({bucket.group, bucket.number});
  }
  // What F and W must read: a bucket of their micro-step, or null where none is exchanged. Of other
  // ops nothing.
  struct Reading {
    const Bucket* bucket = nullptr;
  };
  std::optional<Reading> reading(const plan::Op& op) const;

  // Of PART and of B: whose micro-step stands in a buffer of a rank.
  void write(std::int32_t rank, const plan::Op& op);
  bool of_its_micro_step(std::int32_t rank, const Bucket& bucket, std::int32_t micro) const;

  void read(std::int32_t rank, const Bucket& bucket) { read_.insert({rank, bucket.number}); }
  bool is_read(std::int32_t rank, const Bucket& bucket) const {
    return read_.contains({rank, bucket.number});
  }

 private:
  struct Made {  // what a member puts into a bucket: of which micro-step, and where the columns
                 // count, of which
    std::int32_t micro = -1;
    plan::Columns columns;
  };
  void find_segments(const std::vector<const plan::Program*>& programs);
  void find_makers(std::int32_t rank, const plan::Program& program, const Buckets& buckets);
  void judge(const Buckets& buckets, const Scope& scope);
  void judge_columns(const Bucket& bucket, const std::vector<std::int32_t>& members);
  void judge_columns_of(std::int32_t rank, const plan::Program& program);
  void fail(std::int32_t rank, std::string what);

  std::set<std::int32_t> segments_;  // with an op PART
  std::map<std::pair<std::int32_t, std::int32_t>, std::int32_t>
      buckets_;  // by group and number: its micro-step
  std::map<std::pair<std::int32_t, std::int32_t>, std::map<std::int32_t, Made>>
      makers_;                                              // by group and number, by rank
  std::map<std::int32_t, const Bucket*> sums_, gradients_;  // by micro-step
  std::map<std::pair<std::int32_t, std::int32_t>, std::int32_t>
      stands_;                                            // by rank and buffer: micro-step
  std::set<std::pair<std::int32_t, std::int32_t>> read_;  // rank, bucket
  std::optional<Flaw> flaw_;
};

}  // namespace trainyard::check
