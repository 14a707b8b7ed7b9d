// SPDX-License-Identifier: GPL-3.0-or-later
// The panel without a window, on recordings whose staleness is known.
#include "ui/staleness/staleness_panel.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <QHeaderView>
#include <QTest>
#include <QTreeWidget>

#include "core/base/json.h"
#include "core/experiment/resolve.h"
#include "tests/drawings.h"
#include "tests/ui/charts/synthetic_run.h"
#include "ui/charts/plot_export.h"
#include "ui/theme/theme.h"

namespace trainyard::ui {
namespace {

using telemetry::Event;
using telemetry::Metric;
using testing::HasSubstr;

experiment::Experiment served(experiment::ServerMode mode) {
  experiment::Experiment e;
  e.topology.hosts = {tests::drawn_host("alpha", 3)};
  e.topology.hosts[0].devices[2].role = topology::Role::parameter_server;
  e.data.kind = data::DataKind::blobs;
  e.strategy.kind = experiment::StrategyKind::parameter_server;
  e.strategy.servers.mode = mode;
  return e;
}

class StalenessPanelTest : public testing::Test {
 protected:
  StalenessPanelTest() {
    panel_.resize(1200, 420);
    panel_.show();
  }

  // Records the staleness of workers 0 and 1 in turn, reported by a server or by each worker;
  // `dropped` gradients of worker 1 were dropped.
  void record(const experiment::Experiment& e, const std::vector<double>& staleness,
              int dropped = 0) {
    const auto resolved = experiment::resolve(e, ".").value();
    base::Json header{{"run", "synthetic"},
                      {"ranks", resolved.world()},
                      {"segments", base::Json::array({"0 linear"})},
                      {"experiment", experiment::to_json(resolved)},
                      {"reports_of_step", 1},
                      {"reports_of_evaluation", 1},
                      {"steps_apart", 1000}};
    auto recording =
        telemetry::RecordingWriter::create(
            std::filesystem::path(directory_.path().toStdString()) / telemetry::kRecordingFile,
            header)
            .value();
    std::map<int, std::vector<Event>> events;  // by who tells
    const auto metric = [&](Metric kind, double value, int index, std::size_t step) {
      Event event;
      event.begin_ns = event.ready_ns = event.end_ns =
          static_cast<std::int64_t>(step + 1) * 1'000'000;
      event.value = value, event.step = static_cast<std::int32_t>(step);
      event.subject = static_cast<std::uint16_t>(kind),
      event.index = static_cast<std::uint16_t>(index);
      event.kind = telemetry::EventKind::metric;
      events[resolved.servers > 0 ? resolved.workers() : index].push_back(event);
    };
    for (std::size_t i = 0; i < staleness.size(); ++i)
      metric(Metric::staleness, staleness[i], static_cast<int>(i % 2), i);
    for (int i = 1; i <= dropped; ++i) metric(Metric::dropped_gradients, i, 1, staleness.size());
    for (const auto& [teller, told] : events) EXPECT_TRUE(recording.append_events(teller, told));
    EXPECT_TRUE(recording.close());
    run_ = ui::Run::open({}, directory_.path());
    panel_.set_run(run_.get());
    for (int i = 0; i < 500 && !run_->complete(); ++i) QTest::qWait(10);
    QTest::qWait(400);
    for (int i = 0; i < 500 && !staleness.empty() && !panel_.summary_text().contains("applied,");
         ++i)
      QTest::qWait(10);
  }
  QString cell(int row, int column) { return panel_.table().topLevelItem(row)->text(column); }

  QTemporaryDir directory_;
  std::unique_ptr<ui::Run> run_;
  StalenessPanel panel_;
};

TEST_F(StalenessPanelTest, says_who_contributed_how_much_and_how_stale_it_was) {
  record(served(experiment::ServerMode::asynchronous), {0, 1, 1, 1, 1, 9}, 2);
  ASSERT_EQ(panel_.table().topLevelItemCount(), 3);
  EXPECT_EQ(cell(0, 0), "rank 0");
  EXPECT_EQ(cell(0, 1), "3");
  EXPECT_EQ(cell(0, 2), "50.0 %");
  EXPECT_EQ(cell(0, 3), "2") << "one was of the parameters that it was applied to";
  EXPECT_EQ(cell(0, 4), "0");
  EXPECT_EQ(cell(0, 5), "0.67");
  EXPECT_EQ(cell(1, 3), "3");
  EXPECT_EQ(cell(1, 4), "2");
  EXPECT_EQ(cell(1, 5), "3.67");
  EXPECT_EQ(cell(1, 7), "9");
  EXPECT_EQ(cell(2, 0), "all");
  EXPECT_EQ(cell(2, 1), "6");
  EXPECT_THAT(panel_.summary_text().toStdString(),
              HasSubstr("6 applied, 5 of them delayed, 2 dropped"));
  EXPECT_THAT(panel_.summary_text().toStdString(), HasSubstr("Theory: mean 1.00 (λ - 1)"));
}

TEST_F(StalenessPanelTest, its_histogram_counts_them) {
  record(served(experiment::ServerMode::asynchronous), {0, 1, 1, 1, 1, 3});
  const PlotSeries* second = panel_.histogram().model().find("worker1");
  ASSERT_NE(second, nullptr);
  ASSERT_EQ(second->points.size(), 4u) << "0 to 3";
  EXPECT_EQ(second->points.value(0), 0);
  EXPECT_EQ(second->points.value(1), 2);
  EXPECT_EQ(second->points.value(2), 0) << "none is left out between";
  EXPECT_EQ(second->points.value(3), 1);
  EXPECT_NE(panel_.histogram().model().find("theory"), nullptr);
}

// Worker by worker, on each other; what is exported is what was counted.
TEST_F(StalenessPanelTest, its_histogram_is_of_bars_and_is_exported_as_counts) {
  record(served(experiment::ServerMode::asynchronous), {0, 1, 1, 1, 1, 3});
  for (const char* id : {"worker0", "worker1"})
    EXPECT_TRUE(is_bars(panel_.histogram().model().find(id)->style)) << id;
  EXPECT_EQ(panel_.histogram().model().find("worker1")->tops.value(1), 4) << "two of each worker";
  EXPECT_EQ(panel_.histogram().model().find("theory")->points.value(1), 4)
      << "as high as the highest bar";
  EXPECT_EQ(csv_of(panel_.histogram().model(), panel_.histogram().counts()),
            "series,versions,value\n"
            "\"worker, rank 0\",0,1\n\"worker, rank 0\",1,2\n"
            "\"worker, rank 1\",0,0\n\"worker, rank 1\",1,2\n\"worker, rank 1\",2,0\n\"worker, "
            "rank 1\",3,1\n"
            "\"theoretical mean\",1,0\n\"theoretical mean\",1,4\n");
}

TEST_F(StalenessPanelTest, the_stalest_hundredth_leaves_the_others_their_room) {
  std::vector<double> staleness(200, 1);
  staleness[0] = 3, staleness[100] = 5000;
  record(served(experiment::ServerMode::asynchronous), staleness);
  EXPECT_EQ(panel_.histogram().model().find("worker0")->points.size(), 2u) << "0 and 1";
  EXPECT_TRUE(panel_.histogram().title().endsWith("without the top 1 %"));
  EXPECT_EQ(cell(2, 7), "5,000") << "which the table tells";
}

TEST_F(StalenessPanelTest, a_row_asks_for_the_last_of_the_stalest_gradients_of_its_worker) {
  record(served(experiment::ServerMode::asynchronous), {4, 1, 0, 7, 4, 1, 2, 7, 3, 0});
  std::vector<std::pair<int, double>> wanted;
  QObject::connect(&panel_, &StalenessPanel::gradient_requested,
                   [&](int rank, double seconds) { wanted.emplace_back(rank, seconds); });
  for (const int row : {0, 1, 2})
    emit panel_.table().itemActivated(panel_.table().topLevelItem(row), 0);
  ASSERT_EQ(wanted.size(), 2u) << "all workers together have none";
  EXPECT_EQ(wanted[0].first, 0);
  EXPECT_NEAR(wanted[0].second, 0.004, 1e-9);
  EXPECT_EQ(wanted[1].first, 1);
  EXPECT_NEAR(wanted[1].second, 0.007, 1e-9);
}

TEST_F(StalenessPanelTest, a_bar_asks_for_the_last_gradient_that_was_as_stale_whosever_it_is) {
  record(served(experiment::ServerMode::asynchronous), {4, 1, 0, 4, 0, 1, 0, 1, 0, 0});
  std::vector<std::pair<int, double>> wanted;
  QObject::connect(&panel_, &StalenessPanel::gradient_requested,
                   [&](int rank, double seconds) { wanted.emplace_back(rank, seconds); });
  PlotCanvas& canvas = panel_.histogram().canvas();
  QTest::keyClick(&canvas, Qt::Key_Return);
  EXPECT_TRUE(wanted.empty()) << "the crosshair stands nowhere";
  const auto choose = [&](Qt::Key way, int times) {
    for (int i = 0; i < times; ++i) QTest::keyClick(&canvas, way);
    QTest::keyClick(&canvas, Qt::Key_Return);
  };
  choose(Qt::Key_Left, 1);
  EXPECT_TRUE(wanted.empty()) << "none was 3 versions old";
  choose(Qt::Key_Left, 2);
  choose(Qt::Key_Right, 3);
  ASSERT_EQ(wanted.size(), 2u);
  EXPECT_EQ(wanted[0].first, 1);
  EXPECT_NEAR(wanted[0].second, 0.007, 1e-9) << "the last that was 1 version old";
  EXPECT_EQ(wanted[1].first, 1);
  EXPECT_NEAR(wanted[1].second, 0.003, 1e-9) << "the last that was 4 versions old";
}

// Rows that do not fit in a narrow panel, or with large type, are hidden completely, the least
// important first. The help of a row contains them.
class NarrowStalenessPanel : public StalenessPanelTest, public testing::WithParamInterface<int> {
 protected:
  ~NarrowStalenessPanel() override { Theme::instance().apply(Theme::Kind::light); }
  void show(int width) {
    panel_.resize(width, 420);
    QCoreApplication::processEvents();
  }
  int shown() { return header().count() - header().hiddenSectionCount(); }
  QHeaderView& header() { return *panel_.table().header(); }
};
INSTANTIATE_TEST_SUITE_P(Dropped, NarrowStalenessPanel, testing::Values(0, 2));

TEST_P(NarrowStalenessPanel, shows_whole_columns_whatever_its_room) {
  record(served(experiment::ServerMode::asynchronous), {0, 1, 1, 1, 1, 9}, GetParam());
  for (const double scale : {1.0, 2.0}) {
    Theme::instance().apply(Theme::Kind::light, scale);
    int before = 8;
    for (int width = 2400; width >= 800; width -= 100) {
      show(width);
      EXPECT_LE(header().length(), panel_.table().viewport()->width()) << width << " at " << scale;
      EXPECT_LE(shown(), before) << width;
      before = shown();
      EXPECT_GE(panel_.histogram().width(), 100 * scale) << width;
    }
    EXPECT_GE(before, scale > 1 ? 3 : 6) << scale;
    show(2400);
    EXPECT_EQ(shown(), 8) << "they come back";
  }
  show(900);
  EXPECT_TRUE(header().isSectionHidden(2)) << "the share follows from what was applied";
  EXPECT_EQ(header().isSectionHidden(4), GetParam() == 0) << "where nothing was dropped";
  EXPECT_THAT(panel_.table().topLevelItem(1)->toolTip(0).toStdString(),
              HasSubstr("rank 1: gradients applied 3 (50.0 %)"));
}

TEST_F(StalenessPanelTest, a_bound_is_told_where_there_is_one) {
  experiment::Experiment e = served(experiment::ServerMode::stale_synchronous);
  e.strategy.servers.bound = 2;
  record(e, {0, 1, 1, 2});
  EXPECT_THAT(panel_.summary_text().toStdString(), HasSubstr("at most 5 ("));
}

// Four micro-batches a step: of two stages the first has gone forward with the second one when
// the first is back.
TEST_F(StalenessPanelTest, shows_the_gradients_of_stages_that_update_after_every_micro_batch) {
  experiment::Experiment e = served(experiment::ServerMode::asynchronous);
  e.topology.hosts[0].devices.pop_back();
  e.data.train_samples = 400;
  e.model.layers = {{model::LayerKind::linear, 8}, {model::LayerKind::linear, 0}};
  e.strategy.kind = experiment::StrategyKind::pipeline;
  e.strategy.stages.schedule = experiment::PipelineSchedule::pipedream;
  e.training.batch_per_rank = 10;
  e.training.accumulation_steps = 4;
  record(e, {0, 0, 1, 0, 1, 0, 1, 0});
  EXPECT_THAT(panel_.summary_text().toStdString(),
              HasSubstr("8 applied, 3 of them delayed, 0 dropped. Staleness: mean 0.38, "
                        "p95 1, maximum 1."));
  EXPECT_THAT(
      panel_.summary_text().toStdString(),
      HasSubstr("Theory: mean 0.38 (p - 1 - s at stage s, less at the beginning of a step)."));
  ASSERT_EQ(panel_.table().topLevelItemCount(), 3);  // and all
  EXPECT_EQ(panel_.table().headerItem()->text(0), "Stage");
  EXPECT_EQ(panel_.histogram().model().find("worker0")->style.label, "stage, rank 0")
      << "as in the chart";
}

TEST_F(StalenessPanelTest, without_servers_or_a_run_it_says_so) {
  EXPECT_THAT(panel_.summary_text().toStdString(), HasSubstr("No run selected"));
  experiment::Experiment e = served(experiment::ServerMode::asynchronous);
  e.topology.hosts[0].devices.pop_back();
  e.strategy.kind = experiment::StrategyKind::mirrored;
  record(e, {});
  EXPECT_THAT(panel_.summary_text().toStdString(), HasSubstr("neither parameter servers"));
  EXPECT_EQ(panel_.table().topLevelItemCount(), 0);
  run_.reset();
  EXPECT_THAT(panel_.summary_text().toStdString(), HasSubstr("No run selected"));
}

}  // namespace
}  // namespace trainyard::ui
