// SPDX-License-Identifier: GPL-3.0-or-later
// Meaning, by symbolic execution. A rank's own ops write its contribution, a leaf, into the spans of its buckets; receives
// replace or add what the sender holds. In the end every element of a bucket is a tree that holds every member exactly once,
// equal on all members, and an update or norm reads nothing else of a buffer that is reduced.
#include <algorithm>
#include <set>

#include "core/check/expressions.h"
#include "core/check/proofs.h"

namespace trainyard::check {
namespace {

using At = plan::Rehearsal::At;
using plan::Access;
using plan::Op;
using plan::OpKind;

const Access& span_of(const Op& op) { return op.kind == OpKind::send ? op.reads.front() : op.writes.front(); }
bool uses_sum(OpKind kind) { return kind == OpKind::update || kind == OpKind::norm; }

// A bucket on all members of its group, cut where any op of any member starts or ends: within a cell all is alike.
struct Bucket {
  std::int32_t group = 0, number = 0;
  struct Home {  // on one rank
    plan::BufferId buffer;
    std::int64_t first = 0, end = 0;
    std::vector<int> cells;  // expressions
  };
  std::map<std::int32_t, Home> homes;  // by rank
  std::vector<std::int64_t> cuts;      // elements from the bucket's start

  std::size_t cell(std::int64_t element) const { return static_cast<std::size_t>(std::lower_bound(cuts.begin(), cuts.end(), element) - cuts.begin()); }
};

struct Overlap {
  Bucket* bucket;
  Bucket::Home* home;
  std::size_t first, last;  // cells
};

// One program of all ranks.
class Execution {
 public:
  Execution(const Scope& scope, std::string program, Findings& findings)
      : scope_(scope), program_(std::move(program)), findings_(findings), expressions_(scope.ranks.size()) {
    for (const plan::RankPlan& rank : scope.ranks)
      if (const plan::Program* p = program_of(rank)) find_buckets(rank, *p);
    for (const plan::RankPlan& rank : scope.ranks)
      if (const plan::Program* p = program_of(rank)) cut(rank, *p);
    for (auto& [key, bucket] : buckets_) {
      std::sort(bucket.cuts.begin(), bucket.cuts.end());
      bucket.cuts.erase(std::unique(bucket.cuts.begin(), bucket.cuts.end()), bucket.cuts.end());
      for (auto& [rank, home] : bucket.homes) home.cells.assign(bucket.cuts.size(), expressions_.leaf(rank));
    }
  }

  bool sensible() {
    for (const auto& [key, bucket] : buckets_)
      for (const std::int32_t member : scope_.groups[static_cast<std::size_t>(bucket.group)].ranks)
        if (!same_length(bucket, member)) return false;
    return groups_used();
  }

  // What an event of this program means. False: a finding was made, and what follows would be noise.
  bool step(const plan::Rehearsal::Event& event) {
    const Op& op = scope_.op(event.at);
    if (!event.completes) return true;
    if (!plan::communicates(op.kind)) return local(event.at, op);
    if (op.kind == OpKind::all_reduce) return reduce_all(event);
    return receive(event, op);
  }

  void finish() {
    for (const auto& [key, bucket] : buckets_)
      for (const auto& [rank, home] : bucket.homes)
        if (!as_it_should(bucket, rank, home)) return;
  }

 private:
  const plan::Program* program_of(const plan::RankPlan& rank) const {
    const int number = rank.program(program_);
    return number < 0 ? nullptr : &rank.programs[static_cast<std::size_t>(number)];
  }

  void find_buckets(const plan::RankPlan& rank, const plan::Program& program) {
    for (const Op& op : program.ops) {
      if (!plan::communicates(op.kind)) continue;
      const Access& span = span_of(op);
      Bucket& bucket = buckets_[{op.group, op.bucket}];
      bucket.group = op.group;
      bucket.number = op.bucket;
      const auto [home, added] = bucket.homes.try_emplace(rank.rank, Bucket::Home{span.buffer, span.first, span.first + span.count, {}});
      if (added || span.count == 0) continue;
      home->second.first = std::min(home->second.first, span.first);
      home->second.end = std::max(home->second.end, span.first + span.count);
    }
  }

  void cut(const plan::RankPlan& rank, const plan::Program& program) {
    for (const Op& op : program.ops)
      for (const auto* accesses : {&op.reads, &op.writes})
        for (const Access& access : *accesses)
          for (auto& [key, bucket] : buckets_) {
            const auto home = bucket.homes.find(rank.rank);
            if (home == bucket.homes.end() || home->second.buffer != access.buffer) continue;
            const Bucket::Home& h = home->second;
            const std::int64_t first = std::clamp(access.first, h.first, h.end), end = std::clamp(access.first + access.count, h.first, h.end);
            bucket.cuts.insert(bucket.cuts.end(), {first - h.first, end - h.first});
          }
  }

  std::vector<Overlap> overlaps(std::int32_t rank, const Access& access) {
    std::vector<Overlap> list;
    for (auto& [key, bucket] : buckets_) {
      const auto at = bucket.homes.find(rank);
      if (at == bucket.homes.end() || at->second.buffer != access.buffer) continue;
      Bucket::Home& home = at->second;
      const std::int64_t first = std::clamp(access.first, home.first, home.end), end = std::clamp(access.first + access.count, home.first, home.end);
      if (first < end) list.push_back({&bucket, &home, bucket.cell(first - home.first), bucket.cell(end - home.first)});
    }
    return list;
  }

  bool report(const At& at, const std::string& what, std::string advice) {
    findings_.add(Proof::meaning, at, what, "the sum over all members, each once, added alike on all ranks", std::move(advice));
    return false;
  }
  bool report(std::int32_t rank, int op, const std::string& what) {
    findings_.add(Proof::meaning, Spot{rank, program_, op}, what, "the sum over all members, each once, added alike on all ranks", "");
    return false;
  }

  bool same_length(const Bucket& bucket, std::int32_t member) {
    const auto& [first_rank, first] = *bucket.homes.begin();
    const auto at = bucket.homes.find(member);
    const std::string name = "bucket " + std::to_string(bucket.number);
    if (at == bucket.homes.end()) return report(member, -1, "takes no part in " + name + " of its group");
    const std::int64_t length = at->second.end - at->second.first, expected = first.end - first.first;
    return length == expected ||
           report(member, -1,
                  name + " has " + std::to_string(length) + " elements here and " + std::to_string(expected) + " on rank " + std::to_string(first_rank));
  }

  // Where parameters are updated, every group of a rank that has others in it has its part.
  bool groups_used() {
    for (const plan::RankPlan& rank : scope_.ranks) {
      const plan::Program* program = program_of(rank);
      if (program == nullptr || std::none_of(program->ops.begin(), program->ops.end(), [](const Op& op) { return op.kind == OpKind::update; })) continue;
      for (std::size_t g = 0; g < scope_.groups.size(); ++g) {
        const bool used = std::any_of(buckets_.begin(), buckets_.end(), [&](const auto& entry) { return entry.first.first == static_cast<std::int32_t>(g); });
        if (scope_.groups[g].ranks.size() > 1 && scope_.groups[g].position(rank.rank) >= 0 && !used)
          return report(rank.rank, -1, "updates parameters, but group " + std::to_string(g) + " sums nothing");
      }
    }
    return true;
  }

  bool local(const At& at, const Op& op) {
    for (const Access& access : op.reads)
      if (uses_sum(op.kind) && !reads_sum(at, access)) return false;
    for (const Access& access : op.writes)
      for (const Overlap& o : overlaps(at.rank, access))
        std::fill(o.home->cells.begin() + static_cast<std::ptrdiff_t>(o.first), o.home->cells.begin() + static_cast<std::ptrdiff_t>(o.last),
                  expressions_.leaf(at.rank));
    return true;
  }

  bool reads_sum(const At& at, const Access& access) {
    std::int64_t covered = 0;
    for (const Overlap& o : overlaps(at.rank, access)) {
      covered += o.bucket->cuts[o.last] - o.bucket->cuts[o.first];
      for (std::size_t c = o.first; c < o.last; ++c)
        if (!complete(*o.bucket, o.home->cells[c]))
          return report(at, "reads " + partial(*o.bucket, o.home->cells[c]), "Let it wait for the all-reduce of its bucket.");
    }
    const bool reduced = std::any_of(buckets_.begin(), buckets_.end(), [&](const auto& entry) {
      const auto home = entry.second.homes.find(at.rank);
      return home != entry.second.homes.end() && home->second.buffer == access.buffer;
    });
    return !reduced || covered == access.count ||
           report(at,
                  "reads " + range_text(scope_.rank(at.rank), access) + ", of which " + std::to_string(access.count - covered) + " elements are in no bucket",
                  "Cover the whole gradient with buckets.");
  }

  bool complete(const Bucket& bucket, int expression) const {
    return expressions_.holds_exactly(expression, scope_.groups[static_cast<std::size_t>(bucket.group)].ranks);
  }
  std::string partial(const Bucket& bucket, int expression) const {
    return "elements of bucket " + std::to_string(bucket.number) + " that hold " + std::to_string(expressions_.count(expression)) + " of " +
           std::to_string(scope_.groups[static_cast<std::size_t>(bucket.group)].ranks.size()) + " members";
  }

  bool receive(const plan::Rehearsal::Event& event, const Op& op) {
    const At& at = event.at;
    Bucket& bucket = buckets_.at({op.group, op.bucket});
    const Access& span = span_of(op);
    const std::int64_t first = span.first - bucket.homes.at(at.rank).first;
    for (const At& source : scope_.run.sources_of(event)) {
      const Op& send = scope_.op(source);
      if (const std::int64_t from = span_of(send).first - bucket.homes.at(source.rank).first; from != first)
        return report(at,
                      "puts elements from " + std::to_string(from) + " on of bucket " + std::to_string(op.bucket) + ", sent by " + plan::token(send) +
                          " of rank " + std::to_string(source.rank) + ", to " + std::to_string(first),
                      "Give the chunk one range at both ends.");
    }
    for (std::size_t c = bucket.cell(first), last = bucket.cell(first + span.count); c < last; ++c) {
      const auto value = received(event, op, bucket, c);
      if (!value) return report(at, "adds a contribution that is in the sum already", "Send and add every chunk once.");
      bucket.homes.at(at.rank).cells[c] = *value;
    }
    return true;
  }

  std::optional<int> received(const plan::Rehearsal::Event& event, const Op& op, const Bucket& bucket, std::size_t cell) {
    const auto held = [&](std::int32_t rank) { return bucket.homes.at(rank).cells[cell]; };
    if (op.kind == OpKind::reduce_many) return sum_over(bucket, cell);
    const int incoming = held(scope_.run.sources_of(event).front().rank);
    return op.kind == OpKind::recv ? std::optional(incoming) : expressions_.add(held(event.at.rank), incoming);
  }

  std::optional<int> sum_over(const Bucket& bucket, std::size_t cell) {
    std::vector<int> summands;
    for (const std::int32_t member : scope_.groups[static_cast<std::size_t>(bucket.group)].ranks) summands.push_back(bucket.homes.at(member).cells[cell]);
    return expressions_.sum(summands);
  }

  bool reduce_all(const plan::Rehearsal::Event& event) {
    const Op& op = scope_.op(event.at);
    Bucket& bucket = buckets_.at({op.group, op.bucket});
    for (std::size_t c = 0; c + 1 < bucket.cuts.size(); ++c) {
      const auto sum = sum_over(bucket, c);
      if (!sum) return report(event.at, "adds a contribution that is in the sum already", "Reduce every bucket once.");
      for (auto& [rank, home] : bucket.homes) home.cells[c] = *sum;
    }
    return true;
  }

  bool as_it_should(const Bucket& bucket, std::int32_t rank, const Bucket::Home& home) {
    const auto& [first_rank, first] = *bucket.homes.begin();
    for (std::size_t c = 0; c + 1 < bucket.cuts.size(); ++c) {
      if (!complete(bucket, home.cells[c])) return report(rank, last_op(rank, bucket), "ends with " + partial(bucket, home.cells[c]));
      if (home.cells[c] != first.cells[c])
        return report(rank, last_op(rank, bucket),
                      "adds up bucket " + std::to_string(bucket.number) + " in another order than rank " + std::to_string(first_rank));
    }
    return true;
  }
  int last_op(std::int32_t rank, const Bucket& bucket) const {
    const auto& ops = program_of(scope_.rank(rank))->ops;
    const auto at = std::find_if(ops.rbegin(), ops.rend(),
                                 [&](const Op& op) { return plan::communicates(op.kind) && op.group == bucket.group && op.bucket == bucket.number; });
    return static_cast<int>(ops.rend() - at) - 1;
  }

  const Scope& scope_;
  std::string program_;
  Findings& findings_;
  Expressions expressions_;
  std::map<std::pair<std::int32_t, std::int32_t>, Bucket> buckets_;  // by group and number
};

// The number of the first instance of a program on each rank; -1: none.
std::vector<std::int32_t> first_instances(const Scope& scope, const std::string& program) {
  std::vector<std::int32_t> list;
  for (std::size_t r = 0; r < scope.ranks.size(); ++r) {
    const auto& instances = scope.run.instances[r];
    const auto at = std::find(instances.begin(), instances.end(), scope.ranks[r].program(program));
    list.push_back(at == instances.end() ? -1 : static_cast<std::int32_t>(at - instances.begin()));
  }
  return list;
}

void prove_program(const Scope& scope, const std::string& program, Findings& findings) {
  const auto wanted = first_instances(scope, program);
  Execution execution(scope, program, findings);
  if (std::all_of(wanted.begin(), wanted.end(), [](std::int32_t i) { return i < 0; }) || !execution.sensible()) return;
  for (const plan::Rehearsal::Event& event : scope.run.events)
    if (scope.run.place(event.at).instance == wanted[static_cast<std::size_t>(event.at.rank)] && !execution.step(event)) return;
  execution.finish();
}

}  // namespace

void prove_meaning(const Scope& scope, Findings& findings) {
  std::set<std::string> names;
  for (const plan::RankPlan& rank : scope.ranks)
    for (const plan::Program& program : rank.programs) names.insert(program.name);
  for (const std::string& name : names) prove_program(scope, name, findings);
}

}  // namespace trainyard::check
