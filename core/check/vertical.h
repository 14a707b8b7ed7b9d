// SPDX-License-Identifier: GPL-3.0-or-later
// Rules for vertical sharding (a segment with an op PART). In every micro-step the columns of the
// ranks cover all columns exactly once. The output of PART is reduce-scattered, and F reads the sum
// over all columns for the rank's rows. W reads the gathered gradients of all rows, and its columns
// are those of PART. All of these sums, gradients and columns must belong to one micro-step. The
// buckets of all micro-steps use the same buffer, so they are checked when an op reads them.
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

// Checks the rules of vertical sharding for one program, on all ranks, while the rehearsal executes
// it.
class Vertical {
 public:
  Vertical(const Scope& scope, const std::string& program, const Buckets& buckets);

  // Returns the first error: missing or duplicate columns, or ranks in different micro-steps.
  std::optional<Flaw> first_flaw() const { return flaw_; }

  bool is_exchanged(const Bucket& bucket) const {
    return buckets_.contains({bucket.group, bucket.number});
  }
  // Returns the bucket that an op F or W must read in its micro-step; null if no bucket is
  // exchanged. Returns nothing for other kinds of ops.
  struct Reading {
    const Bucket* bucket = nullptr;
  };
  std::optional<Reading> reading(const plan::Op& op) const;

  // Records the micro-step of the values that an op (PART or B) writes to a buffer of the rank.
  void write(std::int32_t rank, const plan::Op& op);
  bool of_its_micro_step(std::int32_t rank, const Bucket& bucket, std::int32_t micro) const;

  void read(std::int32_t rank, const Bucket& bucket) { read_.insert({rank, bucket.number}); }
  bool is_read(std::int32_t rank, const Bucket& bucket) const {
    return read_.contains({rank, bucket.number});
  }

 private:
  // Contribution of a member to a bucket: its micro-step, and its columns if it was computed from
  // only some columns.
  struct Made {
    std::int32_t micro = -1;
    plan::Columns columns;
  };
  void find_segments(const std::vector<const plan::Program*>& programs);
  void find_makers(std::int32_t rank, const plan::Program& program, const Buckets& buckets);
  void judge(const Buckets& buckets, const Scope& scope);
  void check_columns(const Bucket& bucket, const std::vector<std::int32_t>& members);
  void check_columns_of(std::int32_t rank, const plan::Program& program);
  void fail(std::int32_t rank, std::string what);

  std::set<std::int32_t> segments_;  // segments with an op PART
  std::map<std::pair<std::int32_t, std::int32_t>, std::int32_t>
      buckets_;  // micro-step of each bucket, by group and bucket number
  std::map<std::pair<std::int32_t, std::int32_t>, std::map<std::int32_t, Made>>
      // contributions to a bucket, by {group, bucket number}, then by rank
      makers_;
  std::map<std::int32_t, const Bucket*> sums_, gradients_;  // buckets by micro-step
  std::map<std::pair<std::int32_t, std::int32_t>, std::int32_t>
      // micro-step to which the contents of a buffer belong, by rank and buffer
      stands_;
  // buckets that an op of the rank read: rank and bucket
  std::set<std::pair<std::int32_t, std::int32_t>> read_;
  std::optional<Flaw> flaw_;
};

}  // namespace trainyard::check
