// SPDX-License-Identifier: GPL-3.0-or-later
// Live values of ranks, on the drawing.
#include "ui/run_overlay.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <span>

#include "core/base/json.h"
#include "core/experiment/document.h"
#include "tests/drawings.h"

namespace trainyard::ui {
namespace {

using base::Json;
using telemetry::FrameType;
using testing::ElementsAre;
using testing::Field;
using testing::Key;
using testing::Pair;

class RunOverlayTest : public testing::Test {
 protected:
  RunOverlayTest() {
    experiment_.topology.hosts.push_back(tests::drawn_host("host0", 3));
    take(FrameType::header, {{"schema", 1},
                             {"ranks", 3},
                             {"segments", Json::array()},
                             {"experiment", {{"document", experiment::to_json(experiment_)}}}});
    for (int rank = 0; rank < 3; ++rank)
      status_.ranks.push_back({rank, "running", 7, "F.s0", -1, 1});
    status_.state = session::RunState::running;
  }
  void take(FrameType type, const Json& json) {
    const std::string text = json.dump();
    EXPECT_TRUE(history_.take({type, -1, std::as_bytes(std::span(text))}));
  }
  void record_problem(const std::string& where) {
    take(FrameType::state,
         {{"state", "failed"},
          {"time_ns", 1},
          {"problem", {{"code", "failed"}, {"where", where}, {"what", "ended by signal 9"}}}});
  }
  void record(telemetry::Metric metric, int rank, int step, std::int64_t time_ns, double value,
              int index = 0) {
    telemetry::Event event;
    event.begin_ns = time_ns;
    event.value = value;
    event.step = step;
    event.subject = static_cast<std::uint16_t>(metric);
    event.index = static_cast<std::uint16_t>(index);
    EXPECT_TRUE(history_.take({FrameType::events, rank, std::as_bytes(std::span(&event, 1))}));
  }
  void record_plan(int rank, const std::string& text) {
    EXPECT_TRUE(history_.take({FrameType::plan, rank, std::as_bytes(std::span(text))}));
  }
  // Returns the first op of the first program.
  void record_op(int rank, int step, std::int64_t time_ns, double bytes) {
    telemetry::Event event;
    event.begin_ns = event.ready_ns = event.end_ns = time_ns;
    event.value = bytes;
    event.step = step;
    event.kind = telemetry::EventKind::op;
    EXPECT_TRUE(history_.take({FrameType::events, rank, std::as_bytes(std::span(&event, 1))}));
  }
  static std::vector<std::string> failed(const Overlay& overlay) {
    std::vector<std::string> names;
    for (const auto& [name, device] : overlay.devices)
      if (device.failed) names.push_back(name);
    return names;
  }

  experiment::Experiment experiment_;
  telemetry::History history_;
  session::Status status_;
  RunOverlay overlay_{tests_topology()};

 private:
  static topology::Topology tests_topology() { return {{tests::drawn_host("host0", 3)}, {}, {}}; }
};

TEST_F(RunOverlayTest, links_state_whether_their_speed_is_imposed) {
  EXPECT_EQ(overlay_.overlay(history_, &status_, true).link_speeds, "not imposed");
  experiment_.run.links = experiment::LinkSpeed::imposed;
  telemetry::History imposed;
  const std::string header = Json{{"schema", 1},
                                  {"ranks", 3},
                                  {"segments", Json::array()},
                                  {"experiment", {{"document", experiment::to_json(experiment_)}}}}
                                 .dump();
  ASSERT_TRUE(imposed.take({FrameType::header, -1, std::as_bytes(std::span(header))}));
  EXPECT_EQ(overlay_.overlay(imposed, &status_, true).link_speeds, "imposed");
}

TEST_F(RunOverlayTest, marks_nothing_without_faults) {
  const Overlay overlay = overlay_.overlay(history_, &status_, true);
  EXPECT_THAT(failed(overlay), ElementsAre());
  EXPECT_EQ(overlay.devices.at("cpu1").state, "running");
  EXPECT_FALSE(overlay.ended);
}

TEST_F(RunOverlayTest, marks_only_the_rank_of_the_problem_as_failed) {
  status_.ranks[1].state = status_.ranks[2].state = "lost";
  status_.problem = base::Problem{"test_problem",
                                  base::ProblemCode::failed,
                                  "rank 1 (host0/cpu1)",
                                  "ended by signal 9, waiting for rank 2",
                                  "",
                                  ""};
  const Overlay overlay = overlay_.overlay(history_, &status_, false);
  EXPECT_THAT(failed(overlay), ElementsAre("cpu1"));
  EXPECT_EQ(overlay.devices.at("cpu1").state, "failed");
  EXPECT_EQ(overlay.devices.at("cpu1").step, 7);
  EXPECT_EQ(overlay.devices.at("cpu2").state, "stopped");
}

TEST_F(RunOverlayTest, lost_rank_is_marked_before_its_problem_arrives) {
  status_.ranks[2].state = "lost";
  const Overlay overlay = overlay_.overlay(history_, &status_, true);
  EXPECT_THAT(failed(overlay), ElementsAre("cpu2"));
  EXPECT_EQ(overlay.devices.at("cpu2").state, "failed");
}

TEST_F(RunOverlayTest, lost_rank_of_a_continuing_run_is_absent) {
  experiment_.strategy.kind = experiment::StrategyKind::parameter_server;
  experiment_.topology.hosts[0].devices[2].role = topology::Role::parameter_server;
  telemetry::History served;
  const std::string header = Json{{"schema", 1},
                                  {"ranks", 3},
                                  {"segments", Json::array()},
                                  {"experiment", {{"document", experiment::to_json(experiment_)}}}}
                                 .dump();
  ASSERT_TRUE(served.take({FrameType::header, -1, std::as_bytes(std::span(header))}));
  RunOverlay overlay(experiment_.topology);
  const auto shown = [&](int rank) {
    return overlay.overlay(served, &status_, true).devices.at("cpu" + std::to_string(rank));
  };
  EXPECT_EQ(shown(1).absence, Absence::none);
  const std::tuple<const char*, Absence, const char*> states[] = {
      {"stalled", Absence::stalled, "stalled"},
      {"lost", Absence::lost, "failed"},
      {"returning", Absence::returning, "rejoining"}};
  for (const auto& [state, absence, label] : states) {
    status_.ranks[1].state = state;
    EXPECT_EQ(shown(1).absence, absence) << state;
    EXPECT_FALSE(shown(1).failed) << state;
    EXPECT_EQ(shown(1).state, label);
    EXPECT_LT(shown(1).utilization, 0) << state;
  }
  status_.ranks[2].state = "lost";
  EXPECT_TRUE(shown(2).failed) << "a server is required";
}

TEST_F(RunOverlayTest, evaluator_has_the_step_of_its_last_evaluation) {
  topology::Topology drawing = experiment_.topology;
  drawing.hosts[0].devices[2].role = topology::Role::evaluator;
  telemetry::History measured;
  const auto take = [&](FrameType type, int rank, const auto& bytes) {
    ASSERT_TRUE(measured.take({type, rank, std::as_bytes(std::span(bytes))}));
  };
  const std::string header = Json{
      {"schema", 1},
      {"ranks", 3},
      {"segments", Json::array()},
      {"reports_of_evaluation", 1},
      {"steps_apart", 1},
      {"evaluator", 2}}.dump();
  take(FrameType::header, -1, header);
  RunOverlay overlay(drawing);
  EXPECT_EQ(overlay.overlay(measured, &status_, true).devices.at("cpu2").step, 0)
      << "no measurement yet";
  std::vector<telemetry::Event> events;
  for (const auto& [metric, value] : {std::pair(telemetry::Metric::held_out_loss_sum, 5.0),
                                      std::pair(telemetry::Metric::held_out_correct, 9.0),
                                      std::pair(telemetry::Metric::held_out_samples, 10.0)}) {
    telemetry::Event& event = events.emplace_back();
    event.value = value, event.step = 4, event.subject = static_cast<std::uint16_t>(metric);
  }
  take(FrameType::events, 2, events);
  const auto devices = overlay.overlay(measured, &status_, true).devices;
  EXPECT_EQ(devices.at("cpu2").step, 5);
  EXPECT_EQ(devices.at("cpu0").step, 7);
}

TEST_F(RunOverlayTest, distinguishes_lost_ranks_from_stopped_ranks) {
  const auto report_fault = [&](const char* kind, int rank) {
    take(FrameType::state,
         {{"state", "running"}, {"time_ns", 1}, {"fault", {{"kind", kind}, {"rank", rank}}}});
  };
  report_fault("lost", 0), report_fault("lost", 2), report_fault("back", 2);
  for (session::RankStatus& rank : status_.ranks) rank.state = "lost";
  record_problem("rank 1 (host0/cpu1)");
  const Overlay overlay = overlay_.overlay(history_, &status_, false);
  EXPECT_THAT(failed(overlay), ElementsAre("cpu1"));
  EXPECT_EQ(overlay.devices.at("cpu0").absence, Absence::lost);
  EXPECT_EQ(overlay.devices.at("cpu2").state, "stopped");
}

TEST_F(RunOverlayTest, keeps_failed_devices_after_the_run) {
  EXPECT_TRUE(overlay_.failures(history_).devices.empty());
  record_problem("rank 0 (host0/cpu0), rank 2 (host0/cpu2)");
  const Overlay overlay = overlay_.failures(history_);
  EXPECT_TRUE(overlay.ended);
  EXPECT_EQ(overlay.devices.size(), 2u);
  EXPECT_THAT(failed(overlay), ElementsAre("cpu0", "cpu2"));
}

TEST_F(RunOverlayTest, device_is_not_marked_if_the_drawing_changed) {
  topology::Topology drawing = experiment_.topology;
  const Overlay measured = overlay_.overlay(history_, &status_, true);
  EXPECT_EQ(overlay_.on(drawing, measured), measured);
  drawing.hosts[0].devices[0].kind = topology::DeviceKind::gpu;
  EXPECT_THAT(overlay_.on(drawing, measured).devices, ElementsAre(Key("cpu1"), Key("cpu2")));
  drawing.hosts[0].devices[1].role = topology::Role::idle;
  EXPECT_THAT(overlay_.on(drawing, measured).devices,
              ElementsAre(Pair("cpu2", Field(&DeviceOverlay::rank, 2))))
      << "the measured speed";
}

TEST_F(RunOverlayTest, bus_shows_bytes_sent_over_it) {
  for (int step = 0; step < 3; ++step)
    for (const int rank : {0, 1})
      record(telemetry::Metric::sent_payload_bytes, rank, step, step * 100'000'000, 5e6 * step,
             rank + 1);
  const Overlay overlay = overlay_.overlay(history_, &status_, true);
  EXPECT_NEAR(overlay.buses.at("host0").total(), 2 * 5e6 / 0.1, 1);
}

// Two hosts, one link between them: cpu0 and cpu1 on the first, cpu2 and cpu3 on the second.
class TrafficOfRun : public RunOverlayTest {
 protected:
  TrafficOfRun() {
    status_.ranks.push_back({3, "running", 7, "F.s0", -1, 1});
    telemetry::History apart;
    history_ = std::move(apart);
    take(FrameType::header, {{"schema", 1}, {"ranks", 4}, {"segments", Json::array()}});
  }
  static topology::Topology two_hosts() {
    topology::Topology drawing{
        {tests::drawn_host("host0", 2), tests::drawn_host("host1", 2)}, {}, {}};
    for (topology::Device& device : drawing.hosts[1].devices) device.name = "far_" + device.name;
    drawing.links.push_back({.from = "host0", .to = "host1"});
    return drawing;
  }
  // Records bytes sent from `from` to `to` until then: a megabyte every tenth of a second.
  void send(int from, int to, double until, double since = 0) {
    for (int i = static_cast<int>(std::lround(since * 10)); i <= std::lround(until * 10); ++i)
      record(telemetry::Metric::sent_payload_bytes, from, i, i * 100'000'000LL, 1e6 * i, to);
  }
  double across() { return shown().links[LinkName{"host0", "host1"}].total(); }
  double near() { return shown().buses["host0"].total(); }
  Overlay shown() { return overlay_.overlay(history_, &status_, true); }

  double clock_ = 0;
  RunOverlay overlay_{two_hosts(), [this] { return clock_; }};
};

TEST_F(TrafficOfRun, link_without_bytes_for_a_second_has_no_rate) {
  send(1, 2, 2), send(0, 1, 2);
  EXPECT_NEAR(across(), 1e7, 1);
  EXPECT_NEAR(near(), 2e7, 1);
  send(0, 1, 2.9, 2.1);
  EXPECT_NEAR(across(), 1e7, 1) << "the rate of the last second";
  send(0, 1, 3.5, 3);
  EXPECT_EQ(across(), 0);
  EXPECT_NEAR(near(), 1e7, 1) << "of the others";
}

TEST_F(TrafficOfRun, rates_expire_if_all_ranks_are_idle) {
  send(1, 2, 2);
  EXPECT_NEAR(across(), 1e7, 1);
  clock_ = 0.9;
  EXPECT_NEAR(across(), 1e7, 1);
  clock_ = 1.1;
  EXPECT_EQ(across(), 0);
  send(1, 2, 4, 3.1);
  EXPECT_GT(across(), 0) << "the rank sends again";
}

TEST_F(TrafficOfRun, rate_of_slow_steps_holds_for_two_steps) {
  for (int step = 0; step < 3; ++step)
    record(telemetry::Metric::sent_payload_bytes, 1, step, step * 4'000'000'000LL, 4e6 * step, 2);
  EXPECT_NEAR(across(), 1e6, 1);
  clock_ = 7.9;
  EXPECT_NEAR(across(), 1e6, 1);
  clock_ = 8.1;
  EXPECT_EQ(across(), 0);
}

TEST_F(TrafficOfRun, sums_exclude_a_lost_rank) {
  send(1, 2, 2), send(2, 1, 2), send(0, 1, 2), send(0, 3, 2);
  EXPECT_NEAR(across(), 3e7, 1);
  EXPECT_NEAR(near(), 4e7, 1);
  for (const char* state : {"lost", "returning"}) {
    status_.ranks[1].state = state;
    EXPECT_NEAR(across(), 1e7, 1) << state;
    EXPECT_NEAR(near(), 1e7, 1) << state << ": neither what it sent nor what others sent to it";
  }
}

// In each tenth of a second rank 1 sends 400 bytes of activations over the link to rank 2, which
// returns 300 bytes of gradients.
TEST_F(TrafficOfRun, states_payload_kinds_by_direction_from_ops) {
  const auto stage = [](const std::string& rank, const std::string& buffer,
                        const std::string& peer) {
    return "rank " + rank + "\nlane send.g0 send g0\nbuffer " + buffer +
           " fp32 100 shared\nprogram train samples 8 of 16\nbucket BCAST.b0<r" + rank +
           " group g0 writes " + buffer + "\nSEND.b0.t0.c0>r" + peer + " @send.g0 group g0 reads " +
           buffer + "\n";
  };
  record_plan(1, stage("1", "act.s0", "2")), record_plan(2, stage("2", "grad.s0", "1"));
  send(1, 2, 2), send(2, 1, 2), send(0, 1, 2);
  for (int i = 0; i <= 20; ++i)
    record_op(1, i, i * 100'000'000LL, 400), record_op(2, i, i * 100'000'000LL, 300);
  SpanStore names;
  names.read(history_);
  TrafficMeter payload;
  payload.read(history_, names);
  const Overlay shown = overlay_.overlay(history_, &status_, true, &payload);
  const LinkOverlay& link = shown.links.at(LinkName{"host0", "host1"});
  ASSERT_EQ(link.payload.size(), 2U);
  EXPECT_EQ(link.payload[0].payload, PayloadKind::activations) << "sorted by bytes";
  EXPECT_NEAR(link.payload[0].forward, 4000, 1);
  EXPECT_EQ(link.payload[0].backward, 0);
  EXPECT_EQ(link.payload[1].payload, PayloadKind::activation_gradients);
  EXPECT_NEAR(link.payload[1].backward, 3000, 1);
  EXPECT_EQ(shown.buses.at("host0").payload.size(), 2U) << "the payload also crosses the bus";
  EXPECT_NEAR(shown.buses.at("host0").total(), 3e7, 1) << "the totals are those of the counters";
  EXPECT_TRUE(overlay_.overlay(history_, &status_, true)
                  .links.at(LinkName{"host0", "host1"})
                  .payload.empty());
}

TEST_F(TrafficOfRun, buses_exclude_traffic_of_a_cut_link) {
  send(0, 2, 2), send(0, 1, 2);
  EXPECT_NEAR(near(), 2e7, 1);
  status_.links.push_back({0, 0.5});
  EXPECT_NEAR(across(), 1e7, 1) << "the link is only slowed";
  status_.links.back().part = 0;
  EXPECT_EQ(across(), 0);
  EXPECT_NEAR(near(), 1e7, 1);
  EXPECT_EQ(shown().buses["host1"].total(), 0);
}

TEST_F(RunOverlayTest, busy_fraction_excludes_pace_delays) {
  for (const auto& [rank, at] : {std::pair(0, 0LL), std::pair(1, 2'400'000'000LL)})
    record(telemetry::Metric::step_seconds, rank, 0, at, 0.02),
        record(telemetry::Metric::compute_seconds, rank, 0, at, 0.01);
  EXPECT_LT(overlay_.overlay(history_, &status_, true).devices.at("cpu0").utilization, 0)
      << "one step gives no rate";
  for (int step = 1; step < 6; ++step) {
    record(telemetry::Metric::step_seconds, 0, step, step * 500'000'000LL, 0.02);
    record(telemetry::Metric::compute_seconds, 0, step, step * 500'000'000LL, 0.01);
    record(telemetry::Metric::step_seconds, 1, step, 2'400'000'000LL + step * 20'000'000LL, 0.02);
    record(telemetry::Metric::compute_seconds, 1, step, 2'400'000'000LL + step * 20'000'000LL,
           0.01);
  }
  const Overlay overlay = overlay_.overlay(history_, &status_, true);
  EXPECT_NEAR(overlay.devices.at("cpu0").utilization, 0.01 / 0.5, 1e-9);
  EXPECT_NEAR(overlay.devices.at("cpu1").utilization, 0.01 / 0.02, 1e-9);
  EXPECT_LT(overlay_.overlay(history_, &status_, false).devices.at("cpu0").utilization, 0)
      << "the rank is paused";
}

TEST_F(RunOverlayTest, rank_limited_by_the_pace_dial_is_marked_as_held) {
  status_.steps = 100, status_.horizon = 7;
  const auto states = [&] {
    std::vector<std::string> all;
    for (const auto& [name, device] : overlay_.overlay(history_, &status_, true).devices)
      all.push_back(device.state.toStdString());
    return all;
  };
  EXPECT_THAT(states(), ElementsAre("running", "running", "running"))
      << "at full speed no rank waits for a grant";
  status_.seconds_per_step = 2;
  status_.ranks[1].step = 6;
  status_.ranks[2].state = "paused";
  EXPECT_THAT(states(), ElementsAre("held", "running", "paused"));
  status_.steps = 7;
  EXPECT_THAT(states(), ElementsAre("running", "running", "paused"))
      << "no rank is held after the last step";
}

TEST_F(RunOverlayTest, problem_without_a_rank_marks_no_device) {
  record_problem("/runs/a/recording.try");
  EXPECT_THAT(failed(overlay_.failures(history_)), ElementsAre());
}

TEST_F(RunOverlayTest, marks_slowed_ranks) {
  experiment_.run.devices = experiment::DeviceSpeed::paced;
  telemetry::History paced;
  const std::string header = Json{{"schema", 1},
                                  {"ranks", 3},
                                  {"segments", Json::array()},
                                  {"experiment", {{"document", experiment::to_json(experiment_)}}}}
                                 .dump();
  EXPECT_TRUE(paced.take({FrameType::header, -1, std::as_bytes(std::span(header))}));
  status_.ranks[1].slow_down = 2.5;
  status_.ranks[2].jitter = 0.5;
  const auto marks = [&](const telemetry::History& history, const char* device) {
    return overlay_.overlay(history, &status_, true).devices.at(device).imposed.join(", ");
  };
  EXPECT_EQ(marks(history_, "cpu0"), "");
  EXPECT_EQ(marks(history_, "cpu1"), "SLOWED 2.5x");
  EXPECT_EQ(marks(history_, "cpu2"), "JITTER 0.5");
  status_.ranks[0].slow_down = 1000;
  EXPECT_EQ(marks(history_, "cpu0"), "SLOWED 1000x");
  status_.ranks[0].slow_down = 1;
  EXPECT_EQ(marks(paced, "cpu0"), "PACED");
  EXPECT_EQ(marks(paced, "cpu1"), "SLOWED 2.5x, PACED");
}

}  // namespace
}  // namespace trainyard::ui
