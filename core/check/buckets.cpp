// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/check/buckets.h"

#include <fmt/core.h>

#include <algorithm>

#include "core/base/units.h"
#include "core/collective/algorithm.h"

namespace trainyard::check {
namespace {

using plan::Access;
using plan::Op;
using plan::OpKind;

const plan::Program* program_of(const plan::RankPlan& rank, const std::string& program) {
  const int number = rank.program(program);
  return number < 0 ? nullptr : &rank.programs[static_cast<std::size_t>(number)];
}

void add_home(Bucket& bucket, std::int32_t rank, const Access& span) {
  const auto [home, added] = bucket.homes.try_emplace(
      rank, Bucket::Home{span.buffer, span.first, span.first + span.count, {}});
  if (added || span.count == 0) return;
  home->second.first = std::min(home->second.first, span.first);
  home->second.end = std::max(home->second.end, span.first + span.count);
}

Bucket& bucket_of(Buckets& buckets, std::int32_t group, std::int32_t number) {
  Bucket& bucket = buckets[{group, number}];
  bucket.group = group;
  bucket.number = number;
  return bucket;
}

void add_homes(Buckets& buckets, const plan::RankPlan& rank, const plan::Program& program,
               const OtherProofs& others) {
  for (const plan::Wanted& wanted : program.wanted) {
    if (wanted.kind == OpKind::mix || others.proves(rank, wanted.kind, wanted.span)) continue;
    Bucket& bucket = bucket_of(buckets, wanted.group, wanted.bucket);
    bucket.wanted = wanted.kind, bucket.root = wanted.root, bucket.row = wanted.row;
    add_home(bucket, rank.rank, wanted.span);
  }
  for (const Op& op : program.ops) {
    if (!plan::communicates(op.kind) || is_mixing_transfer(program, op) ||
        others.proves(rank, collective_of(program, op), span_of(op)))
      continue;
    Bucket& bucket = bucket_of(buckets, op.group, op.bucket);
    if (plan::coarse(op.kind)) bucket.wanted = op.kind, bucket.root = op.peer, bucket.row = op.row;
    add_home(bucket, rank.rank, span_of(op));
  }
}

// Cuts the bucket into cells at the boundaries of the chunks of its members.
void cut_shares(Bucket& bucket, std::size_t members) {
  for (std::size_t p = 0; p < members; ++p) bucket.cuts.push_back(bucket.chunk(members, p).first);
  bucket.cuts.push_back(bucket.homes.begin()->second.length());
}

void cut(Buckets& buckets, std::int32_t rank, const Access& access) {
  for (auto& [key, bucket] : buckets)
    if (const Bucket::Home* home = bucket.home_in(rank, access.buffer))
      bucket.cuts.insert(bucket.cuts.end(),
                         {home->offset(access.first), home->offset(access.first + access.count)});
}

void cut(Buckets& buckets, std::int32_t rank, const plan::Program& program) {
  for (const Op& op : program.ops)
    for (const auto* accesses : {&op.reads, &op.writes})
      for (const Access& access : *accesses) cut(buckets, rank, access);
}

void find_weighted(Buckets& buckets, std::int32_t rank, const plan::Program& program) {
  for (const Op& op : program.ops) {
    if (op.kind != OpKind::weigh) continue;
    for (const Access& access : op.writes)
      for (const Overlap& overlap : overlaps(buckets, rank, access))
        overlap.bucket->is_weighted = true;
  }
}

std::optional<Flaw> flaw_of_member(const Bucket& bucket, std::int32_t member) {
  const auto& [first_rank, first] = *bucket.homes.begin();
  const auto at = bucket.homes.find(member);
  if (at == bucket.homes.end())
    return Flaw{member, fmt::format("the rank has no op for bucket {} of group {}", bucket.number,
                                    bucket.group)};
  const std::int64_t length = at->second.length(), expected = first.length();
  if (length == expected) return std::nullopt;
  return Flaw{member, fmt::format("bucket {} has {} on this rank, but {} on rank {}", bucket.number,
                                  base::counted(length, "element"), expected, first_rank)};
}

bool updates(const plan::RankPlan& rank, const std::string& program) {
  const plan::Program* p = program_of(rank, program);
  return p != nullptr && std::any_of(p->ops.begin(), p->ops.end(),
                                     [](const Op& op) { return op.kind == OpKind::update; });
}

// True for a step without communication between ranks.
bool is_local(const plan::Schedule& schedule, const std::string& program) {
  return schedule.local_steps > 0 && !plan::Schedule::is_averaging(program);
}

bool only_copies(OpKind kind) { return plan::coarse(kind) && !reduces(kind); }

// True if, in all programs, every collective of the group only copies data of one rank (as a
// broadcast does). Such a group may have programs without buckets.
bool group_only_copies(const Scope& scope, std::int32_t group) {
  int handing = 0, others = 0;
  const auto count = [&](std::int32_t of, OpKind kind) {
    if (of == group) ++(only_copies(kind) ? handing : others);
  };
  for (const plan::RankPlan& rank : scope.ranks)
    for (const plan::Program& program : rank.programs) {
      for (const plan::Wanted& wanted : program.wanted) count(wanted.group, wanted.kind);
      for (const Op& op : program.ops)
        if (plan::coarse(op.kind) || program.wanted.empty()) count(op.group, op.kind);
    }
  return handing > 0 && others == 0;
}

// True if the group's sums are gradients of sharded parameters. sharding.cpp checks these sums.
bool scatters(const plan::Program& program, std::int32_t group) {
  return std::any_of(program.ops.begin(), program.ops.end(), [&](const Op& op) {
    return plan::communicates(op.kind) && op.group == group &&
           collective_of(program, op) == OpKind::reduce_scatter;
  });
}

// True if the span is in a buffer that holds values of layers, such as activations. The name of the
// buffer decides, as in a run.
bool is_of_layers(const plan::RankPlan& rank, const Access& span) {
  const std::string& name = rank.buffers[span.buffer.index()].name;
  return name.starts_with("act.s") || name.starts_with("grad.s") || name == "summaries";
}

// True if the group only sums or gathers values of layers, and none of its members has samples.
bool has_no_samples(const Scope& scope, std::int32_t group, const std::string& name) {
  int of_layers = 0, others = 0;
  for (const std::int32_t member : scope.groups[static_cast<std::size_t>(group)].ranks) {
    const plan::RankPlan& rank = scope.rank(member);
    for (const plan::Program& program : rank.programs) {
      const auto passes = [](const Op& op) {
        return op.kind == OpKind::forward || op.kind == OpKind::partial;
      };
      if (program.name == name && std::any_of(program.ops.begin(), program.ops.end(), passes))
        return false;
      for (const plan::Wanted& wanted : program.wanted)
        if (wanted.group == group) ++(is_of_layers(rank, wanted.span) ? of_layers : others);
      for (const Op& op : program.ops)
        if (plan::communicates(op.kind) && op.group == group)
          ++(is_of_layers(rank, span_of(op)) ? of_layers : others);
    }
  }
  return of_layers > 0 && others == 0;
}

std::optional<Flaw> flaw_of_groups(const Scope& scope, std::int32_t rank,
                                   const plan::Program& program, const Buckets& buckets) {
  for (std::size_t g = 0; g < scope.groups.size(); ++g) {
    const bool used = std::any_of(buckets.begin(), buckets.end(), [&](const auto& entry) {
      return entry.first.first == static_cast<std::int32_t>(g);
    });
    if (scope.groups[g].ranks.size() > 1 && scope.groups[g].position(rank) >= 0 && !used &&
        !scatters(program, static_cast<std::int32_t>(g)) &&
        !group_only_copies(scope, static_cast<std::int32_t>(g)) &&
        !has_no_samples(scope, static_cast<std::int32_t>(g), program.name))
      return Flaw{
          rank, fmt::format(
                    "the program updates parameters, but has no bucket that group {} reduces", g)};
  }
  return std::nullopt;
}

}  // namespace

std::int64_t Bucket::Home::offset(std::int64_t element) const {
  return std::clamp(element, first, end) - first;
}

std::size_t Bucket::cell(std::int64_t offset) const {
  return static_cast<std::size_t>(std::lower_bound(cuts.begin(), cuts.end(), offset) -
                                  cuts.begin());
}

std::pair<std::int64_t, std::int64_t> Bucket::chunk(std::size_t members,
                                                    std::size_t position) const {
  return chunk(homes.begin()->second.length(), members, position);
}

std::pair<std::int64_t, std::int64_t> Bucket::chunk(std::int64_t length, std::size_t members,
                                                    std::size_t position) const {
  const auto [first, count] =
      collective::part(length / row, static_cast<int>(members), static_cast<int>(position));
  return {first * row, count * row};
}

Bucket::Home* Bucket::home_in(std::int32_t rank, plan::BufferId buffer) {
  const auto at = homes.find(rank);
  return at == homes.end() || at->second.buffer != buffer ? nullptr : &at->second;
}

bool mixes(const plan::Program& program) {
  return std::any_of(program.wanted.begin(), program.wanted.end(),
                     [](const plan::Wanted& wanted) { return wanted.kind == OpKind::mix; });
}

bool is_mixing_transfer(const plan::Program& program, const Op& op) {
  return std::any_of(program.wanted.begin(), program.wanted.end(), [&](const plan::Wanted& wanted) {
    return wanted.kind == OpKind::mix && wanted.group == op.group && wanted.bucket == op.bucket;
  });
}

OpKind collective_of(const plan::Program& program, const Op& op) {
  if (plan::coarse(op.kind)) return op.kind;
  const auto at =
      std::find_if(program.wanted.begin(), program.wanted.end(), [&](const plan::Wanted& wanted) {
        return wanted.group == op.group && wanted.bucket == op.bucket;
      });
  return at == program.wanted.end() ? OpKind::all_reduce : at->kind;
}

bool OtherProofs::proves(const plan::RankPlan& rank, OpKind collective, const Access& span) const {
  if (collective == OpKind::broadcast) return broadcasts;
  if (!shards || (collective != OpKind::all_gather && collective != OpKind::reduce_scatter))
    return false;
  const std::string& name = rank.buffers[span.buffer.index()].name;
  return name == "params" || name == "grads";
}

OtherProofs elsewhere(const Scope& scope, const std::string& program) {
  return {splits_layers(scope, program), shares_parameters(scope)};
}

const Access& span_of(const Op& op) {
  return op.kind == OpKind::send || op.kind == OpKind::reduce_many ? op.reads.front()
                                                                   : op.writes.front();
}

bool reduces(OpKind kind) {
  return kind == OpKind::all_reduce || kind == OpKind::reduce_scatter || kind == OpKind::reduce;
}

Buckets buckets_of(const Scope& scope, const std::string& program) {
  Buckets buckets;
  const OtherProofs others = elsewhere(scope, program);
  for (const plan::RankPlan& rank : scope.ranks)
    if (const plan::Program* p = program_of(rank, program)) add_homes(buckets, rank, *p, others);
  for (const plan::RankPlan& rank : scope.ranks)
    if (const plan::Program* p = program_of(rank, program)) cut(buckets, rank.rank, *p);
  for (auto& [key, bucket] : buckets) {
    cut_shares(bucket, scope.groups[static_cast<std::size_t>(bucket.group)].ranks.size());
    std::sort(bucket.cuts.begin(), bucket.cuts.end());
    bucket.cuts.erase(std::unique(bucket.cuts.begin(), bucket.cuts.end()), bucket.cuts.end());
  }
  for (const plan::RankPlan& rank : scope.ranks)
    if (const plan::Program* p = program_of(rank, program)) find_weighted(buckets, rank.rank, *p);
  return buckets;
}

std::vector<Overlap> overlaps(Buckets& buckets, std::int32_t rank, const Access& access) {
  std::vector<Overlap> list;
  for (auto& [key, bucket] : buckets) {
    Bucket::Home* home = bucket.home_in(rank, access.buffer);
    if (home == nullptr) continue;
    const std::int64_t first = home->offset(access.first),
                       end = home->offset(access.first + access.count);
    if (first < end) list.push_back({&bucket, home, bucket.cell(first), bucket.cell(end)});
  }
  return list;
}

std::optional<Flaw> first_flaw(const Scope& scope, const std::string& program,
                               const Buckets& buckets) {
  for (const auto& [key, bucket] : buckets)
    for (const std::int32_t member : scope.groups[static_cast<std::size_t>(bucket.group)].ranks)
      if (auto flaw = flaw_of_member(bucket, member)) return flaw;
  for (const plan::RankPlan& rank : scope.ranks) {
    if (!updates(rank, program) || mixes(*program_of(rank, program)) || !rank.pairs.empty() ||
        is_local(scope.schedule, program))
      continue;
    if (auto flaw = flaw_of_groups(scope, rank.rank, *program_of(rank, program), buckets))
      return flaw;
  }
  return std::nullopt;
}

}  // namespace trainyard::check
