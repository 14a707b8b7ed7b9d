// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/experiment/imposed.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/core/experiment/samples.h"
#include "tests/problem_matchers.h"

namespace trainyard::experiment {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

Experiment imposed(double scale) {
  Experiment experiment = small(2, 2);
  experiment.run.links = LinkSpeed::imposed;
  experiment.run.link_scale = scale;
  return experiment;
}

TEST(Imposed, drawn_links_are_unchanged) {
  Experiment experiment = small(2, 2);
  experiment.run.link_scale = 0.1;
  EXPECT_EQ(as_imposed(experiment), experiment.topology);
  EXPECT_EQ(as_imposed(imposed(1)), experiment.topology);
}

TEST(Imposed, scale_slows_links_and_buses) {
  const topology::Topology drawn = imposed(0.1).topology, scaled = as_imposed(imposed(0.1));
  EXPECT_DOUBLE_EQ(scaled.links[1].bandwidth_bits_per_second,
                   drawn.links[1].bandwidth_bits_per_second / 10);
  EXPECT_DOUBLE_EQ(scaled.links[1].latency_seconds, drawn.links[1].latency_seconds * 10);
  EXPECT_DOUBLE_EQ(scaled.hosts[1].bus_bandwidth_bits_per_second,
                   drawn.hosts[1].bus_bandwidth_bits_per_second / 10);
  EXPECT_DOUBLE_EQ(scaled.hosts[1].bus_latency_seconds, drawn.hosts[1].bus_latency_seconds * 10);
}

TEST(Imposed, speeds_line_states_imposed_and_drawn_speeds) {
  EXPECT_THAT(speeds_line(small().run), HasSubstr("devices and links: not imposed"));
  EXPECT_THAT(speeds_line(imposed(1).run),
              AllOf(HasSubstr("links: imposed;"), HasSubstr("devices: not imposed")));
  EXPECT_THAT(speeds_line(imposed(0.05).run),
              AllOf(HasSubstr("links: imposed at 0.05"), HasSubstr("devices: not imposed")));
  EXPECT_EQ(link_speeds_line(small().run), "not imposed");
  EXPECT_EQ(link_speeds_line(imposed(1).run), "imposed");
  EXPECT_THAT(link_speeds_line(imposed(0.1).run), HasSubstr("imposed at 0.1"));
}

TEST(Imposed, lines_state_pacing_slowdown_and_jitter) {
  RunSpec run;
  run.devices = DeviceSpeed::paced;
  EXPECT_THAT(speeds_line(run),
              AllOf(HasSubstr("links: not imposed"), HasSubstr("devices: PACED")));
  EXPECT_THAT(slow_down_line(1, 0), AllOf(Not(HasSubstr("x")), Not(HasSubstr("jitter"))));
  EXPECT_THAT(slow_down_line(2.5, 0), AllOf(HasSubstr("2.5x"), Not(HasSubstr("jitter"))));
  EXPECT_THAT(slow_down_line(1, 0.2), AllOf(Not(HasSubstr("x")), HasSubstr("jitter of 0.2")));
  EXPECT_THAT(slow_down_line(3, 0.2), AllOf(HasSubstr("3x"), HasSubstr("jitter of 0.2")));
}

TEST(Imposed, max_op_gap_is_the_time_of_the_slowest_link) {
  Experiment experiment = imposed(1);
  for (topology::Link& link : experiment.topology.links)
    link.bandwidth_bits_per_second = 1e5, link.latency_seconds = 2;
  for (topology::Host& host : experiment.topology.hosts) host.bus_latency_seconds = 0;
  const Resolved resolved = resolve(experiment, ".").value();
  const double bits =
      static_cast<double>(resolved.model.elements) * 32 * 4 * 4;  // from 4 ranks to each of 4
  EXPECT_DOUBLE_EQ(max_op_gap_seconds(resolved), bits / 1e5 + 4);
  experiment.run.links = LinkSpeed::drawn_only;
  EXPECT_EQ(max_op_gap_seconds(resolve(experiment, ".").value()), 0);
}

TEST(Imposed, max_op_gap_of_data_parallel_includes_the_scatter) {
  Experiment e = imposed(1);
  e.topology.hosts.resize(1);
  e.topology.links.clear();
  e.topology.switches.clear();
  e.strategy.kind = StrategyKind::mirrored;
  e.model.layers = {{model::LayerKind::linear, 0}};
  e.training.batch_per_rank = 64;
  const double mirrored = max_op_gap_seconds(resolve(e, ".").value());
  e.strategy.kind = StrategyKind::data_parallel;
  EXPECT_GT(max_op_gap_seconds(resolve(e, ".").value()), mirrored);
}

TEST(Imposed, invalid_scale_is_refused) {
  for (const double scale : {0.0, -1.0, 1e7})
    EXPECT_THAT(validate(imposed(scale), "."),
                testing::ElementsAre(base::IsProblem("out_of_range", "run.link_scale")))
        << scale;
}

}  // namespace
}  // namespace trainyard::experiment
