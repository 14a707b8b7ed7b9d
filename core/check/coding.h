// SPDX-License-Identifier: GPL-3.0-or-later
// Rules of the proof of meaning for compressed gradients, besides sums. Every rank's contribution
// to a bucket is encoded from its gradient after the gradient's last change. Every bucket is
// decoded on every rank. Updates read decoded values.
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
  std::map<std::int64_t, std::int64_t> ranges_;  // first -> end, disjoint
};

// State of one program of all ranks during the rehearsal.
class Coding {
 public:
  Coding(const Scope& scope, const std::string& program, Buckets& buckets);

  // True if the bucket's contents are encoded.
  bool is_coded(const Bucket& bucket) const {
    return coded_.contains({bucket.group, bucket.number});
  }
  // True if a buffer of the rank holds gradients that are encoded, and written back by decoding.
  bool is_gradient(std::int32_t rank, plan::BufferId buffer) const {
    return gradients_.contains({rank, buffer.value});
  }

  void encode(std::int32_t rank, const plan::Op& op);
  void decode(std::int32_t rank, const plan::Op& op);
  // Records a write by another op. Returns false if the write changes elements that were encoded
  // and not decoded yet.
  bool write(std::int32_t rank, const plan::Access& access);
  bool is_decoded(std::int32_t rank, const plan::Access& access) const;
  // True if the rank has read all of an encoded bucket.
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
