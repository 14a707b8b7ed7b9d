// SPDX-License-Identifier: GPL-3.0-or-later
// Proves that the members of a group start its buckets in the same order. Buckets of different
// groups may start in any order: a rank with one lane per group makes progress on all lanes. If an
// engine has one lane for all groups, deadlock.cpp proves that the plan terminates.
#include <fmt/core.h>

#include <algorithm>
#include <set>

#include "core/check/proofs.h"

namespace trainyard::check {
namespace {

struct Use {
  std::int32_t group, bucket;
  int op;  // index of the first op of the bucket
};

// Returns the ops that start a bucket: each collective that is a single op, and the first op of
// each collective that is expanded to sends and receives.
std::vector<Use> uses(const plan::Program& program) {
  std::vector<Use> list;
  std::set<std::pair<std::int32_t, std::int32_t>> known;
  for (std::size_t i = 0; i < program.ops.size(); ++i) {
    const plan::Op& op = program.ops[i];
    if (!plan::communicates(op.kind)) continue;
    const bool first = known.insert({op.group, op.bucket}).second;
    if (first || plan::coarse(op.kind)) list.push_back({op.group, op.bucket, static_cast<int>(i)});
  }
  return list;
}

class Comparison {
 public:
  Comparison(const Scope& scope, std::string program, Findings& findings)
      : scope_(scope), program_(std::move(program)), findings_(findings) {
    for (const plan::RankPlan& rank : scope.ranks) {
      const int number = rank.program(program_);
      uses_.push_back(number < 0 ? std::vector<Use>{}
                                 : uses(rank.programs[static_cast<std::size_t>(number)]));
    }
  }

  void run() {
    for (std::size_t g = 0; g < scope_.groups.size(); ++g)
      for (const std::int32_t member : scope_.groups[g].ranks)
        if (!compare(static_cast<std::int32_t>(g),
                     static_cast<std::size_t>(scope_.groups[g].ranks.front()),
                     static_cast<std::size_t>(member)))
          return;
  }

 private:
  std::vector<Use> uses_in(std::int32_t group, std::size_t rank) const {
    std::vector<Use> list;
    for (const Use& use : uses_[rank])
      if (use.group == group) list.push_back(use);
    return list;
  }

  bool compare(std::int32_t group, std::size_t a, std::size_t b) {
    const auto first = uses_in(group, a), second = uses_in(group, b);
    const auto [x, y] =
        std::mismatch(first.begin(), first.end(), second.begin(), second.end(),
                      [](const Use& u, const Use& v) { return u.bucket == v.bucket; });
    if (x == first.end() && y == second.end()) return true;
    const auto text = [](auto at, auto end) {
      return at == end ? std::string("no further bucket")
                       : fmt::format("bucket {} of group {}", at->bucket, at->group);
    };
    const FindingLocation location{static_cast<std::int32_t>(b), program_,
                                   y == second.end() ? -1 : y->op};
    findings_.add(Proof::order, location,
                  fmt::format("rank {} starts {} at the position where rank {} starts {}", b,
                              text(y, second.end()), a, text(x, first.end())),
                  "the same order on all members of a group",
                  "Start the buckets of a group in the same order on both ranks.");
    return false;
  }

  const Scope& scope_;
  std::string program_;
  Findings& findings_;
  std::vector<std::vector<Use>> uses_;
};

}  // namespace

void prove_order(const Scope& scope, Findings& findings) {
  std::set<std::string> names;
  for (const plan::RankPlan& rank : scope.ranks)
    for (const plan::Program& program : rank.programs) names.insert(program.name);
  for (const std::string& name : names) Comparison(scope, name, findings).run();
}

}  // namespace trainyard::check
