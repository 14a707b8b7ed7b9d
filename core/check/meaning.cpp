// SPDX-License-Identifier: GPL-3.0-or-later
// Meaning, by symbolic execution. A rank's own ops write its contribution, a leaf, into the spans of its buckets; receives
// replace or add what the sender holds. In the end every element of a bucket is a tree that holds every member exactly once,
// equal on all members, and an update or norm reads nothing else of a buffer that is reduced.
#include <algorithm>
#include <set>

#include "core/check/buckets.h"
#include "core/check/expressions.h"
#include "core/check/proofs.h"

namespace trainyard::check {
namespace {

using At = plan::Rehearsal::At;
using plan::Access;
using plan::Op;
using plan::OpKind;

bool uses_sum(OpKind kind) { return kind == OpKind::update || kind == OpKind::norm; }

// One program of all ranks.
class Execution {
 public:
  Execution(const Scope& scope, std::string program, Findings& findings)
      : scope_(scope), program_(std::move(program)), findings_(findings), expressions_(scope.ranks.size()), buckets_(buckets_of(scope, program_)) {
    for (auto& [key, bucket] : buckets_)
      for (auto& [rank, home] : bucket.homes) home.cells.assign(bucket.cuts.size(), expressions_.leaf(rank));
  }

  bool sensible() {
    const auto flaw = first_flaw(scope_, program_, buckets_);
    return !flaw || report(flaw->rank, -1, flaw->what);
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
  bool report(const At& at, const std::string& what, std::string advice) {
    findings_.add(Proof::meaning, at, what, "the sum over all members, each once, added alike on all ranks", std::move(advice));
    return false;
  }
  bool report(std::int32_t rank, int op, const std::string& what) {
    findings_.add(Proof::meaning, Spot{rank, program_, op}, what, "the sum over all members, each once, added alike on all ranks", "");
    return false;
  }

  bool local(const At& at, const Op& op) {
    for (const Access& access : op.reads)
      if (uses_sum(op.kind) && !reads_sum(at, access)) return false;
    for (const Access& access : op.writes)
      for (const Overlap& o : overlaps(buckets_, at.rank, access))
        std::fill(o.home->cells.begin() + static_cast<std::ptrdiff_t>(o.first), o.home->cells.begin() + static_cast<std::ptrdiff_t>(o.last),
                  expressions_.leaf(at.rank));
    return true;
  }

  bool reads_sum(const At& at, const Access& access) {
    std::int64_t covered = 0;
    for (const Overlap& o : overlaps(buckets_, at.rank, access)) {
      covered += o.bucket->cuts[o.last] - o.bucket->cuts[o.first];
      for (std::size_t c = o.first; c < o.last; ++c)
        if (!complete(*o.bucket, o.home->cells[c]))
          return report(at, "reads " + partial(*o.bucket, o.home->cells[c]), "Let it wait for the all-reduce of its bucket.");
    }
    const bool reduced = std::any_of(buckets_.begin(), buckets_.end(), [&](auto& entry) { return entry.second.home_in(at.rank, access.buffer) != nullptr; });
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
    const plan::RankPlan& whole = scope_.rank(rank);
    const auto& ops = whole.programs[static_cast<std::size_t>(whole.program(program_))].ops;
    const auto at = std::find_if(ops.rbegin(), ops.rend(),
                                 [&](const Op& op) { return plan::communicates(op.kind) && op.group == bucket.group && op.bucket == bucket.number; });
    return static_cast<int>(ops.rend() - at) - 1;
  }

  const Scope& scope_;
  std::string program_;
  Findings& findings_;
  Expressions expressions_;
  Buckets buckets_;
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
