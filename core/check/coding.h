// SPDX-License-Identifier: GPL-3.0-or-later
// Additional rules for reduced sums of compressed gradients. Every rank encodes its contribution to
// a bucket after the last change of its gradient. Every rank decodes every bucket. Updates read
// decoded values.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "core/check/buckets.h"

namespace trainyard::check {

// Set of elements of one buffer, as ranges.
class Elements {
 public:
  void add(std::int64_t first, std::int64_t end);
  void remove(std::int64_t first, std::int64_t end);
  bool all_of(std::int64_t first, std::int64_t end) const;
  bool any_of(std::int64_t first, std::int64_t end) const;

 private:
  std::map<std::int64_t, std::int64_t> ranges_;  // disjoint ranges, from first element to end
};

// Checks the compression rules for one program, on all ranks, while the rehearsal executes it.
class Coding {
 public:
  Coding(const Scope& scope, const std::string& program, Buckets& buckets);

  // True if the bucket's contents are encoded.
  bool is_coded(const Bucket& bucket) const {
    return coded_.contains({bucket.group, bucket.number});
  }
  // True if the buffer holds gradients that this rank encodes, and into which it decodes.
  bool is_gradient(std::int32_t rank, plan::BufferId buffer) const {
    return gradients_.contains({rank, buffer.value});
  }

  void encode(std::int32_t rank, const plan::Op& op);
  void decode(std::int32_t rank, const plan::Op& op);
  // Records a write by an op that neither encodes nor decodes. Returns false if the op changes
  // elements that were encoded but not decoded yet.
  bool write(std::int32_t rank, const plan::Access& access);
  bool is_decoded(std::int32_t rank, const plan::Access& access) const;
  // True if the rank has decoded the full bucket.
  bool is_read(const Bucket& bucket, std::int32_t rank) const;

 private:
  using Buffer = std::pair<std::int32_t, std::int32_t>;  // rank and buffer

  void read_encoded(std::int32_t rank, const plan::Op& op);

  Buckets& buckets_;
  // encoded buckets: group and bucket number
  std::set<std::pair<std::int32_t, std::int32_t>> coded_;
  std::set<Buffer> gradients_;
  std::map<Buffer, Elements> taken_, decoded_, read_;
};

}  // namespace trainyard::check
