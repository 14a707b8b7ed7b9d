// SPDX-License-Identifier: GPL-3.0-or-later
// A valid plan in hand, to be broken in one way.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <set>
#include <string>

#include "core/check/check.h"
#include "core/collective/expand.h"
#include "core/strategy/strategy.h"
#include "tests/core/strategy/experiments.h"

namespace trainyard::check {

using ProofSet = std::set<Proof>;
using OpTest = std::function<bool(const plan::Op&)>;

struct Victim {
  std::vector<plan::Group> groups;
  plan::Schedule schedule;
  std::vector<plan::RankPlan> ranks;

  explicit Victim(const plan::Plan& plan) : groups(plan.groups), schedule(plan.schedule) {
    for (std::int32_t r = 0; r < plan.ranks; ++r) ranks.push_back(plan.rank_plan(r));
  }
  plan::Plan plan() const { return plan::from_ranks(groups, schedule, ranks); }
  Victim expanded(collective::Algorithm algorithm) const {
    return Victim(collective::expand(plan(), algorithm));
  }

  std::vector<plan::Op>& train(std::size_t rank) {
    return ranks[rank].programs[static_cast<std::size_t>(ranks[rank].program("train"))].ops;
  }
  // All ops of a rank's train program that pass a test.
  std::vector<std::size_t> find(std::size_t rank, const OpTest& test) {
    std::vector<std::size_t> list;
    for (std::size_t i = 0; i < train(rank).size(); ++i)
      if (test(train(rank)[i])) list.push_back(i);
    return list;
  }
  std::size_t first(std::size_t rank, const OpTest& test) { return find(rank, test).at(0); }
  plan::Op& op(std::size_t rank, const std::string& token) {
    return train(rank)[first(rank, [&](const plan::Op& op) { return plan::token(op) == token; })];
  }

  void remove(std::size_t rank, std::size_t at) {
    renumber(rank, at, -1);
    train(rank).erase(train(rank).begin() + static_cast<std::ptrdiff_t>(at));
  }
  void repeat(std::size_t rank, std::size_t at) {
    renumber(rank, at, +1);
    const plan::Op copy = train(rank)[at];
    train(rank).insert(train(rank).begin() + static_cast<std::ptrdiff_t>(at), copy);
  }

 private:
  // Others wait for the same ops as before when one comes or goes.
  void renumber(std::size_t rank, std::size_t at, int change) {
    const plan::LaneId lane = train(rank)[at].lane;
    const auto before =
        std::count_if(train(rank).begin(), train(rank).begin() + static_cast<std::ptrdiff_t>(at),
                      [&](const plan::Op& op) { return op.lane == lane; });
    for (plan::Op& op : train(rank))
      for (plan::Dependency& dependency : op.after)
        if (dependency.lane == lane && dependency.sequence > before) dependency.sequence += change;
  }
};

inline bool sends(const plan::Op& op) {
  return op.kind == plan::OpKind::send && op.reads[0].count > 0;
}
inline bool receives(const plan::Op& op) {
  return plan::reads_peers(op.kind) && op.writes[0].count > 0;
}
inline bool adds(const plan::Op& op) { return receives(op) && op.kind != plan::OpKind::recv; }

inline ProofSet failed(const Report& report) {
  ProofSet proofs;
  for (const Finding& finding : report.findings) proofs.insert(finding.proof);
  return proofs;
}
inline ProofSet failed(const Victim& victim) { return failed(examine(victim.plan())); }

inline Victim coarse(const experiment::Experiment& e) {
  return Victim(strategy::coarse_plan(strategy::resolved(e)).value());
}

inline Victim expanded(const experiment::Experiment& e) {
  return Victim(strategy::make_plan(strategy::resolved(e)).value());
}

inline OpTest is(const std::string& token) {
  return [token](const plan::Op& op) { return plan::token(op) == token; };
}
inline OpTest is(plan::OpKind kind) {
  return [kind](const plan::Op& op) { return op.kind == kind; };
}

// Names the proof and the place of a finding, for example "proof_meaning at rank 1, program train,
// op UPD.s1".
inline std::string located(const base::Problem& problem) {
  return problem.id + " at " + problem.where;
}

// Returns the proof and the place of the first finding, or an empty string if the plan is proved.
inline std::string first_finding(const Victim& victim) {
  const Report report = examine(victim.plan());
  return report.findings.empty() ? "" : located(report.findings[0].problem);
}
// Returns the text of the first finding, for tests of the values that it contains.
inline std::string text_of_first_finding(const Victim& victim) {
  const Report report = examine(victim.plan());
  return report.findings.empty() ? "" : report.findings[0].problem.what;
}

inline testing::AssertionResult is_found(const Victim& victim, const std::string& place) {
  for (const Finding& finding : examine(victim.plan()).findings)
    if (located(finding.problem) == place) return testing::AssertionSuccess();
  return testing::AssertionFailure()
         << "not \"" << place << "\", but \"" << first_finding(victim) << "\"";
}

}  // namespace trainyard::check
