// SPDX-License-Identifier: GPL-3.0-or-later
// Cancels a simulation of a drawing so large that it would take very long.
#include <gtest/gtest.h>

#include <ctime>

#include "core/sim/verdict.h"
#include "tests/core/sim/plans.h"

namespace trainyard::sim {
namespace {

constexpr int kRanks = 100;

// CPU time of this thread, so that other load on the machine does not count.
double processor_seconds() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

// Asks for the end at its event number `at`, and looks at the clock.
struct Impatience {
  int at = 0, events = 0;
  double began = processor_seconds(), asked = 0;
  std::stop_source stop{};

  Options options() {
    Options options;
    options.watch.stop = stop.get_token();
    options.on_event = [this](int, const telemetry::Event&) {
      if (++events == at) give_up();
    };
    return options;
  }
  void give_up() {
    asked = processor_seconds();
    stop.request_stop();
  }
  double patient() const { return asked - began; }
  double impatient() const { return processor_seconds() - asked; }
};

class Stop : public testing::TestWithParam<collective::Algorithm> {
 protected:
  const plan::Plan plan_ = replica({.ranks = kRanks,
                                    .segments = 4,
                                    .elements = 100'000,
                                    .schedule = {20, 20, {}, 0},
                                    .method = GetParam()});
  const topology::Network network_{star({.hosts = kRanks})};
};

// Soon: in a part of the time that it took to make the ranks.
TEST_P(Stop, ends_a_simulation_soon_at_any_point) {
  for (const int at : {1, 5000}) {
    Impatience impatience{.at = at};
    const auto outcome = simulate(plan_, network_, impatience.options());
    EXPECT_LT(impatience.impatient(), 0.5 * impatience.patient()) << "after event " << at;
    ASSERT_FALSE(outcome) << "it had not ended before event " << at;
    EXPECT_EQ(outcome.error().code, base::ProblemCode::canceled);
    EXPECT_LE(impatience.events, at + kRanks);
  }
}

TEST_P(Stop, prevents_a_simulation_from_starting) {
  Impatience late{.at = 1}, impatience;
  ASSERT_FALSE(simulate(plan_, network_, late.options()));
  impatience.give_up();
  const auto verdict =
      judge(plan_, network_, replica({.ranks = 1}), network_, impatience.options());
  EXPECT_LT(impatience.impatient(), 0.5 * late.patient());
  ASSERT_FALSE(verdict);
  EXPECT_EQ(verdict.error().code, base::ProblemCode::canceled);
  EXPECT_EQ(impatience.events, 0);
}

INSTANTIATE_TEST_SUITE_P(
    all, Stop, testing::Values(collective::Algorithm::ring, collective::Algorithm::direct),
    [](const auto& row) { return row.param == collective::Algorithm::ring ? "ring" : "direct"; });

}  // namespace
}  // namespace trainyard::sim
