// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/charts/run_lines.h"

#include <gtest/gtest.h>

#include <QApplication>
#include <QFontMetrics>
#include <algorithm>
#include <functional>
#include <numeric>
#include <set>

#include "core/base/json.h"
#include "core/experiment/document.h"
#include "core/topology/network.h"
#include "tests/drawings.h"
#include "tests/ui/charts/line_reading.h"
#include "tests/ui/has_all.h"

namespace trainyard::ui {
namespace {

const double kRate =
    test::SyntheticRun::kBytesPerStep / test::SyntheticRun{}.seconds_per_step;  // of a rank, B/s

TEST(RunLines, loss_is_the_mean_of_all_ranks_and_held_out_loss_is_markers) {
  const auto history = history_of({}, 500);
  const auto lines = lines_of(ChartKind::loss, history, {}, {});
  const auto train = points_of(history, line(lines, "train"));
  ASSERT_EQ(train.size(), 500u);
  EXPECT_NEAR(train[40].value, test::SyntheticRun::loss(40), 1e-12);
  EXPECT_EQ(train[40].samples, 41 * 128);
  EXPECT_EQ(train[40].bytes, 41 * 4 * test::SyntheticRun::kBytesPerStep) << "of all four ranks";
  EXPECT_EQ(points_of(history, line(lines, "held_out")).size(), 2u);
  EXPECT_EQ(line(lines, "held_out").style.joining, Joining::never);
}

TEST(RunLines, show_consensus_distance_and_its_decay) {
  const auto history = history_of({.lambda_2 = 0.99}, 500);
  const auto lines = lines_of(ChartKind::consensus, history, {}, {});
  const auto measured = points_of(history, line(lines, "consensus")),
             decay = points_of(history, line(lines, "decay"));
  ASSERT_EQ(measured.size(), 10u);
  for (std::size_t i = 0; i < measured.size(); ++i) {
    const int step = 50 * static_cast<int>(i) + 49;
    EXPECT_NEAR(measured[i].value, test::SyntheticRun::distance(step), 1e-12) << step;
  }
  ASSERT_EQ(decay.size(), 1 + 9 * 51u);
  for (std::size_t i = 0; i < decay.size(); ++i) {
    const int from = 49 + 50 * static_cast<int>(i / 51), steps = static_cast<int>(i % 51);
    EXPECT_EQ(decay[i].step, from + steps);
    EXPECT_NEAR(decay[i].value, test::SyntheticRun::distance(from) * std::pow(0.99, steps), 1e-12)
        << from << " " << steps;
  }
  EXPECT_TRUE(line(lines, "decay").style.dashed);
  EXPECT_TRUE(line(lines, "decay").style.label.endsWith("mixing only (|λ₂| = 0.99)"))
      << line(lines, "decay").style.label.toStdString();
  EXPECT_TRUE(lines_of(ChartKind::consensus, history_of({}, 500), {}, {}).empty())
      << "of ranks that have the same parameters";
}

// History with the planned and measured memory of each rank, by run::MemoryPurpose.
telemetry::History history_of_buffers(const std::vector<std::vector<double>>& by_rank) {
  const QTemporaryDir directory;
  const test::SyntheticRun run{.ranks = static_cast<int>(by_rank.size())};
  base::Json header = run.header();
  header["buffer_bytes"] = by_rank;
  auto writer =
      telemetry::RecordingWriter::create(
          std::filesystem::path(directory.path().toStdString()) / telemetry::kRecordingFile, header)
          .value();
  for (int rank = 0; rank < run.ranks; ++rank) {
    const std::vector<double>& bytes = by_rank[static_cast<std::size_t>(rank)];
    std::vector<telemetry::Event> events = run.step(rank, 0);
    for (std::size_t part = 0; part < bytes.size(); ++part) {
      telemetry::Event event = events.front();
      event.subject = static_cast<std::uint16_t>(telemetry::Metric::buffer_bytes),
      event.index = static_cast<std::uint16_t>(part), event.value = bytes[part];
      events.push_back(event);
    }
    EXPECT_TRUE(writer.append_events(rank, events));
  }
  EXPECT_TRUE(writer.close());
  return *telemetry::History::load(directory.path().toStdString());
}

// History of one rank whose device reported these metrics.
telemetry::History history_of_device(
    const std::vector<std::pair<telemetry::Metric, double>>& lines_with) {
  const QTemporaryDir directory;
  const test::SyntheticRun run{.ranks = 1};
  auto writer =
      telemetry::RecordingWriter::create(
          std::filesystem::path(directory.path().toStdString()) / telemetry::kRecordingFile,
          run.header())
          .value();
  std::vector<telemetry::Event> events = run.step(0, 0);
  for (const auto& [metric, value] : lines_with) {
    telemetry::Event event = events.front();
    event.subject = static_cast<std::uint16_t>(metric), event.value = value;
    events.push_back(event);
  }
  EXPECT_TRUE(writer.append_events(0, events));
  EXPECT_TRUE(writer.close());
  return *telemetry::History::load(directory.path().toStdString());
}

std::string labels_of(const std::vector<LineSpec>& lines) {
  QStringList labels;
  for (const LineSpec& line : lines) labels << line.style.label;
  return labels.join(", ").toStdString();
}

// A legend shows its first lines without being scrolled.
TEST(RunLines, buffers_begin_with_the_plan_and_omit_empty_parts) {
  const auto labels = [](const std::vector<double>& bytes) {
    return labels_of(lines_of(ChartKind::buffers, history_of_buffers({bytes}), {}, {}));
  };
  EXPECT_EQ(labels({4e6, 4e6, 8e6, 2e6, 1e3, 0, 0}),
            "plan (rank 0), parameters, gradients, moments, activations, other");
  EXPECT_EQ(labels({4e6, 4e6, 0, 2e6, 1e3, 8e6, 0}),
            "plan (rank 0), parameters, gradients, activations, other, offloaded to the host");
}

TEST(RunLines, buffers_show_the_fullest_or_a_chosen_rank) {
  const telemetry::History history =
      history_of_buffers({{4e6, 4e6, 0, 2e6, 1e3, 0, 0}, {6e6, 6e6, 0, 1e6, 1e3, 0, 0}});
  const auto plan_of = [&](int rank) {
    return lines_of(ChartKind::buffers, history, {}, {.buffers_of = rank}).at(0);
  };
  EXPECT_EQ(plan_of(LineChoice::kFullest).style.label, "plan (rank 1)");
  EXPECT_EQ(plan_of(LineChoice::kFullest).level, 13001e3);
  EXPECT_EQ(plan_of(0).style.label, "plan (rank 0)");
  EXPECT_EQ(plan_of(0).level, 10001e3);
  const auto lines = lines_of(ChartKind::buffers, history, {}, {.buffers_of = 0});
  EXPECT_EQ(points_of(history, lines.at(1)).at(0).value, 4e6);
}

// Changes the events that a rank reports for each step.
using Changed = std::function<void(std::vector<telemetry::Event>&)>;
telemetry::History changed_history(const test::SyntheticRun& run, int steps,
                                   const Changed& changed) {
  QTemporaryDir directory;
  auto writer = run.create(directory.path().toStdString());
  for (int step = 0; step < steps; ++step)
    for (int rank = 0; rank < run.ranks; ++rank) {
      auto events = run.step(rank, step);
      changed(events);
      EXPECT_TRUE(writer.append_events(rank, events));
    }
  EXPECT_TRUE(writer.close());
  return *telemetry::History::load(directory.path().toStdString());
}

// Delays a step by `pause` seconds and drops the events named by `lost`.
using Lost = std::function<bool(const telemetry::Event&)>;
telemetry::History paused_history(const test::SyntheticRun& run, int steps, int from, double pause,
                                  const Lost& lost = {}) {
  return changed_history(run, steps, [&](std::vector<telemetry::Event>& events) {
    if (lost) std::erase_if(events, lost);
    for (telemetry::Event& event : events)
      if (event.step >= from)
        event.begin_ns = event.ready_ns = event.end_ns += static_cast<std::int64_t>(pause * 1e9);
  });
}

double seconds_of(const telemetry::History& history, telemetry::Metric metric, int rank,
                  std::size_t step) {
  return history.find({metric, rank, 0})->values[step];
}

TEST(RunLines, rate_of_a_rank_uses_only_time_within_steps) {
  const auto history = paused_history({}, 100, 60, 30);
  const auto lines = lines_of(ChartKind::rank_bytes, history, {}, {});
  const auto points = points_of(history, line(lines, "sent2"));
  ASSERT_EQ(points.size(), 99u);  // the first sample starts the meter
  EXPECT_GT(points[59].seconds - points[58].seconds, 30);
  for (const SeriesPoint& point : points) {
    const double within = seconds_of(history, telemetry::Metric::step_seconds, 2,
                                     static_cast<std::size_t>(point.step));
    EXPECT_NEAR(point.value, test::SyntheticRun::kBytesPerStep / within, 1) << point.step;
  }
  for (const ChartKind kind : {ChartKind::rank_bytes, ChartKind::link_bytes})
    EXPECT_TRUE(chart_title(kind).title.endsWith("within steps"));
}

TEST(RunLines, rates_exclude_bytes_of_a_step_with_a_lost_time) {
  const auto lost = [](const telemetry::Event& event) {
    return event.step == 5 && event.subject == static_cast<int>(telemetry::Metric::step_seconds);
  };
  const auto history = paused_history({.ranks = 2, .jitter = 0}, 10, 10, 0, lost);
  const auto points =
      points_of(history, line(lines_of(ChartKind::rank_bytes, history, {}, {}), "sent1"));
  ASSERT_EQ(points.size(), 8u) << "neither the first nor the one without a time";
  for (const SeriesPoint& point : points) EXPECT_NEAR(point.value, kRate, 1) << point.step;
}

TEST(RunLines, unreported_bytes_of_a_step_are_included_in_the_rate_of_the_next) {
  const auto lost = [](const telemetry::Event& event) {
    return event.step == 5 &&
           event.subject == static_cast<int>(telemetry::Metric::sent_payload_bytes);
  };
  const auto history = paused_history({.ranks = 2, .jitter = 0}, 10, 10, 0, lost);
  const auto points =
      points_of(history, line(lines_of(ChartKind::rank_bytes, history, {}, {}), "sent1"));
  ASSERT_EQ(points.size(), 8u);
  for (const SeriesPoint& point : points) EXPECT_NEAR(point.value, kRate, 1) << point.step;
}

TEST(RunLines, rates_exclude_repeated_bytes_of_a_finished_step) {
  const auto twice = [](std::vector<telemetry::Event>& events) {
    for (std::size_t i = 0; i < events.size(); ++i)
      if (events[i].step == 5 &&
          events[i].subject == static_cast<int>(telemetry::Metric::sent_payload_bytes)) {
        telemetry::Event again = events[i];
        again.value += 1e9;
        events.push_back(again);
        break;
      }
    for (telemetry::Event& event : events)
      if (event.step > 5 &&
          event.subject == static_cast<int>(telemetry::Metric::sent_payload_bytes))
        event.value += 1e9;
  };
  const auto history = changed_history({.ranks = 2, .jitter = 0}, 10, twice);
  const auto points =
      points_of(history, line(lines_of(ChartKind::rank_bytes, history, {}, {}), "sent1"));
  ASSERT_EQ(points.size(), 9u);
  for (const SeriesPoint& point : points) EXPECT_NEAR(point.value, kRate, 1) << point.step;
  EXPECT_GT(points.back().bytes, 1e9) << "the bytes were sent";
}

// A ring of all drawn workers, each sending to the next.
telemetry::History ring_on(
    const topology::Topology& topology,
    experiment::TransportKind transport = experiment::TransportKind::automatic) {
  experiment::Experiment experiment;
  experiment.topology = topology;
  experiment.run.transport = transport;
  const int ranks = static_cast<int>(topology::Network(topology).workers().size());
  return history_of(
      {.ranks = ranks, .jitter = 0, .experiment = {{"document", experiment::to_json(experiment)}}},
      20);
}

// Bytes per second of all ranks, counted once for each link and bus that they cross.
double sent_times_hops(const topology::Topology& topology) {
  const topology::Network network(topology);
  const auto workers = network.workers();
  double crossings = 0;
  for (std::size_t rank = 0; rank < workers.size(); ++rank) {
    std::set<std::string> buses;
    const topology::Route route =
        network.route(workers[rank], workers[(rank + 1) % workers.size()]).value();
    for (const topology::Hop& hop : route.hops) {
      const topology::Edge& edge = network.edges()[hop.edge.index()];
      if (edge.link >= 0) ++crossings;
      else buses.insert(edge.to);
    }
    crossings += static_cast<double>(buses.size());
  }
  return crossings * kRate;
}

QStringList labels(const std::vector<LineSpec>& lines) {
  QStringList all;
  for (const LineSpec& one : lines) all << one.style.label;
  return all;
}

topology::Topology two_hosts_of_two() {
  topology::Topology topology{{tests::drawn_host("left", 2), tests::drawn_host("right", 2, 2)},
                              {topology::Switch{"switch"}},
                              {}};
  topology.links = {topology::Link{"left", "switch"}, topology::Link{"switch", "right"}};
  return topology;
}

TEST(RunLines, traffic_has_a_line_for_each_direction_of_each_link) {
  const auto history = ring_on(
      experiment::load(TRAINYARD_SOURCE_DIR "/resources/experiments/four_hosts_ring_digits.json")
          ->topology);
  const auto lines = lines_of(ChartKind::link_bytes, history, {}, {});
  EXPECT_EQ(labels(lines),
            QStringList({"host0 → switch", "switch → host0", "host1 → switch", "switch → host1",
                         "host2 → switch", "switch → host2", "host3 → switch", "switch → host3"}));
  for (const LineSpec& one : lines)
    EXPECT_NEAR(points_of(history, one).back().value, kRate, 1) << one.id.toStdString();
  EXPECT_EQ(lines[0].style.color, lines[1].style.color);
  EXPECT_NE(lines[0].style.dashed, lines[1].style.dashed);
}

TEST(RunLines, charts_report_that_they_lag) {
  EXPECT_THAT(lag_message(31'861, 12'400), testing::ElementsAre(test::HasAll("19,461 steps")));
  EXPECT_EQ(lag_message(31'861, 31'000), QStringList()) << "the lag is not visible";
  EXPECT_EQ(lag_message(120, 0), QStringList());
  EXPECT_EQ(lag_message(0, 500), QStringList()) << "a finished run";
}

TEST(RunLines, names_of_runs_are_distinct_suffixes) {
  EXPECT_EQ(distinct_suffixes({"Four devices 10:26:22", "Four devices 10:26:19"}),
            QStringList({"10:26:22", "10:26:19"}));
  EXPECT_EQ(distinct_suffixes({"Four devices, ring 10:26:22", "Four devices, tree 10:26:22"}),
            QStringList({"ring 10:26:22", "tree 10:26:22"}));
  EXPECT_EQ(distinct_suffixes({"one", "two 1"}), QStringList({"one", "two 1"}));
  EXPECT_EQ(distinct_suffixes({"same 1", "same 1", "same"}),
            QStringList({"same 1", "same 1", "same"}));
  EXPECT_EQ(distinct_suffixes({"same 1", "same 1"}), QStringList({"1", "1"}));
  EXPECT_EQ(distinct_suffixes({}), QStringList());
}

TEST(RunLines, total_traffic_is_sent_bytes_times_hops) {
  const topology::Topology topology = two_hosts_of_two();
  const auto history = ring_on(topology);
  const auto lines = lines_of(ChartKind::link_bytes, history, {}, {});
  EXPECT_EQ(labels(lines), QStringList({"left → switch", "switch → left", "switch → right",
                                        "right → switch", "left bus", "right bus"}));
  double total = 0;
  for (const LineSpec& one : lines) total += points_of(history, one).back().value;
  EXPECT_NEAR(total, sent_times_hops(topology), 10);
  EXPECT_NEAR(points_of(history, line(lines, "bus left")).back().value, 3 * kRate, 3)
      << "of 0 to 1 within, 1 to 2 out, 3 to 0 in";
  const auto busiest = lines_of(ChartKind::link_bytes, history, RunStyle{"run", 0}, {});
  ASSERT_EQ(busiest.size(), 1u);
  EXPECT_NEAR(points_of(history, busiest[0]).back().value, 3 * kRate, 3)
      << "the busiest, not the busiest pair of ranks";
}

TEST(RunLines, traffic_of_ranks_on_one_host_is_on_its_bus) {
  const topology::Topology topology{{tests::drawn_host("host0", 3)}, {}, {}};
  const auto lines_with = [&](experiment::TransportKind transport) {
    return labels(lines_of(ChartKind::link_bytes, ring_on(topology, transport), {}, {}));
  };
  EXPECT_EQ(lines_with(experiment::TransportKind::shm), QStringList("host0 bus (shared memory)"));
  EXPECT_EQ(lines_with(experiment::TransportKind::zmq),
            QStringList("host0 bus (loopback sockets)"));
  const auto history = ring_on(topology);
  EXPECT_NEAR(
      points_of(history, lines_of(ChartKind::link_bytes, history, {}, {}).at(0)).back().value,
      3 * kRate, 3);
}

TEST(RunLines, include_local_and_reduced_gradient_norms) {
  const auto history = history_of({}, 10);
  const auto lines = lines_of(ChartKind::gradient_norm, history, {}, {.segment = 1});
  ASSERT_EQ(lines.size(), 5u);
  EXPECT_FALSE(line(lines, "reduced1").style.pale);
  EXPECT_TRUE(line(lines, "local3").style.pale);
  EXPECT_EQ(line(lines, "local3").style.dashed, true);
  EXPECT_NEAR(points_of(history, line(lines, "reduced1"))[4].value,
              2 * (0.3 + test::SyntheticRun::loss(4)), 1e-12);
  EXPECT_EQ(lines_of(ChartKind::gradient_norm, history, {}, {.segment = -1}).size(), 3u);
}

// A model that begins with pooling, whose first segment has no gradient.
TEST(RunLines, gradients_exist_for_segments_with_parameters) {
  const auto history = paused_history({}, 5, 5, 0, [](const telemetry::Event& event) {
    const auto metric = static_cast<telemetry::Metric>(event.subject);
    return event.index == 0 && (metric == telemetry::Metric::local_gradient_norm ||
                                metric == telemetry::Metric::reduced_gradient_norm ||
                                metric == telemetry::Metric::update_ratio);
  });
  EXPECT_EQ(segments_with_gradients(history), (std::vector{1, 2}));
  EXPECT_EQ(segments_with_gradients(telemetry::History()), std::vector<int>());
  EXPECT_EQ(lines_of(ChartKind::gradient_norm, history, {}, {.segment = -1}).size(), 2u);
  EXPECT_EQ(lines_of(ChartKind::update_ratio, history, {}, {}).size(), 2u);
  const auto first = lines_of(ChartKind::gradient_norm, history, {}, {.segment = 0});
  EXPECT_EQ(points_of(history, line(first, "reduced1")).size(), 5u)
      << "segment 0 has no gradient; the next one represents it";
}

TEST(RunLines, throughput_uses_the_time_of_the_slowest_rank) {
  const auto history = history_of({}, 20);
  const auto points = points_of(history, lines_of(ChartKind::samples_rate, history, {}, {}).at(0));
  ASSERT_EQ(points.size(), 20u);
  double slowest = 0;
  for (int rank = 0; rank < 4; ++rank)
    slowest =
        std::max(slowest, history.find({telemetry::Metric::step_seconds, rank, 0})->values[7]);
  EXPECT_NEAR(points[7].value, 128 / slowest, 1e-9);
  EXPECT_EQ(chart_title(ChartKind::samples_rate).title, "Throughput within steps")
      << "pace delays between steps are excluded";
}

// compute, wait, transfer, input and overhead of one step.
std::vector<double> split_at(const telemetry::History& history, int of, std::size_t step) {
  std::vector<double> parts;
  for (const LineSpec& part : lines_of(ChartKind::step_time, history, {}, {.step_time_of = of})) {
    EXPECT_TRUE(part.style.stacked);
    parts.push_back(points_of(history, part, of).at(step).value);
  }
  return parts;
}

TEST(RunLines, parts_of_a_step_of_one_rank_sum_to_its_time) {
  const auto history = history_of({}, 5);
  const auto parts = split_at(history, 2, 3);
  ASSERT_EQ(parts.size(), 5u);
  EXPECT_EQ(parts[0], seconds_of(history, telemetry::Metric::compute_seconds, 2, 3));
  EXPECT_EQ(parts[3], seconds_of(history, telemetry::Metric::input_seconds, 2, 3));
  EXPECT_NEAR(std::accumulate(parts.begin(), parts.end(), 0.0),
              seconds_of(history, telemetry::Metric::step_seconds, 2, 3), 1e-12);
}

TEST(RunLines, parts_of_the_mean_and_of_the_slowest_rank_sum_to_the_step) {
  const auto history = history_of({}, 5);
  double mean = 0, slowest = 0;
  for (int rank = 0; rank < 4; ++rank) {
    const double seconds = seconds_of(history, telemetry::Metric::step_seconds, rank, 3);
    mean += seconds / 4;
    slowest = std::max(slowest, seconds);
  }
  const auto sum = [&](int of) {
    const auto parts = split_at(history, of, 3);
    return std::accumulate(parts.begin(), parts.end(), 0.0);
  };
  EXPECT_NEAR(sum(LineChoice::kMean), mean, 1e-12);
  EXPECT_NEAR(sum(LineChoice::kSlowest), slowest, 1e-12);
}

TEST(RunLines, imposed_time_belongs_to_the_ranks_of_the_compute_time) {
  const auto history = history_of({.held_back = 1}, 5);
  const auto imposed = [&](int of) {
    const auto lines = lines_of(ChartKind::step_time, history, {}, {.step_time_of = of});
    EXPECT_FALSE(line(lines, "imposed").style.stacked) << "the line is not part of the sum";
    return points_of(history, line(lines, "imposed"), of).at(3).value;
  };
  const double whole = seconds_of(history, telemetry::Metric::imposed_seconds, 1, 3);
  EXPECT_EQ(imposed(1), whole);
  EXPECT_EQ(imposed(2), 0);
  EXPECT_NEAR(imposed(LineChoice::kMean), whole / 4, 1e-12);
  EXPECT_EQ(lines_of(ChartKind::step_time, history_of({}, 5), {}, {}).size(), kStepParts)
      << "the line exists only for slowed ranks";
}

TEST(RunLines, step_with_a_lost_part_is_a_gap) {
  const test::SyntheticRun run{.ranks = 1};
  QTemporaryDir directory;
  {
    auto writer = run.create(directory.path().toStdString());
    for (int step = 0; step < 4; ++step) {
      auto events = run.step(0, step);
      if (step == 2)
        std::erase_if(events, [](const telemetry::Event& event) {
          return event.subject == static_cast<int>(telemetry::Metric::wait_seconds);
        });
      ASSERT_TRUE(writer.append_events(0, events));
    }
    ASSERT_TRUE(writer.close());
  }
  const auto history = *telemetry::History::load(directory.path().toStdString());
  const auto points = points_of(history, lines_of(ChartKind::step_time, history, {}, {}).at(0));
  ASSERT_EQ(points.size(), 3u);
  EXPECT_EQ(points[2].step, 3);
}

TEST(RunLines, every_unit_fits_beside_a_low_plot) {
  const QFontMetrics letters(QApplication::font());
  for (const ChartKind kind : kChartKinds) {
    const QString unit = chart_title(kind).unit;
    EXPECT_LE(letters.horizontalAdvance(unit), 6 * letters.height()) << unit.toStdString();
  }
}

TEST(RunLines, charts_of_bytes_are_adjacent) {
  const auto place = [](ChartKind kind) {
    return std::ranges::find(kChartKinds, kind) - std::begin(kChartKinds);
  };
  EXPECT_EQ(std::set<ChartKind>(std::begin(kChartKinds), std::end(kChartKinds)).size(),
            std::size(kChartKinds))
      << "each once";
  EXPECT_EQ(place(ChartKind::link_bytes), place(ChartKind::rank_bytes) + 1);
  EXPECT_EQ(place(ChartKind::table_ratio), place(ChartKind::rank_bytes) + 2);
  EXPECT_EQ(place(ChartKind::compression_ratio), place(ChartKind::rank_bytes) + 3);
}

TEST(RunLines, compression_has_one_ratio_and_the_residual_of_each_rank) {
  const test::SyntheticRun run{.ranks = 3, .compression_ratio = 25};
  const auto history = history_of(run, 40);
  const auto ratio = lines_of(ChartKind::compression_ratio, history, {}, {});
  ASSERT_EQ(ratio.size(), 1u);
  const auto points = points_of(history, ratio[0]);
  ASSERT_EQ(points.size(), 40u);
  EXPECT_EQ(points[7].value, 25);
  const auto left = lines_of(ChartKind::residual_norm, history, {}, {});
  ASSERT_EQ(left.size(), 3u);
  EXPECT_EQ(points_of(history, line(left, "rank2"))[5].value, test::SyntheticRun::residual(2, 5));
  const auto laid_over = lines_of(ChartKind::residual_norm, history, RunStyle{"one", 0}, {});
  ASSERT_EQ(laid_over.size(), 1u);
  EXPECT_EQ(points_of(history, laid_over[0])[5].value, test::SyntheticRun::residual(2, 5))
      << "the greatest";
  EXPECT_TRUE(lines_of(ChartKind::residual_norm, history_of({}, 5), {}, {}).empty());
  EXPECT_TRUE(lines_of(ChartKind::compression_ratio, history_of({}, 5), {}, {}).empty());
}

TEST(RunLines, saved_rows_of_tables_have_a_line_for_each_worker) {
  const auto history = history_of({.ranks = 3, .table_ratio = 40}, 20);
  const auto lines = lines_of(ChartKind::table_ratio, history, {}, {});
  ASSERT_EQ(lines.size(), 3u);
  EXPECT_EQ(points_of(history, line(lines, "rank2"))[5].value, 42);
  const auto laid_over = lines_of(ChartKind::table_ratio, history, RunStyle{"one", 0}, {});
  ASSERT_EQ(laid_over.size(), 1u);
  EXPECT_EQ(points_of(history, laid_over[0])[5].value, 42) << "the greatest";
  EXPECT_TRUE(lines_of(ChartKind::table_ratio, history_of({}, 5), {}, {}).empty());
}

TEST(RunLines, loss_scale_has_one_line_if_it_is_used) {
  const auto history = history_of({.ranks = 3, .loss_scale = 1024}, 5);
  const auto lines = lines_of(ChartKind::loss_scale, history, {}, {});
  ASSERT_EQ(lines.size(), 1u);
  EXPECT_EQ(points_of(history, lines[0])[3].value, 128);
  EXPECT_TRUE(lines_of(ChartKind::loss_scale, history_of({}, 5), {}, {}).empty());
}

TEST(RunLines, pairwise_averages_have_a_line_for_each_rank) {
  const auto history = history_of({.ranks = 3, .averages = 2}, 20);
  const auto lines = lines_of(ChartKind::averages, history, {}, {});
  ASSERT_EQ(lines.size(), 3u);
  EXPECT_EQ(points_of(history, line(lines, "rank1"))[5].value, 13);
  EXPECT_TRUE(lines_of(ChartKind::averages, history_of({}, 5), {}, {}).empty());
}

TEST(RunLines, throughput_with_backup_workers_has_a_line_for_each_worker) {
  const auto lines =
      lines_of(ChartKind::samples_rate, history_of({.reports_of_step = 3}, 20), {}, {});
  ASSERT_EQ(lines.size(), 4u);
  EXPECT_EQ(lines[3].id, "rate3");
  EXPECT_EQ(lines_of(ChartKind::samples_rate, history_of({}, 20), {}, {}).size(), 1u);
}

TEST(RunLines, one_device_without_links_has_no_traffic_lines) {
  const auto history = history_of({.ranks = 1}, 5);
  EXPECT_TRUE(lines_of(ChartKind::rank_bytes, history, {}, {}).empty());
  EXPECT_TRUE(lines_of(ChartKind::link_bytes, history, {}, {}).empty());
}

TEST(RunLines, gpu_metrics_exist_if_the_driver_reports_them) {
  using telemetry::Metric;
  const telemetry::History reported =
      history_of_device({{Metric::device_busy, 0.75},
                         {Metric::device_received_bytes_per_second, 5e6},
                         {Metric::device_sent_bytes_per_second, 4e6}});
  EXPECT_EQ(labels_of(lines_of(ChartKind::gpu_busy, reported, {}, {})), "rank 0");
  EXPECT_EQ(labels_of(lines_of(ChartKind::gpu_traffic, reported, {}, {})),
            "rank 0 received, rank 0 sent");
  const telemetry::History linked =
      history_of_device({{Metric::device_links_received_bytes_per_second, 7e6},
                         {Metric::device_links_sent_bytes_per_second, 8e6}});
  EXPECT_EQ(labels_of(lines_of(ChartKind::gpu_traffic, linked, {}, {})),
            "rank 0 received by NVLink, rank 0 sent by NVLink");
  const telemetry::History untold = history_of_device({});
  for (const ChartKind kind :
       {ChartKind::gpu_busy, ChartKind::gpu_memory, ChartKind::gpu_power, ChartKind::gpu_traffic}) {
    EXPECT_TRUE(lines_of(kind, untold, {}, {}).empty());
    EXPECT_TRUE(is_special(kind)) << "only a few runs have it";
  }
}

}  // namespace
}  // namespace trainyard::ui
