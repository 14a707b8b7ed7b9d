// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/check/statistics.h"

#include <algorithm>

namespace trainyard::check {
namespace {

using plan::Access;
using plan::BufferId;
using plan::Op;
using plan::OpKind;

bool touches(const std::vector<Access>& accesses, BufferId buffer) {
  return std::any_of(accesses.begin(), accesses.end(),
                     [&](const Access& access) { return access.buffer == buffer; });
}

void add_new(std::vector<Access>& list, const Access& access) {
  if (std::find(list.begin(), list.end(), access) == list.end()) list.push_back(access);
}

// True if op B of the segment reads the buffer, and no op of another segment writes it. Such a
// buffer passes values from one backward op of the segment to the other.
bool is_between(const plan::Program& program, std::int32_t segment, BufferId buffer) {
  bool read = false;
  for (const Op& op : program.ops) {
    if (plan::communicates(op.kind)) continue;
    if (op.segment != segment && touches(op.writes, buffer)) return false;
    read = read || (op.kind == OpKind::backward_input && op.segment == segment &&
                    touches(op.reads, buffer));
  }
  return read;
}

}  // namespace

Statistics::Statistics(const Scope& scope, const std::string& program) {
  for (const plan::RankPlan& rank : scope.ranks) {
    const int number = rank.program(program);
    if (number >= 0) find(rank, rank.programs[static_cast<std::size_t>(number)]);
  }
}

void Statistics::find(const plan::RankPlan& rank, const plan::Program& program) {
  for (const Op& op : program.ops) {
    if (op.kind != OpKind::statistics) continue;
    ranks_[op.segment].insert(rank.rank);
    for (const Access& write : op.writes) add_new(sums_[{rank.rank, op.segment}].of_inputs, write);
  }
  for (const Op& op : program.ops) {
    const auto at = sums_.find({rank.rank, op.segment});
    if (op.kind != OpKind::backward_weight || at == sums_.end()) continue;
    for (const Access& write : op.writes)
      if (is_between(program, op.segment, write.buffer)) add_new(at->second.of_gradients, write);
  }
  for (const auto& [key, sums] : sums_)
    for (const auto* accesses : {&sums.of_inputs, &sums.of_gradients})
      for (const Access& access : *accesses)
        if (key.first == rank.rank) buffers_.insert({rank.rank, access.buffer.value});
}

bool Statistics::is_summed(const Bucket& bucket) const {
  return std::any_of(bucket.homes.begin(), bucket.homes.end(), [&](const auto& entry) {
    return buffers_.contains({entry.first, entry.second.buffer.value});
  });
}

const Statistics::Sums* Statistics::sums_of(std::int32_t rank, const Op& op) const {
  const bool passes = op.kind == OpKind::forward || op.kind == OpKind::recompute ||
                      op.kind == OpKind::backward_weight || op.kind == OpKind::backward_input;
  if (!passes) return nullptr;
  const auto at = sums_.find({rank, op.segment});
  return at == sums_.end() ? nullptr : &at->second;
}

std::vector<Access> Statistics::wanted(std::int32_t rank, const Op& op) const {
  const Sums* sums = sums_of(rank, op);
  if (sums == nullptr) return {};
  std::vector<Access> list = sums->of_inputs;
  if (op.kind == OpKind::backward_input)
    list.insert(list.end(), sums->of_gradients.begin(), sums->of_gradients.end());
  return list;
}

bool Statistics::lacks_gradient_sums(std::int32_t rank, const Op& op) const {
  const Sums* sums = sums_of(rank, op);
  return sums != nullptr && op.kind == OpKind::backward_input && sums->of_gradients.empty();
}

bool Statistics::over_all(const std::vector<std::int32_t>& members, std::int32_t segment) const {
  const auto at = ranks_.find(segment);
  return at == ranks_.end() ||
         std::all_of(at->second.begin(), at->second.end(), [&](std::int32_t rank) {
           return std::find(members.begin(), members.end(), rank) != members.end();
         });
}

void Statistics::write(std::int32_t rank, const Op& op) {
  for (const Access& access : op.writes)
    if (buffers_.contains({rank, access.buffer.value}))
      micro_[{rank, access.buffer.value}] = op.micro;
}

bool Statistics::of_its_micro_step(std::int32_t rank, const Op& op, const Access& sums) const {
  const auto at = micro_.find({rank, sums.buffer.value});
  return at != micro_.end() && at->second == op.micro;
}

}  // namespace trainyard::check
