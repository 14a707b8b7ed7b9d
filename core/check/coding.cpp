// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/check/coding.h"

#include <algorithm>
#include <iterator>

namespace trainyard::check {

using plan::Access;
using plan::Op;
using plan::OpKind;

void Elements::add(std::int64_t first, std::int64_t end) {
  if (first >= end) return;
  auto at = ranges_.upper_bound(first);
  if (at != ranges_.begin() && std::prev(at)->second >= first) --at;
  while (at != ranges_.end() && at->first <= end) {
    first = std::min(first, at->first);
    end = std::max(end, at->second);
    at = ranges_.erase(at);
  }
  ranges_[first] = end;
}

void Elements::remove(std::int64_t first, std::int64_t end) {
  if (!any_of(first, end)) return;
  auto at = ranges_.upper_bound(first);
  if (at != ranges_.begin() && std::prev(at)->second > first) --at;
  while (at != ranges_.end() && at->first < end) {
    const auto [begin, stop] = *at;
    at = ranges_.erase(at);
    if (begin < first) ranges_[begin] = first;
    if (stop > end) ranges_[end] = stop;
  }
}

bool Elements::all_of(std::int64_t first, std::int64_t end) const {
  if (first >= end) return true;
  const auto at = ranges_.upper_bound(first);
  return at != ranges_.begin() && std::prev(at)->second >= end;
}

bool Elements::any_of(std::int64_t first, std::int64_t end) const {
  if (first >= end) return false;
  const auto at = ranges_.lower_bound(end);
  return at != ranges_.begin() && std::prev(at)->second > first;
}

Coding::Coding(const Scope& scope, const std::string& program, Buckets& buckets)
    : buckets_(buckets) {
  for (const plan::RankPlan& rank : scope.ranks) {
    const int number = rank.program(program);
    if (number < 0) continue;
    for (const Op& op : rank.programs[static_cast<std::size_t>(number)].ops) {
      if (op.kind != OpKind::encode && op.kind != OpKind::decode) continue;
      for (const auto* accesses : {&op.reads, &op.writes})
        for (const Access& access : *accesses)
          for (const Overlap& o : overlaps(buckets, rank.rank, access))
            coded_.insert({o.bucket->group, o.bucket->number});
      const auto& gradient = op.kind == OpKind::encode ? op.reads : op.writes;
      if (!gradient.empty()) gradients_.insert({rank.rank, gradient.front().buffer.value});
    }
  }
}

void Coding::read_encoded(std::int32_t rank, const Op& op) {
  for (const Access& access : op.reads)
    if (!overlaps(buckets_, rank, access).empty())
      read_[{rank, access.buffer.value}].add(access.first, access.first + access.count);
}

void Coding::encode(std::int32_t rank, const Op& op) {
  read_encoded(rank, op);
  if (op.reads.empty()) return;
  const Access& gradient = op.reads.front();
  taken_[{rank, gradient.buffer.value}].add(gradient.first, gradient.first + gradient.count);
}

void Coding::decode(std::int32_t rank, const Op& op) {
  read_encoded(rank, op);
  if (op.writes.empty()) return;
  const Access& gradient = op.writes.front();
  taken_[{rank, gradient.buffer.value}].remove(gradient.first, gradient.first + gradient.count);
  decoded_[{rank, gradient.buffer.value}].add(gradient.first, gradient.first + gradient.count);
}

bool Coding::write(std::int32_t rank, const Access& access) {
  if (!is_gradient(rank, access.buffer)) return true;
  const Buffer buffer{rank, access.buffer.value};
  decoded_[buffer].remove(access.first, access.first + access.count);
  return !taken_[buffer].any_of(access.first, access.first + access.count);
}

bool Coding::is_decoded(std::int32_t rank, const Access& access) const {
  const auto at = decoded_.find({rank, access.buffer.value});
  return access.count == 0 ||
         (at != decoded_.end() && at->second.all_of(access.first, access.first + access.count));
}

bool Coding::is_read(const Bucket& bucket, std::int32_t rank) const {
  const Bucket::Home& home = bucket.homes.at(rank);
  const auto at = read_.find({rank, home.buffer.value});
  return home.length() == 0 || (at != read_.end() && at->second.all_of(home.first, home.end));
}

}  // namespace trainyard::check
