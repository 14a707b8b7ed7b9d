// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/plan/liveness.h"

#include <algorithm>

namespace trainyard::plan {
namespace {

// A set of elements of one buffer, as disjoint ranges [first, end) in ascending order.
class Elements {
 public:
  bool empty() const { return spans_.empty(); }

  void add(std::int64_t first, std::int64_t end) {
    if (first >= end) return;
    const auto begins =
        std::lower_bound(spans_.begin(), spans_.end(), first,
                         [](const Span& span, std::int64_t at) { return span.end < at; });
    auto ends = begins;
    for (; ends != spans_.end() && ends->first <= end; ++ends) {
      first = std::min(first, ends->first);
      end = std::max(end, ends->end);
    }
    spans_.insert(spans_.erase(begins, ends), {first, end});
  }

  void remove(std::int64_t first, std::int64_t end) {
    if (first >= end) return;
    const auto begins =
        std::lower_bound(spans_.begin(), spans_.end(), first,
                         [](const Span& span, std::int64_t at) { return span.end <= at; });
    auto ends = begins;
    std::vector<Span> left;
    for (; ends != spans_.end() && ends->first < end; ++ends) {
      if (ends->first < first) left.push_back({ends->first, first});
      if (ends->end > end) left.push_back({end, ends->end});
    }
    const auto at = spans_.erase(begins, ends);
    spans_.insert(at, left.begin(), left.end());
  }

 private:
  struct Span {
    std::int64_t first = 0, end = 0;
  };
  std::vector<Span> spans_;
};

LaneKind kind_of(const RankPlan& rank, LaneId lane) { return rank.lanes[lane.index()].kind; }

// Range of ops in program order during which an op may be in progress. `bounded`: true if compute
// ops of the program determine both ends of the range.
struct UnderWay {
  OpRange ops;
  bool bounded = true;
};

// Returns, for each op, the range of program positions during which it may be in progress. This
// range is longer than the op itself only for ops of copy lanes.
std::vector<UnderWay> under_way_of(const RankPlan& rank, const Program& program) {
  std::vector<UnderWay> all;
  std::vector<std::vector<std::size_t>> of_lane(rank.lanes.size());
  // By copy lane: the earliest position at which its next op may run, right after the latest
  // compute op for which an op of the lane has waited.
  std::vector<std::size_t> from(rank.lanes.size(), 0);
  for (std::size_t i = 0; i < program.ops.size(); ++i) {
    const Op& op = program.ops[i];
    of_lane[op.lane.index()].push_back(i);
    all.push_back({{i, i}});
    if (kind_of(rank, op.lane) != LaneKind::copy) continue;
    for (const Dependency& dependency : op.after)
      if (kind_of(rank, dependency.lane) == LaneKind::compute && dependency.steps_back == 0 &&
          dependency.sequence > 0 &&
          static_cast<std::size_t>(dependency.sequence) <= of_lane[dependency.lane.index()].size())
        from[op.lane.index()] = std::max(
            from[op.lane.index()],
            of_lane[dependency.lane.index()][static_cast<std::size_t>(dependency.sequence) - 1] +
                1);
    all.back() = {{std::min(i, from[op.lane.index()]), program.ops.size() - 1}, false};
  }
  for (std::size_t i = program.ops.size(); i-- > 0;) {
    if (kind_of(rank, program.ops[i].lane) != LaneKind::compute) continue;
    for (const Dependency& dependency : program.ops[i].after) {
      if (kind_of(rank, dependency.lane) != LaneKind::copy || dependency.steps_back > 0) continue;
      const auto& copies = of_lane[dependency.lane.index()];
      const std::size_t count =
          dependency.sequence == Dependency::end
              ? copies.size()
              : std::min(copies.size(), static_cast<std::size_t>(dependency.sequence));
      for (std::size_t c = 0; c < count && copies[c] < i; ++c)
        all[copies[c]] = {{all[copies[c]].ops.first, i - 1}, all[copies[c]].ops.first > 0};
    }
  }
  return all;
}

// Accesses of one op to one buffer, and the range in which the op may be in progress.
struct Touch {
  std::size_t op = 0;
  UnderWay when = {};
  std::vector<Access> reads = {}, writes = {};
};

// Returns the accesses to each buffer, in program order.
std::vector<std::vector<Touch>> touches_of(const RankPlan& rank, const Program& program) {
  std::vector<std::vector<Touch>> all(rank.buffers.size());
  const std::vector<UnderWay> under_way = under_way_of(rank, program);
  for (std::size_t i = 0; i < program.ops.size(); ++i) {
    const auto touch = [&](const Access& access) -> Touch& {
      auto& list = all[access.buffer.index()];
      if (list.empty() || list.back().op != i) list.push_back({i, under_way[i]});
      return list.back();
    };
    for (const Access& read : program.ops[i].reads) touch(read).reads.push_back(read);
    for (const Access& write : program.ops[i].writes) touch(write).writes.push_back(write);
  }
  return all;
}

struct Life {
  std::vector<OpRange> stretches;
  bool is_written_first = true;
};

// Computes liveness backward, from the last op to the first: a read makes elements live before it,
// a write ends liveness before it.
Life life_of(const std::vector<Touch>& touches) {
  Life life;
  Elements wanted;
  for (std::size_t i = touches.size(); i-- > 0;) {
    const OpRange& ops = touches[i].when.ops;
    if (!wanted.empty() || (!life.stretches.empty() && ops.last >= life.stretches.back().first))
      life.stretches.back() = {std::min(ops.first, life.stretches.back().first),
                               std::max(ops.last, life.stretches.back().last)};
    else life.stretches.push_back(ops);
    for (const Access& write : touches[i].writes)
      wanted.remove(write.first, write.first + write.count);
    for (const Access& read : touches[i].reads) wanted.add(read.first, read.first + read.count);
  }
  std::reverse(life.stretches.begin(), life.stretches.end());
  life.is_written_first =
      wanted.empty() && std::all_of(touches.begin(), touches.end(),
                                    [](const Touch& touch) { return touch.when.bounded; });
  return life;
}

bool is_read(const std::vector<Touch>& touches) {
  return std::any_of(touches.begin(), touches.end(),
                     [](const Touch& touch) { return !touch.reads.empty(); });
}

bool meet(const std::vector<OpRange>& a, const std::vector<OpRange>& b) {
  auto in_a = a.begin(), in_b = b.begin();
  while (in_a != a.end() && in_b != b.end()) {
    if (in_a->first <= in_b->last && in_b->first <= in_a->last) return true;
    in_a->last < in_b->last ? ++in_a : ++in_b;
  }
  return false;
}

}  // namespace

Liveness::Liveness(const RankPlan& rank) : written_first_(rank.buffers.size(), true) {
  for (const Program& program : rank.programs) {
    auto& of_program = stretches_.emplace_back();
    const auto touches = touches_of(rank, program);
    for (std::size_t b = 0; b < touches.size(); ++b) {
      Life life = life_of(touches[b]);
      if (!life.is_written_first) written_first_[b] = false;
      if (!is_read(touches[b]) && !life.stretches.empty())
        life.stretches = {{life.stretches.front().first, life.stretches.back().last}};
      of_program.push_back(std::move(life.stretches));
    }
  }
}

bool Liveness::meet(std::size_t a, std::size_t b) const {
  return std::any_of(stretches_.begin(), stretches_.end(),
                     [&](const auto& program) { return plan::meet(program[a], program[b]); });
}

}  // namespace trainyard::plan
