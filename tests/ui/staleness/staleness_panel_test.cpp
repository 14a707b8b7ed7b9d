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
using testing::AllOf;
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
    std::map<int, std::vector<Event>> events;  // by reporting rank
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
    for (const auto& [rank_of_events, events_of_rank] : events)
      EXPECT_TRUE(recording.append_events(rank_of_events, events_of_rank));
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

TEST_F(StalenessPanelTest, shows_contribution_and_staleness_of_each_worker) {
  record(served(experiment::ServerMode::asynchronous), {0, 1, 1, 1, 1, 9}, 2);
  ASSERT_EQ(panel_.table().topLevelItemCount(), 3);
  EXPECT_EQ(cell(0, 0), "rank 0");
  EXPECT_EQ(cell(0, 1), "3");
  EXPECT_EQ(cell(0, 2), "50.0 %");
  EXPECT_EQ(cell(0, 3), "2") << "one gradient was not stale";
  EXPECT_EQ(cell(0, 4), "0");
  EXPECT_EQ(cell(0, 5), "0.67");
  EXPECT_EQ(cell(1, 3), "3");
  EXPECT_EQ(cell(1, 4), "2");
  EXPECT_EQ(cell(1, 5), "3.67");
  EXPECT_EQ(cell(1, 7), "9");
  EXPECT_EQ(cell(2, 0), "all");
  EXPECT_EQ(cell(2, 1), "6");
  EXPECT_THAT(panel_.summary_text().toStdString(),
              AllOf(HasSubstr("6 applied"), HasSubstr("5 of them delayed"), HasSubstr("2 dropped"),
                    HasSubstr("mean 1.00 (λ - 1)")));
}

TEST_F(StalenessPanelTest, histogram_counts_gradients) {
  record(served(experiment::ServerMode::asynchronous), {0, 1, 1, 1, 1, 3});
  const PlotSeries* second = panel_.histogram().model().find("worker1");
  ASSERT_NE(second, nullptr);
  ASSERT_EQ(second->points.size(), 4u) << "0 to 3";
  EXPECT_EQ(second->points.value(0), 0);
  EXPECT_EQ(second->points.value(1), 2);
  EXPECT_EQ(second->points.value(2), 0) << "a count of zero is included";
  EXPECT_EQ(second->points.value(3), 1);
  EXPECT_NE(panel_.histogram().model().find("theory"), nullptr);
}

// Bars of workers are stacked. The export contains the counts of each worker.
TEST_F(StalenessPanelTest, histogram_has_bars_and_is_exported_as_counts) {
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

TEST_F(StalenessPanelTest, histogram_limits_the_axis_at_the_99th_percentile) {
  std::vector<double> staleness(200, 1);
  staleness[0] = 3, staleness[100] = 5000;
  record(served(experiment::ServerMode::asynchronous), staleness);
  EXPECT_EQ(panel_.histogram().model().find("worker0")->points.size(), 2u) << "0 and 1";
  EXPECT_TRUE(panel_.histogram().title().contains("1 %"));
  EXPECT_EQ(cell(2, 7), "5,000") << "the table states it";
}

TEST_F(StalenessPanelTest, row_requests_the_last_stalest_gradient_of_its_worker) {
  record(served(experiment::ServerMode::asynchronous), {4, 1, 0, 7, 4, 1, 2, 7, 3, 0});
  std::vector<std::pair<int, double>> wanted;
  QObject::connect(&panel_, &StalenessPanel::gradient_requested,
                   [&](int rank, double seconds) { wanted.emplace_back(rank, seconds); });
  for (const int row : {0, 1, 2})
    emit panel_.table().itemActivated(panel_.table().topLevelItem(row), 0);
  ASSERT_EQ(wanted.size(), 2u) << "the row of all workers requests nothing";
  EXPECT_EQ(wanted[0].first, 0);
  EXPECT_NEAR(wanted[0].second, 0.004, 1e-9);
  EXPECT_EQ(wanted[1].first, 1);
  EXPECT_NEAR(wanted[1].second, 0.007, 1e-9);
}

TEST_F(StalenessPanelTest, bar_requests_the_last_gradient_of_its_staleness_of_any_worker) {
  record(served(experiment::ServerMode::asynchronous), {4, 1, 0, 4, 0, 1, 0, 1, 0, 0});
  std::vector<std::pair<int, double>> wanted;
  QObject::connect(&panel_, &StalenessPanel::gradient_requested,
                   [&](int rank, double seconds) { wanted.emplace_back(rank, seconds); });
  PlotCanvas& canvas = panel_.histogram().canvas();
  QTest::keyClick(&canvas, Qt::Key_Return);
  EXPECT_TRUE(wanted.empty()) << "there is no crosshair";
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

TEST_P(NarrowStalenessPanel, columns_are_not_truncated_at_any_width) {
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
    EXPECT_EQ(shown(), 8) << "columns are restored";
  }
  show(900);
  EXPECT_TRUE(header().isSectionHidden(2)) << "the fraction follows from the count";
  EXPECT_EQ(header().isSectionHidden(4), GetParam() == 0)
      << "the column of dropped gradients is hidden without any";
  EXPECT_THAT(panel_.table().topLevelItem(1)->toolTip(0).toStdString(),
              AllOf(HasSubstr("rank 1"), HasSubstr("3 (50.0 %)")));
}

TEST_F(StalenessPanelTest, summary_states_the_bound_if_there_is_one) {
  experiment::Experiment e = served(experiment::ServerMode::stale_synchronous);
  e.strategy.servers.bound = 2;
  record(e, {0, 1, 1, 2});
  EXPECT_THAT(panel_.summary_text().toStdString(), HasSubstr("at most 5"));
}

// Four micro-batches per step. The first of two stages runs forward of micro-batch 1 before the
// backward of micro-batch 0.
TEST_F(StalenessPanelTest, shows_gradients_of_pipedream_stages) {
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
              AllOf(HasSubstr("8 applied"), HasSubstr("3 of them delayed"), HasSubstr("0 dropped"),
                    HasSubstr("Staleness: mean 0.38"), HasSubstr("p95 1"), HasSubstr("maximum 1"),
                    HasSubstr("Theory: mean 0.38"), HasSubstr("p - 1 - s")));
  ASSERT_EQ(panel_.table().topLevelItemCount(), 3);  // two stages and the row of all
  EXPECT_EQ(panel_.table().headerItem()->text(0), "Stage");
  EXPECT_EQ(panel_.histogram().model().find("worker0")->style.label, "stage, rank 0")
      << "the label of the chart";
}

TEST_F(StalenessPanelTest, shows_a_hint_without_servers_or_a_run) {
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
