// SPDX-License-Identifier: GPL-3.0-or-later
// Marks of faults on the charts of a run.
#include "ui/charts/fault_marks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <QAction>
#include <QMenu>
#include <QTest>
#include <span>

#include "core/base/json.h"
#include "tests/ui/charts/plot_view_fixture.h"
#include "tests/ui/charts/synthetic_run.h"
#include "tests/ui/has_all.h"
#include "tests/ui/patience.h"
#include "ui/charts/run_charts.h"
#include "ui/theme/theme.h"

namespace trainyard::ui {
namespace {

using base::Json;
using telemetry::FrameType;
using test::kPatience;
using test::SyntheticRun;
using testing::ElementsAre;

struct FaultEvent {
  const char* kind;
  int rank, step, link = -1;
};

Json state_of(const FaultEvent& one) {
  return {
      {"state", "running"},
      {"time_ns", one.step * 5'000'000LL + 5'000'000},
      {"step", one.step},
      {"fault", {{"kind", one.kind}, {"rank", one.rank}, {"link", one.link}, {"text", "somehow"}}}};
}

// Recording of `steps` steps of two ranks with their faults; the run has ended.
std::unique_ptr<Run> recorded_faults(const QTemporaryDir& directory,
                                     const std::vector<FaultEvent>& faults, int steps = 20) {
  const SyntheticRun run{.ranks = 2};
  auto writer = run.create(directory.path().toStdString());
  EXPECT_TRUE(run.append(writer, 0, steps));
  for (const FaultEvent& one : faults)
    EXPECT_TRUE(writer.append_json(FrameType::state, -1, state_of(one)));
  EXPECT_TRUE(
      writer.append_json(FrameType::result, -1, {{"type", "result"}, {"status", "completed"}}));
  EXPECT_TRUE(writer.close());
  auto opened = Run::open({}, directory.path());
  EXPECT_TRUE(QTest::qWaitFor([&] { return opened->complete(); }, kPatience));
  return opened;
}

class FaultMarks : public testing::Test {
 protected:
  FaultMarks() {
    charts_.resize(1200, 800);
    charts_.show();
  }
  void show(const std::vector<FaultEvent>& faults) {
    run_ = recorded_faults(directory_, faults);
    charts_.set_runs({run_.get()});
    ASSERT_TRUE(QTest::qWaitFor([&] { return !charts_.reading(); }, kPatience));
  }
  PlotView& loss() { return charts_.plot(ChartKind::loss); }
  const std::vector<PlotOverlay::Mark>& drawn(ChartKind kind) {
    charts_.plot(kind).refresh();
    return charts_.plot(kind).overlay().marks;
  }
  double pixel(double x) { return loss().shown().at(x, 1, Side::left).x(); }

  QTemporaryDir directory_;
  std::unique_ptr<ui::Run> run_;
  RunCharts charts_;
};

TEST_F(FaultMarks, are_on_every_chart_at_the_position_of_the_fault_on_any_axis) {
  show({{"lost", 1, 10}});
  for (const ChartKind kind : {ChartKind::loss, ChartKind::gradient_norm, ChartKind::step_time,
                               ChartKind::rank_bytes, ChartKind::learning_rate})
    EXPECT_EQ(drawn(kind).size(), 1u) << chart_title(kind).name;
  const double seconds = run_->history().faults()[0].seconds;
  EXPECT_NEAR(seconds, 10 * 0.005, 1e-9) << "the first report is of the end of step 0";
  const std::pair<XAxis, double> places[] = {{XAxis::step, 10},
                                             {XAxis::samples, 11 * 2 * 32.0},
                                             {XAxis::bytes, 11 * 2 * SyntheticRun::kBytesPerStep},
                                             {XAxis::seconds, seconds}};
  for (const auto& [axis, x] : places) {
    charts_.set_x_axis(axis);
    ASSERT_EQ(drawn(ChartKind::loss).size(), 1u);
    EXPECT_NEAR(drawn(ChartKind::loss)[0].x, pixel(x), 0.01) << static_cast<int>(axis);
  }
}

// All faults of ranks and links of a live run.
TEST_F(FaultMarks, include_every_kind_on_every_chart) {
  const std::vector<FaultEvent> all{{"slow", 0, 2},
                                    {"stalled", 0, 4},
                                    {"awake", 0, 5},
                                    {"killed", 1, 6},
                                    {"lost", 1, 6},
                                    {"back", 1, 8},
                                    {"link_cut", -1, 10, 0},
                                    {"link_slowed", -1, 12, 0},
                                    {"link_restored", -1, 14, 0}};
  show(all);
  int charts = 0;
  for (const ChartKind kind : kChartKinds) {
    if (charts_.plot(kind).model().empty()) continue;
    ++charts;
    EXPECT_EQ(drawn(kind).size(), all.size()) << chart_title(kind).name;
  }
  EXPECT_EQ(charts, 9)
      << "all but that of links, of which there are none, and those of what few runs do";
  EXPECT_EQ(drawn(ChartKind::loss)[6].text, "at 50 ms, step 10: somehow")
      << "the text names the link";
}

TEST_F(FaultMarks, distinguish_kinds_by_shape_and_ranks_by_color) {
  show({{"killed", 1, 4},
        {"lost", 1, 4},
        {"back", 1, 9},
        {"stalled", 0, 12},
        {"awake", 0, 14},
        {"slow", 0, 15}});
  std::vector<Marker> shapes;
  for (const PlotOverlay::Mark& mark : drawn(ChartKind::loss)) shapes.push_back(mark.glyph);
  EXPECT_THAT(shapes, ElementsAre(Marker::cross, Marker::cross, Marker::triangle, Marker::square,
                                  Marker::triangle, Marker::diamond));
  EXPECT_EQ(drawn(ChartKind::loss)[0].color, Theme::instance().series_color(1));
  EXPECT_EQ(drawn(ChartKind::loss)[3].color, Theme::instance().series_color(0));
}

TEST_F(FaultMarks, show_rank_kind_and_time_under_the_pointer) {
  show({{"killed", 1, 10}, {"lost", 1, 10}, {"back", 1, 18}});
  const PlotOverlay::Mark mark = drawn(ChartKind::loss)[0];
  const PlotOverlay& overlay = loss().canvas().overlay();
  const QRectF area = loss().canvas().plot_area();
  const QStringList lines = overlay.marks_at({mark.x + 1, area.center().y()}).split('\n');
  EXPECT_THAT(lines, ElementsAre(test::HasAll("rank 1 killed", "50 ms", "step 10"),
                                 test::HasAll("rank 1 lost", "50 ms", "step 10")));
  EXPECT_EQ(overlay.marks_at({mark.x + 30, area.center().y()}), "");
  EXPECT_EQ(overlay.marks_at({mark.x, area.bottom() + 20}), "") << "below the chart";
}

TEST_F(FaultMarks, extend_the_axis_to_a_fault_that_ended_the_run) {
  show({{"lost", 1, 40}});
  ASSERT_EQ(drawn(ChartKind::loss).size(), 1u);
  EXPECT_GE(loss().shown().x.high, 40);
}

TEST_F(FaultMarks, can_be_hidden_and_shown_if_there_are_any) {
  show({{"lost", 1, 10}});
  emit charts_.charts_menu().aboutToShow();
  QAction* marks = charts_.charts_menu().actions().back();
  ASSERT_EQ(marks->text(), "Show faults");
  marks->trigger();
  EXPECT_TRUE(drawn(ChartKind::loss).empty());
  marks->trigger();
  EXPECT_EQ(drawn(ChartKind::loss).size(), 1u);
  const QTemporaryDir calm_directory;
  const auto calm = recorded_faults(calm_directory, {});
  charts_.set_runs({calm.get()});
  ASSERT_TRUE(QTest::qWaitFor([&] { return !charts_.reading(); }, kPatience));
  EXPECT_TRUE(drawn(ChartKind::loss).empty()) << "the marks belong to another run";
  emit charts_.charts_menu().aboutToShow();
  EXPECT_NE(charts_.charts_menu().actions().back()->text(), "Show faults");
}

TEST_F(FaultMarks, have_the_color_and_name_of_their_run) {
  const QTemporaryDir second_directory;
  run_ = recorded_faults(directory_, {{"lost", 1, 10}});
  const auto second = recorded_faults(second_directory, {{"lost", 0, 12}});
  charts_.set_runs({run_.get(), second.get()});
  ASSERT_TRUE(QTest::qWaitFor([&] { return !charts_.reading(); }, kPatience));
  ASSERT_EQ(drawn(ChartKind::loss).size(), 2u);
  EXPECT_EQ(drawn(ChartKind::loss)[0].color, Theme::instance().series_color(0));
  EXPECT_EQ(drawn(ChartKind::loss)[1].color, Theme::instance().series_color(1));
  EXPECT_TRUE(drawn(ChartKind::loss)[1].text.contains(" · rank 0 lost"))
      << drawn(ChartKind::loss)[1].text.toStdString();
}

TEST_F(PlotViewTest, marks_are_visible_except_in_an_empty_chart) {
  PlotMark mark;
  mark.at = {5, 5, 5, 0};
  plot_.set_marks({mark});
  plot_.refresh();
  EXPECT_TRUE(plot_.overlay().marks.empty()) << "step 5 has no position";
  add({1, 2, 3, 4, 5, 6, 7, 8, 9});
  plot_.refresh();
  ASSERT_EQ(plot_.overlay().marks.size(), 1u);
  const QImage with = plot_.grab().toImage();
  plot_.set_marks({});
  plot_.refresh();
  EXPECT_NE(plot_.grab().toImage(), with);
}

TEST(FaultMarksOfALongRun, appear_with_the_lines) {
  telemetry::History history;
  const auto take = [&](FrameType type, const Json& json) {
    const std::string text = json.dump();
    ASSERT_TRUE(history.take({type, -1, std::as_bytes(std::span(text))}));
  };
  take(FrameType::header, SyntheticRun{.ranks = 2}.header());
  take(FrameType::state, state_of({"lost", 1, 5000}));
  ProgressCounter progress;
  EXPECT_TRUE(fault_marks(history, progress, {}).empty());
  progress.read(history, true);
  EXPECT_EQ(fault_marks(history, progress, {}).size(), 1u) << "the run has ended";
}

}  // namespace
}  // namespace trainyard::ui
