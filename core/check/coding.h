// SPDX-License-Identifier: GPL-3.0-or-later
// What the proof of the meaning asks where gradients are compressed, besides sums: every rank's
// part of a bucket is what it encoded of its gradient, after the last change of that; every bucket
// is decoded on every rank; and what is updated was decoded.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "core/check/buckets.h"

namespace trainyard::check {

// Elements of one buffer, as ranges.
class Elements {
 public:
  void add(std::int64_t first, std::int64_t end);
  void remove(std::int64_t first, std::int64_t end);
  bool all_of(std::int64_t first, std::int64_t end) const;
  bool any_of(std::int64_t first, std::int64_t end) const;

 private:
  std::map<std::int64_t, std::int64_t> ranges_;  // first -> end, apart from each other
};

// Of one program of all ranks, as it is rehearsed.
class Coding {
 public:
  Coding(const Scope& scope, const std::string& program, Buckets& buckets);

  // Whether what stands in the bucket is encoded.
  bool is_coded(const Bucket& bucket) const {
    return coded_.contains({bucket.group, bucket.number});
  }
  // Whether a buffer of the rank holds gradients that are encoded, and come back by decoding.
  bool is_gradient(std::int32_t rank, plan::BufferId buffer) const {
    return gradients_.contains({rank, buffer.value});
  }

  void encode(std::int32_t rank, const plan::Op& op);
  void decode(std::int32_t rank, const plan::Op& op);
  // By another op. False: it changes what was encoded, and not decoded yet.
  bool write(std::int32_t rank, const plan::Access& access);
  bool is_decoded(std::int32_t rank, const plan::Access& access) const;
  // Whether a rank has read the whole of a bucket that is encoded.
  bool is_read(const Bucket& bucket, std::int32_t rank) const;

 private:
  using Buffer = std::pair<std::int32_t, std::int32_t>;  // rank, buffer

  void read_encoded(std::int32_t rank, const plan::Op& op);

  Buckets& buckets_;
  std::set<std::pair<std::int32_t, std::int32_t>> coded_;  // by group and number
  std::set<Buffer> gradients_;
  std::map<Buffer, Elements> taken_, decoded_, read_;
};

}  // namespace trainyard::check
