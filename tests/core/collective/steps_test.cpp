// SPDX-License-Identifier: GPL-3.0-or-later
// Collectives played step by step, against plain sums, against the plan that ranks run, and against
// what check counts in it.
#include "core/collective/steps.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "core/check/check.h"
#include "tests/core/collective/one_bucket.h"

namespace trainyard::collective {
namespace {

using testing::ElementsAre;

constexpr std::pair<int, int> kOverHosts[] = {
    {2, 2}, {2, 3}, {3, 2}, {4, 2}};  // hosts, devices on each

Exercise exercise(Algorithm algorithm, int hosts, int devices, std::int64_t elements) {
  Exercise exercise{.algorithm = algorithm,
                    .hosts = on_hosts(algorithm, hosts, devices).hosts,
                    .elements = elements};
  return exercise;
}

// Values by position and chunk, whose sums identify the summands.
Values telling_values(const Steps& steps) {
  Values values(static_cast<std::size_t>(steps.members()));
  for (int position = 0; position < steps.members(); ++position)
    for (int chunk = 0; chunk < steps.chunks(); ++chunk)
      values[static_cast<std::size_t>(position)].push_back(std::ldexp(1, position) +
                                                           chunk * 1000.0);
  return values;
}

double plain_sum(const Values& values, int chunk) {
  double sum = 0;
  for (const auto& row : values) sum += row[static_cast<std::size_t>(chunk)];
  return sum;
}

std::vector<int> sorted(std::vector<int> list) {
  std::sort(list.begin(), list.end());
  return list;
}

// Every wanted cell holds every member once, added in one order, and so the plain sum; and no sum
// is left aside.
void expect_sums(const Steps& steps) {
  const Values values = telling_values(steps);
  const State end = state_at(steps, values, steps.count());
  std::vector<int> everyone(static_cast<std::size_t>(steps.members()));
  std::iota(everyone.begin(), everyone.end(), 0);
  for (int chunk = 0; chunk < steps.chunks(); ++chunk) {
    std::vector<int> order;
    for (int position = 0; position < steps.members(); ++position) {
      if (!steps.wanted(position, chunk)) continue;
      const PartialSum& held =
          end.held[static_cast<std::size_t>(position)][static_cast<std::size_t>(chunk)];
      EXPECT_EQ(held.value, plain_sum(values, chunk)) << "rank " << position << ", chunk " << chunk;
      EXPECT_EQ(sorted(held.of), everyone) << "rank " << position << ", chunk " << chunk;
      if (order.empty()) order = held.of;
      EXPECT_EQ(held.of, order) << "rank " << position << ", chunk " << chunk;
    }
  }
  for (const auto& row : end.scratch_sums)
    for (const PartialSum& held : row) EXPECT_EQ(held, PartialSum{});
}

void expect_bytes(const Steps& steps, const plan::Plan& expanded) {
  const check::Report report = check::examine(expanded);
  const State end = state_at(steps, telling_values(steps), steps.count());
  std::int64_t total = 0;
  for (int position = 0; position < steps.members(); ++position) {
    const auto p = static_cast<std::size_t>(position);
    EXPECT_EQ(end.sent[p], report.traffic.at(0).bytes_from(position)) << "rank " << position;
    EXPECT_EQ(end.sent[p], steps.total_sent[p]) << "rank " << position;
    EXPECT_EQ(end.received[p], steps.total_received[p]) << "rank " << position;
    total += end.sent[p];
  }
  EXPECT_EQ(total, total_formula(steps.exercise).bytes) << total_formula(steps.exercise).text;
}

class AllReduceSteps : public testing::TestWithParam<Algorithm> {
 protected:
  static void expect_played(int hosts, int devices, std::int64_t elements) {
    SCOPED_TRACE(std::to_string(hosts) + "x" + std::to_string(devices) + ", " +
                 std::to_string(elements) + " elements");
    const Steps played = steps(exercise(GetParam(), hosts, devices, elements)).value();
    expect_sums(played);
    expect_bytes(played, one_bucket_expanded(on_hosts(GetParam(), hosts, devices), hosts * devices,
                                             elements));
  }
};
INSTANTIATE_TEST_SUITE_P(All, AllReduceSteps, testing::ValuesIn(kAlgorithms),
                         [](const auto& row) { return std::string(base::name_of(row.param)); });

TEST_P(AllReduceSteps, sum_is_exact_and_traffic_equals_check_for_1_to_9_ranks) {
  for (int n = 1; n <= 9; ++n)
    for (const std::int64_t elements : {0, 1, n, 101}) expect_played(1, n, elements);
}

TEST_P(AllReduceSteps, sum_is_exact_and_traffic_equals_check_over_hosts) {
  for (const auto& [hosts, devices] : kOverHosts)
    for (const std::int64_t elements : {5, 24, 101}) expect_played(hosts, devices, elements);
}

TEST_P(AllReduceSteps, in_segments_has_the_same_result) {
  Exercise cut = exercise(GetParam(), 2, 2, 101);
  cut.segment_bytes = 60;
  const Steps played = steps(cut).value();
  Method method = on_hosts(GetParam(), 2, 2);
  method.segment_bytes = 60;
  expect_sums(played);
  expect_bytes(played, one_bucket_expanded(method, 4, 101));
  EXPECT_EQ(std::accumulate(played.chunk_bytes.begin(), played.chunk_bytes.end(), std::int64_t{0}),
            404);
}

TEST_P(AllReduceSteps, shows_the_program_of_the_ranks_line_by_line) {
  const Steps played = steps(exercise(GetParam(), 2, 3, 24)).value();
  const plan::Plan plan = one_bucket_expanded(on_hosts(GetParam(), 2, 3), 6, 24);
  for (int position = 0; position < 6; ++position) {
    std::vector<std::string> shown, run;
    for (const Line& line : played.program[static_cast<std::size_t>(position)])
      shown.push_back(line.token);
    const plan::RankPlan rank = plan.rank_plan(position);
    for (const plan::Op& op : rank.programs.front().ops)
      if (plan::communicates(op.kind)) run.push_back(plan::token(op));
    EXPECT_EQ(shown, run);
  }
}

TEST_P(AllReduceSteps, lines_are_executed_by_steps_of_their_round) {
  const Steps played = steps(exercise(GetParam(), 3, 2, 24)).value();
  for (const auto& program : played.program)
    for (const Line& line : program) {
      ASSERT_GT(line.first_step, 0) << line.token;
      for (int step = line.first_step; step <= line.last_step; ++step)
        EXPECT_EQ(played.moves[static_cast<std::size_t>(step - 1)].round, line.round);
    }
}

// A step back restores the previous state.
TEST_P(AllReduceSteps, step_changes_only_what_it_describes) {
  const Steps played = steps(exercise(GetParam(), 2, 2, 24)).value();
  const Values values = telling_values(played);
  for (int step = 1; step <= played.count(); ++step) {
    const Move& move = played.moves[static_cast<std::size_t>(step - 1)];
    const State before = state_at(played, values, step - 1);
    State after = state_at(played, values, step);
    EXPECT_NE(after, before) << step;
    const auto to = static_cast<std::size_t>(move.to);
    for (int chunk = move.chunk; chunk < move.chunk + move.chunks; ++chunk) {
      const auto c = static_cast<std::size_t>(chunk);
      after.held[to][c] = before.held[to][c],
      after.scratch_sums[to][c] = before.scratch_sums[to][c];
    }
    after.sent[static_cast<std::size_t>(move.from)] -= move.bytes, after.received[to] -= move.bytes;
    EXPECT_EQ(after, before) << step;
  }
}

TEST(Steps, of_other_collectives_have_their_defined_result) {
  for (const Collective collective : {Collective::reduce_scatter, Collective::reduce})
    for (int n = 1; n <= 9; ++n)
      for (const int root : {0, n / 2, n - 1})
        for (const Algorithm algorithm : choices(collective, formation(n)))
          expect_sums(steps({.collective = collective,
                             .algorithm = algorithm,
                             .hosts = std::vector<int>(static_cast<std::size_t>(n)),
                             .root = root,
                             .elements = 20})
                          .value());
}

TEST(Steps, that_scatter_or_gather_have_the_values_of_their_owners) {
  for (const Collective collective :
       {Collective::all_gather, Collective::broadcast, Collective::scatter, Collective::gather})
    for (int n = 1; n <= 9; ++n)
      for (const int root : {0, n - 1})
        for (const Algorithm algorithm : choices(collective, formation(n))) {
          const Steps played = steps({.collective = collective,
                                      .algorithm = algorithm,
                                      .hosts = std::vector<int>(static_cast<std::size_t>(n)),
                                      .root = root,
                                      .elements = 20})
                                   .value();
          const Values values = telling_values(played);
          const State end = state_at(played, values, played.count());
          const bool from_root =
              collective == Collective::broadcast || collective == Collective::scatter;
          for (int position = 0; position < n; ++position)
            for (int chunk = 0; chunk < played.chunks(); ++chunk) {
              if (!played.wanted(position, chunk)) continue;
              const int owner = from_root ? root : chunk;
              const PartialSum owned{
                  values[static_cast<std::size_t>(owner)][static_cast<std::size_t>(chunk)],
                  {owner}};
              EXPECT_EQ(
                  end.held[static_cast<std::size_t>(position)][static_cast<std::size_t>(chunk)],
                  owned)
                  << n << ", rank " << position << ", chunk " << chunk;
            }
        }
}

TEST(Steps, of_other_collectives_send_the_bytes_that_check_counts) {
  const std::pair<Collective, const char*> tokens[] = {
      {Collective::reduce_scatter, "RS.b0"},  {Collective::all_gather, "AG.b0"},
      {Collective::broadcast, "BCAST.b0<r2"}, {Collective::reduce, "REDUCE.b0>r2"},
      {Collective::scatter, "SCATTER.b0<r2"}, {Collective::gather, "GATHER.b0>r2"}};
  for (const auto& [collective, token] : tokens)
    for (const Algorithm algorithm : choices(collective, formation(5)))
      expect_bytes(steps({.collective = collective,
                          .algorithm = algorithm,
                          .hosts = {0, 0, 0, 0, 0},
                          .root = 2,
                          .elements = 101})
                       .value(),
                   expand(one_bucket(5, 101, token, ""), algorithm));
}

TEST(Steps, of_a_table_keep_rows_complete) {
  for (const Algorithm algorithm : {Algorithm::ring, Algorithm::direct}) {
    Exercise rows = exercise(algorithm, 1, 3, 7 * 5);
    rows.collective = Collective::reduce_scatter;
    rows.row = 5;
    const Steps played = steps(rows).value();
    EXPECT_THAT(played.chunk_bytes, ElementsAre(3 * 20, 2 * 20, 2 * 20));
    expect_sums(played);
  }
}

TEST(Steps, of_an_algorithm_are_those_of_the_program_it_expands_to) {
  for (const auto& [collective, name] : base::Names<Collective>::table) {
    const Formation formation = collective::formation({0, 0, 0, 1, 1, 1});
    for (const Algorithm algorithm : kAlgorithms) {
      const Algorithm same = program_algorithm(collective, algorithm);
      EXPECT_EQ(program(collective, algorithm, formation, 4, 2),
                program(collective, same, formation, 4, 2))
          << name << " by " << base::name_of(algorithm);
      EXPECT_THAT(choices(collective, formation), testing::Contains(same)) << name;
    }
  }
}

TEST(Steps, of_a_ring_pass_partial_sums_on) {
  const Steps played =
      steps({.algorithm = Algorithm::ring, .hosts = {0, 0, 0}, .elements = 3}).value();
  EXPECT_EQ(played.rounds, 4);
  EXPECT_EQ(played.count(), 12);
  const State state = state_at(played, {{1, 2, 3}, {10, 20, 30}, {100, 200, 300}}, 3);
  EXPECT_EQ(state.held[0][1], (PartialSum{202, {0, 2}}));
  EXPECT_EQ(state.held[1][2], (PartialSum{33, {1, 0}}));
  EXPECT_EQ(state.held[2][0], (PartialSum{110, {2, 1}}));
  EXPECT_THAT(state.sent, ElementsAre(4, 4, 4));
}

TEST(Steps, of_a_sum_of_many_add_in_order_after_all_arrive) {
  const Steps played =
      steps({.algorithm = Algorithm::direct, .hosts = {0, 0, 0}, .elements = 3}).value();
  const Values values{{1, 2, 3}, {10, 20, 30}, {100, 200, 300}};
  const auto sum_of_2 = [&](int step) {
    return state_at(played, values, step).scratch_sums[2][2];
  };  // steps 5 and 6 are its two
  EXPECT_EQ(sum_of_2(5), (PartialSum{3, {0}}));
  EXPECT_EQ(state_at(played, values, 5).held[2][2], (PartialSum{300, {2}}));
  EXPECT_EQ(state_at(played, values, 6).held[2][2], (PartialSum{333, {0, 1, 2}}));
  EXPECT_EQ(sum_of_2(6), PartialSum{});
}

TEST(Steps, keep_sums_separate_while_peers_read_the_operands) {
  const Steps played =
      steps({.algorithm = Algorithm::all_to_all, .hosts = {0, 0}, .elements = 1}).value();
  ASSERT_EQ(played.count(), 4);
  const State state = state_at(played, {{1}, {10}}, 2);
  for (const std::size_t rank : {0u, 1u})
    EXPECT_EQ(state.scratch_sums[rank][0], (PartialSum{11, {0, 1}}));
  EXPECT_EQ(state.held[0][0], (PartialSum{1, {0}}));
  EXPECT_EQ(played.moves[2].effect, Effect::copies_from_scratch);
  EXPECT_EQ(played.moves[2].bytes, 0);
}

TEST(Steps, advance_by_rounds_in_both_directions) {
  const Steps played =
      steps({.algorithm = Algorithm::ring, .hosts = {0, 0, 0}, .elements = 3}).value();
  EXPECT_EQ(played.after_round(0), 3);
  EXPECT_EQ(played.after_round(4), 6);
  EXPECT_EQ(played.after_round(12), 12);
  EXPECT_EQ(played.before_round(12), 9);
  EXPECT_EQ(played.before_round(4), 3);
  EXPECT_EQ(played.before_round(3), 0);
  EXPECT_EQ(played.before_round(0), 0);
}

TEST(Steps, that_are_too_many_to_display_are_refused) {
  const auto refusal = [](const Exercise& exercise) {
    const base::Problem problem = steps(exercise).error();
    EXPECT_EQ(problem.id, "steps_not_shown");
    return problem.where;
  };
  EXPECT_EQ(refusal({.hosts = std::vector<int>(65)}), "ranks");
  EXPECT_EQ(refusal({.hosts = {}}), "ranks");
  EXPECT_EQ(refusal({.algorithm = Algorithm::sharded_hierarchical, .hosts = {0, 0, 1}}),
            "algorithm");
  EXPECT_EQ(refusal({.algorithm = Algorithm::automatic, .hosts = {0, 0}}), "algorithm");
  EXPECT_EQ(refusal({.collective = Collective::broadcast, .hosts = {0, 0}, .root = 2}), "root");
  EXPECT_EQ(refusal({.hosts = std::vector<int>(8), .elements = 1'000'000, .segment_bytes = 1000}),
            "segment_bytes");
  EXPECT_TRUE(steps({.hosts = std::vector<int>(64), .elements = 64}));
}

TEST(Steps, choices_are_the_distinct_algorithms_that_fit) {
  EXPECT_EQ(choices(Collective::all_reduce, formation(4)).size(), 10u);
  EXPECT_THAT(choices(Collective::all_reduce, formation({0, 0, 1})),
              testing::Not(testing::Contains(Algorithm::sharded_hierarchical)));
  for (const Collective collective : {Collective::reduce_scatter, Collective::all_gather,
                                      Collective::broadcast, Collective::reduce}) {
    const auto both = choices(collective, formation(5));
    ASSERT_EQ(both.size(), 2u);
    EXPECT_NE(program(collective, both[0], formation(5), 0, 0),
              program(collective, both[1], formation(5), 0, 0));
  }
}

TEST(Steps, have_small_integer_values_determined_by_the_seed) {
  const Values values = seeded_values(7, 4, 8);
  EXPECT_EQ(values, seeded_values(7, 4, 8));
  EXPECT_NE(values, seeded_values(8, 4, 8));
  for (const auto& row : values)
    for (const double value : row)
      EXPECT_TRUE(value >= 1 && value <= 9 && value == std::floor(value)) << value;
}

}  // namespace
}  // namespace trainyard::collective
