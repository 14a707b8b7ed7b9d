// SPDX-License-Identifier: GPL-3.0-or-later
// Random plans are proved; broken in any way at any place, they are not, and the grid marks where.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "tests/core/check/breaks.h"

namespace trainyard::check {
namespace {

RC_GTEST_PROP(RandomPlans, of_any_graph_are_proved, ()) {
  const plan::Plan coarse =
      any_graph(2 + plan::any_count(4), *rc::gen::element(Programs::train, Programs::all));
  RC_LOG() << plan::to_text(coarse);
  RC_ASSERT(base::to_string(check(coarse)) == "");
  RC_ASSERT(base::to_string(check(collective::expand(coarse, any_algorithm()))) == "");
}

// Plans with different ranks, and with tails of fewer micro-steps.
RC_GTEST_PROP(RandomPlans, of_strategies_with_different_ranks_are_proved, ()) {
  const int ranks = 2 + plan::any_count(3);
  experiment::Experiment e = any_experiment(ranks);
  e.strategy.kind = any_bool() ? experiment::StrategyKind::central_storage
                               : experiment::StrategyKind::data_parallel;
  e.strategy.average = experiment::AveragedQuantity::gradients;
  e.data.sharding = {};
  for (model::LayerSpec& layer : e.model.layers) layer.synchronized = false;
  if (e.strategy.kind == experiment::StrategyKind::central_storage)
    e.topology = tests::drawn_storage(ranks - 1, plan::any_count(ranks - 1));
  else e.training.accumulation_steps = 1;
  const experiment::Resolved resolved = strategy::resolved(e);
  RC_ASSERT(base::to_string(check(strategy::coarse_plan(resolved).value())) == "");
  RC_ASSERT(base::to_string(check(strategy::make_plan(resolved).value())) == "");
}

// The checker's clocks and a graph of what waits for what find the same, whichever of its waits a
// plan forgets.
RC_GTEST_PROP(RandomPlans, race_exactly_if_accesses_are_unordered, ()) {
  Victim victim(any_graph(2 + plan::any_count(3), Programs::train));
  const auto place = any_location(victim, [](const plan::Op& op) { return !op.after.empty(); });
  RC_PRE(place.has_value());
  auto& after = op_at(victim, *place).after;
  after.erase(after.begin() + plan::any_count(static_cast<int>(after.size()) - 1));
  RC_LOG() << plan::to_text(victim.plan());
  const auto found = failed(victim);
  if (HappensBefore(victim).races(place->rank)) RC_ASSERT(found.contains(Proof::races));
  else RC_ASSERT(found.empty());
}

// Rank 1 updates from a sum of which it knows only, by way of another group, that rank 0 has it.
TEST(Races, all_reduce_that_ended_on_another_rank_may_still_run_here) {
  const auto rank = [](int number, const std::string& waits) {
    return "rank " + std::to_string(number) +
           "\nlane compute compute\nlane comm.g0 comm g0\nlane comm.g1 comm g1\nbuffer grads fp32 "
           "2 shared\nprogram train samples 1 of 2\n"
           "W.s0 @compute writes grads after comm.g0:1@-1 comm.g1:1@-1\n"
           "AR.b0 @comm.g0 group g0 reads grads[0:1] writes grads[0:1] after compute:1\n"
           "AR.b0 @comm.g1 group g1 reads grads[1:2] writes grads[1:2] after compute:1" +
           waits + "\nUPD.s0 @compute reads grads after comm.g1:1" + waits + "\n";
  };
  const std::string head = "plan 1\nschedule steps 9 full 9\ngroup g0: 0 1\ngroup g1: 0 1\n",
                    wait = " comm.g0:1";
  EXPECT_EQ(failed(Victim(plan::parse(head + rank(0, wait) + rank(1, wait)).value())),
            std::set<Proof>{});
  EXPECT_EQ(failed(Victim(plan::parse(head + rank(0, wait) + rank(1, "")).value())),
            std::set<Proof>{Proof::races});
}

Victim victim_of(Of of) {
  if (of == Of::steps) return Victim(any_graph(2 + plan::any_count(2), Programs::train));
  const Victim coarse = any_victim();
  const bool stays_coarse = of == Of::coarse || (of == Of::any && any_bool());
  if (stays_coarse) return coarse;
  return coarse.expanded(of == Of::ring ? collective::Algorithm::ring : any_algorithm());
}

bool is_subset(const std::set<Proof>& some, const std::set<Proof>& all) {
  return std::includes(all.begin(), all.end(), some.begin(), some.end());
}

bool finds_expected_proofs(const Break& broken, const std::set<Proof>& found) {
  std::set<Proof> known = broken.must;
  known.insert(broken.one.begin(), broken.one.end());
  known.insert(broken.may.begin(), broken.may.end());
  const bool has_one = std::any_of(broken.one.begin(), broken.one.end(),
                                   [&](Proof proof) { return found.contains(proof); });
  return is_subset(broken.must, found) && (broken.one.empty() || has_one) &&
         is_subset(found, known);
}

// A finding of bad structure names cells that cannot be drawn. Among the others, those about
// executed ops name an op.
bool marks_the_bad_cell(const Victim& victim, const Report& report) {
  const auto has_cell = [](const Finding& finding) {
    return finding.mark && finding.proof != Proof::structure;
  };
  const auto first = std::find_if(report.findings.begin(), report.findings.end(), has_cell);
  if (first == report.findings.end())
    return report.grid.empty() &&
           is_subset(failed(report), {Proof::structure, Proof::order, Proof::meaning});
  const plan::RankPlan& rank = victim.ranks[static_cast<std::size_t>(first->mark->rank)];
  const plan::Program& program =
      rank.programs[static_cast<std::size_t>(rank.program(first->program))];
  const std::string cell =
      ">" + plan::token(program.ops[static_cast<std::size_t>(first->mark->op)]);
  const auto drawn = [&](const char* end) {
    return report.grid.find(cell + end) != std::string::npos;
  };
  return drawn("<") || drawn("!<") || drawn("?<");
}

std::string names(const std::set<Proof>& proofs) {
  std::string text;
  for (const Proof proof : proofs) text += std::string(name(proof)) + " ";
  return text;
}

// True if a step reduces a bucket more than once, as synchronized batch normalization does in every
// micro-step.
bool repeats_a_bucket(Victim& victim) {
  std::set<std::pair<std::int32_t, std::int32_t>> known;
  const auto collectives = victim.find(0, [](const plan::Op& op) { return plan::coarse(op.kind); });
  return !std::all_of(collectives.begin(), collectives.end(), [&](std::size_t at) {
    const plan::Op& op = victim.train(0)[at];
    return known.insert({op.group, op.bucket}).second;
  });
}

// Adapts a break to chunks: only the first use of a bucket is checked for its order.
Break of_chunks(Break broken, bool repeated) {
  if (repeated && broken.must.erase(Proof::order) > 0) broken.may.insert(Proof::order);
  return broken;
}

class BrokenPlan : public testing::TestWithParam<Break> {};

// A plan that has no place for the break is passed over; rapidcheck gives up, and the test fails,
// when that is nearly every one.
TEST_P(BrokenPlan, is_found) {
  int caught = 0;
  rc::detail::checkGTest([&] {
    Victim victim = victim_of(GetParam().of);
    const bool repeated = repeats_a_bucket(victim);
    RC_PRE(GetParam().apply(victim));
    Break broken = GetParam();
    if (broken.of == Of::coarse && any_bool()) {
      victim = victim.expanded(any_algorithm());
      broken = of_chunks(broken, repeated);
    }
    const Report report = examine(victim.plan());
    RC_LOG() << "found " << names(failed(report)) << "\n"
             << base::to_string(report.problems()) << "\n"
             << report.grid;
    RC_ASSERT(finds_expected_proofs(broken, failed(report)));
    RC_ASSERT(marks_the_bad_cell(victim, report));
    ++caught;
  });
  EXPECT_GE(caught, 20) << "plans that were broken so";
}

INSTANTIATE_TEST_SUITE_P(RandomPlans, BrokenPlan, testing::ValuesIn(breaks()),
                         [](const auto& row) { return std::string(row.param.name); });

}  // namespace
}  // namespace trainyard::check
