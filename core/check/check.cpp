// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/check/check.h"

#include <algorithm>

#include "core/check/proofs.h"

namespace trainyard::check {
namespace {

// Chooses the program of each rehearsed training step. The averaging program is chosen at the
// interval of the schedule, or in every third step if that interval is longer.
class Steps {
 public:
  explicit Steps(const plan::Schedule& schedule)
      : period_(std::min<std::int64_t>(schedule.local_steps, 3)) {}
  std::string next(const std::string& stretch) {
    if (period_ == 0 || ++taken_ % period_ > 0) return stretch;
    return plan::Schedule::averaging(stretch);
  }

 private:
  std::int64_t period_, taken_ = 0;
};

// Returns the sequence of programs to rehearse. The sequence begins with "start". It contains every
// pair of programs that can follow each other, and three equal steps in a row. It contains each
// evaluation program at most twice. `evaluates` is true if any rank evaluates: a rank may have
// nothing to evaluate, but all ranks must train equally often.
std::vector<int> instances(const plan::RankPlan& rank, const plan::Schedule& schedule,
                           bool evaluates) {
  std::vector<int> list;
  Steps steps(schedule);
  const auto run = [&](const std::string& name, int times) {
    for (int i = 0; i < times; ++i) {
      const int program =
          rank.program(plan::purpose(name) == plan::Purpose::training ? steps.next(name) : name);
      if (program >= 0) list.push_back(program);
    }
  };
  run("start", 1);
  const auto run_tails = [&] {
    for (std::size_t t = 0; t < schedule.tails.size(); ++t)
      run(plan::Schedule::tail_name(t), schedule.tails[t] > 1 || schedule.local_steps > 0 ? 3 : 1);
  };
  const bool tail = !schedule.tails.empty();
  const std::string first = schedule.full_steps_per_epoch > 0 || !tail ? "train" : "tail";
  run(first, schedule.local_steps > 0 ? 4 : 3);
  run_tails();
  run("average", 1);
  run("evaluate_state", 1);
  const int evaluate = rank.program("evaluate");
  if (evaluate >= 0)
    run("evaluate", rank.programs[static_cast<std::size_t>(evaluate)].repeats > 1 ? 2 : 1);
  run("evaluate_tail", 1);
  run("average", schedule.average_every_steps > 0 ? 1 : 0);
  if (tail || evaluates || schedule.average_every_steps > 0 || schedule.local_steps > 0)
    run(first, 2);
  if (tail) run_tails(), run(first, 1);
  run("average", 1);
  run("end", 1);
  return list;
}

void dry_run(Scope& scope) {
  const auto has_evaluation = [](const plan::RankPlan& rank) {
    return rank.program("evaluate") >= 0 || rank.program("evaluate_tail") >= 0;
  };
  const bool evaluates = std::any_of(scope.ranks.begin(), scope.ranks.end(), has_evaluation);
  std::vector<std::vector<int>> all;
  for (const plan::RankPlan& rank : scope.ranks)
    all.push_back(instances(rank, scope.schedule, evaluates));
  scope.run = plan::dry_run(scope.ranks, scope.groups, std::move(all));
}

// Runs the checks of the values that ops compute. These checks do not depend on dtypes.
void prove_results(const Scope& scope, Findings& findings) {
  if (has_servers(scope)) {
    prove_serving(scope, findings);
    prove_recomputing(scope, findings);
    return prove_offloading(scope, findings);
  }
  prove_meaning(scope, findings);
  prove_micro_steps(scope, findings);
  prove_mixing(scope, findings);
  prove_averaging(scope, findings);
  prove_gossip_pairs(scope, findings);
  prove_passing(scope, findings);
  prove_sharding(scope, findings);
  prove_recomputing(scope, findings);
  prove_versions(scope, findings);
  prove_offloading(scope, findings);
}

void prove(Scope& scope, Findings& findings) {
  prove_structure(scope, findings);
  if (findings.empty()) prove_copies(scope, findings);
  if (!findings.empty()) return;
  if (!has_servers(scope)) {
    prove_order(scope, findings);
    dry_run(scope);
    prove_matching(scope, findings);
    prove_no_deadlock(scope, findings);
    if (findings.any(Proof::matching) || findings.any(Proof::deadlock)) return;
    prove_no_races(scope, findings);
  }
  if (!has_casting(scope)) return prove_results(scope, findings);
  prove_casting(scope, findings);
  if (!findings.any(Proof::casting)) prove_results(without_casts(scope), findings);
}

std::string marked_grid(const Scope& scope, const std::vector<Finding>& findings) {
  for (const Finding& finding : findings)
    if (finding.mark && finding.proof != Proof::structure)
      return plan::grid(plan::from_ranks(scope.groups, scope.schedule, scope.ranks),
                        finding.program, finding.mark);
  return "";
}

}  // namespace

std::string_view name(Proof proof) {
  switch (proof) {
    case Proof::structure: return "structure";
    case Proof::order: return "order";
    case Proof::deadlock: return "deadlock";
    case Proof::matching: return "matching";
    case Proof::races: return "race";
    case Proof::casting: return "casting";
    case Proof::meaning: return "meaning";
    case Proof::mixing: return "mixing";
    case Proof::averaging: return "averaging";
    case Proof::gossip_pairs: return "pairing";
    case Proof::passing: return "passing";
    case Proof::sharding: return "sharding";
    case Proof::recomputing: return "recomputing";
    case Proof::versions: return "versions";
    case Proof::offloading: return "swapping";
    case Proof::serving: return "serving";
  }
  return "?";
}

base::Problems Report::problems() const {
  base::Problems list;
  for (const Finding& finding : findings) list.push_back(finding.problem);
  return list;
}

Report examine(const plan::Plan& plan) {
  Scope scope{plan.groups, plan.schedule, {}, {}};
  for (std::int32_t rank = 0; rank < plan.ranks; ++rank)
    scope.ranks.push_back(plan.rank_plan(rank));
  Findings findings(scope);
  prove(scope, findings);
  Report report;
  report.proofs = has_servers(scope) ? std::vector{Proof::structure, Proof::serving}
                                     : std::vector{Proof::structure, Proof::order, Proof::deadlock,
                                                   Proof::matching,  Proof::races, Proof::meaning};
  if (has_casting(scope)) report.proofs.push_back(Proof::casting);
  if (has_mixing(scope)) report.proofs.push_back(Proof::mixing);
  if (has_gossip_pairs(scope)) report.proofs.push_back(Proof::gossip_pairs);
  if (has_stages(scope)) report.proofs.push_back(Proof::passing);
  if (shares_parameters(scope)) report.proofs.push_back(Proof::sharding);
  if (has_recomputation(scope)) report.proofs.push_back(Proof::recomputing);
  if (has_versions(scope)) report.proofs.push_back(Proof::versions);
  if (has_offloading(scope)) report.proofs.push_back(Proof::offloading);
  if (scope.schedule.local_steps > 0) report.proofs.push_back(Proof::averaging);
  const bool sound = !findings.any(Proof::structure);
  report.findings = findings.take();
  report.grid = marked_grid(scope, report.findings);
  if (!sound) return report;
  report.traffic = traffic(scope);
  report.memory = memory(scope);
  return report;
}

base::Problems check(const plan::Plan& plan) {
  const Report report = examine(plan);
  base::Problems list = report.problems();
  for (std::size_t i = 0; i < list.size() && !report.grid.empty(); ++i)
    if (report.findings[i].mark) {
      list[i].advice += "\n" + report.grid;
      break;
    }
  return list;
}

}  // namespace trainyard::check
