// SPDX-License-Identifier: GPL-3.0-or-later
// The timeline of a real run in the window: spans of every rank, ops in the plan, and freezing.
#include <QPlainTextEdit>
#include <QTest>
#include <QTextBlock>
#include <QTreeWidget>
#include <algorithm>
#include <cmath>
#include <map>

#include "tests/ui/real_window.h"
#include "ui/model/spans/bucket_spans.h"
#include "ui/timeline/timeline_walk.h"

namespace trainyard::ui::test {
namespace {

class TimelineWindow : public RealWindow {
 protected:
  const SpanStore& spans() { return window_->runs().current()->spans(); }
  TimelineView& view() { return window_->panels().timeline.view(); }

  void run_until(std::size_t steps, const char* example = "four_devices_mirrored_digits.json") {
    ASSERT_TRUE(window_->open(QString(TRAINYARD_SOURCE_DIR) + "/resources/experiments/" + example));
    window_->start_run();
    ASSERT_TRUE(wait([&] {
      return window_->runs().current() &&
             window_->runs().current()->history().train_loss().size() >= steps;
    }));
    window_->workspace().raise("timeline");
  }
  void stop() {
    window_->runs().current()->stop();
    ASSERT_TRUE(
        wait([&] { return !window_->runs().live() && window_->runs().current()->complete(); }));
  }
  // Returns the last executed op of a token on a rank.
  std::optional<SpanAddress> last(int rank, const std::string& token) {
    for (int lane = 0; lane < spans().lanes(rank); ++lane)
      for (std::size_t t = 0; t < spans().lane(rank, lane).tracks().size(); ++t) {
        const SpanTrack& track = *spans().lane(rank, lane).tracks()[t];
        for (std::size_t i = track.end(); i-- > track.first();)
          if (spans().names(rank).token(track[i].program, track[i].op) == token)
            return SpanAddress{rank, lane, static_cast<int>(t), i};
      }
    return {};
  }
};

// Compute, input, sends and receives of a rank are within the steps that the rank reported.
void expect_whole_steps(const SpanStore& spans, const telemetry::History& history, int rank) {
  int lanes = 0;
  for (int lane = 1; lane < spans.lanes(rank); ++lane)
    lanes += spans.lane(rank, lane).empty() ? 0 : 1;
  EXPECT_EQ(lanes, 5) << "input, compute, whole buckets, sends and receives of rank " << rank;
  const auto step = step_of_rank(history, rank, 10);
  ASSERT_TRUE(step);
  const RankFigures figures = figures_of(spans, rank, {*step});
  EXPECT_GT(figures.compute, 0);
  EXPECT_GT(figures.communication, 0);
  EXPECT_LE(figures.compute, figures.looked_at);
  const auto* compute = history.find({telemetry::Metric::compute_seconds, rank, 0});
  ASSERT_TRUE(compute && compute->values.size() > 10);
  EXPECT_NEAR(static_cast<double>(figures.compute) * 1e-9, compute->values[10],
              0.2 * compute->values[10] + 2e-5)
      << "times of the clock of the rank";
}

TEST_F(TimelineWindow, real_run_shows_spans_of_all_ranks_and_selects_ops_in_the_plan) {
  run_until(60);
  ASSERT_TRUE(wait([&] {
    return window_->panels().timeline.figures().contains("overlapped with compute");
  })) << window_->panels().timeline.figures().toStdString();
  stop();
  ASSERT_EQ(spans().ranks(), 4);
  EXPECT_EQ(spans().lacking(), 0u);
  for (int rank = 0; rank < 4; ++rank)
    expect_whole_steps(spans(), window_->runs().current()->history(), rank);
  const auto place = last(2, "RED.b0.t0.c0<r1");
  ASSERT_TRUE(place);
  view().select(place);
  ASSERT_TRUE(
      window_->panels().timeline.selected_text().startsWith("RED.b0.t0.c0<r1: transfer on rank 2"));
  view().setFocus();
  QTest::keyClick(&view(), Qt::Key_Return);
  QPlainTextEdit& plan = window_->panels().plan.view();
  ASSERT_TRUE(wait([&] {
    return plan.textCursor().selectedText().startsWith("RED.b0.t0.c0<r1 @recv.g0");
  })) << plan.textCursor().selectedText().toStdString();
  EXPECT_EQ(window_->panels().plan.marked(), "RED.b0.t0.c0<r1");
  EXPECT_TRUE(plan.document()->findBlockByNumber(0).text().startsWith("rank 2"));
  EXPECT_TRUE(wait([&] { return !plan.visibleRegion().isEmpty(); }));
}

// Returns the span of each step and bucket: from the first begin to the last end of its chunks.
std::map<std::pair<int, std::string>, TimeRange> ranges_by_hand(const SpanStore& spans,
                                                                const telemetry::History& history,
                                                                int rank) {
  std::map<std::pair<int, std::string>, TimeRange> ranges;
  for (const telemetry::OpRecord& op : history.ops()) {
    const NamedBucket* bucket =
        op.rank == rank ? spans.names(rank).bucket(op.program, op.op) : nullptr;
    if (!bucket) continue;
    const TimeRange range{std::llround(op.begin * 1e9), std::llround(op.end * 1e9)};
    const auto [at, fresh] = ranges.try_emplace({op.step, bucket->token}, range);
    if (!fresh)
      at->second = {std::min(at->second.begin, range.begin), std::max(at->second.end, range.end)};
  }
  return ranges;
}

TEST_F(TimelineWindow, click_on_a_bucket_of_a_real_run_selects_it_in_the_coarse_plan) {
  run_until(40);
  stop();
  const telemetry::History& history = window_->runs().current()->history();
  for (int rank = 0; rank < 4; ++rank) {
    std::map<std::pair<int, std::string>, TimeRange> shown;
    const SpanLane& lane = spans().lane(rank, spans().names(rank).first_bucket_lane);
    for (const auto& track : lane.tracks())
      for (std::size_t at = track->first(); at < track->end();) {
        const BucketSpan bucket = bucket_at(spans(), rank, *track, at);
        const OpSpan& piece = (*track)[at];
        EXPECT_EQ(bucket.waiting + bucket.transfer + bucket.sending + bucket.nothing,
                  bucket.range.width());
        EXPECT_LE(bucket.computing, bucket.range.width());
        EXPECT_TRUE(shown
                        .try_emplace({piece.step,
                                      spans().names(rank).bucket(piece.program, piece.op)->token},
                                     bucket.range)
                        .second);
        at = bucket.end;
      }
    EXPECT_GT(shown.size(), 80u) << "two buckets a step at least";
    EXPECT_EQ(shown, ranges_by_hand(spans(), history, rank));
  }
  const int lane = spans().names(1).first_bucket_lane;
  view().select(SpanAddress{1, lane, 0, spans().lane(1, lane).tracks()[0]->first()});
  const QString token = window_->panels().timeline.selected_text().section(':', 0, 0);
  ASSERT_TRUE(token.startsWith("AR.b")) << token.toStdString();
  view().setFocus();
  QTest::keyClick(&view(), Qt::Key_Return);
  QPlainTextEdit& plan = window_->panels().plan.view();
  ASSERT_TRUE(wait([&] {
    return plan.textCursor().selectedText().startsWith(token + " @comm.g0");
  })) << plan.textCursor().selectedText().toStdString();
}

TEST_F(TimelineWindow, freezes_with_the_charts_while_training_continues) {
  run_until(30);
  ASSERT_TRUE(wait([&] { return view().view().width() > 0; }));
  window_->panels().charts.freeze_action()->trigger();
  EXPECT_TRUE(view().frozen());
  const TimeRange frozen = view().view();
  const std::uint64_t before = spans().taken();
  ASSERT_TRUE(wait([&] { return spans().taken() > before + 2000; }));
  EXPECT_EQ(view().view(), frozen);
  window_->panels().charts.freeze_action()->trigger();
  EXPECT_TRUE(wait([&] { return view().view().begin > frozen.begin; })) << "the view follows again";
  stop();
}

TEST_F(TimelineWindow, run_of_another_experiment_does_not_select_ops_in_the_plan) {
  run_until(20);
  stop();
  window_->document().set_value("strategy.bucket_bytes", 4'000'000);
  view().select(last(1, "F.s0.m0"));
  QTest::keyClick(&view(), Qt::Key_Return);
  QCoreApplication::processEvents();
  EXPECT_TRUE(window_->panels().plan.view().visibleRegion().isEmpty());
  EXPECT_EQ(window_->panels().plan.marked(), "");
}

TEST_F(TimelineWindow, stalest_gradient_of_a_worker_is_found_at_its_push) {
  run_until(60, "four_workers_parameter_server_digits.json");
  stop();
  window_->workspace().raise("staleness");
  auto& table = window_->findChild<StalenessPanel*>()->table();
  ASSERT_TRUE(wait([&] { return table.topLevelItemCount() == 5; }));
  emit table.itemActivated(table.topLevelItem(2), 0);
  ASSERT_TRUE(wait([&] { return !window_->panels().timeline.visibleRegion().isEmpty(); }));
  ASSERT_TRUE(view().selected());
  const SpanAddress push = *view().selected();
  const OpSpan& span = *span_at(spans(), push);
  EXPECT_EQ(push.rank, 2);
  EXPECT_TRUE(
      QString::fromStdString(spans().names(2).token(span.program, span.op)).startsWith("PUSH.b"));
  EXPECT_FALSE(view().rect_of(push).isEmpty()) << "the span is visible";
  const auto* gradients =
      window_->runs().current()->history().find({telemetry::Metric::staleness, 4, 2});
  ASSERT_NE(gradients, nullptr);
  const auto stalest = std::max_element(gradients->values.rbegin(), gradients->values.rend());
  const double taken =
      gradients->seconds[static_cast<std::size_t>(gradients->values.rend() - stalest) - 1];
  EXPECT_LE(static_cast<double>(span.begin) * 1e-9, taken);
  EXPECT_EQ(push_before(spans(), 2, static_cast<Nanoseconds>(taken * 1e9)), push)
      << "no other span is in between";
}

}  // namespace
}  // namespace trainyard::ui::test
