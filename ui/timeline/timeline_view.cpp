// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/timeline/timeline_view.h"

#include <QScrollBar>
#include <algorithm>

#include "ui/theme/theme.h"

namespace trainyard::ui {
namespace {

constexpr std::size_t kFirstSteps = 3;  // number of steps that are visible at first
// A view that follows the run adapts its width until the run has this many steps, because the first
// steps are slow. After that, the width is constant.
constexpr std::size_t kWarmupSteps = 20;
constexpr int kThinLane = 5, kRankGap = 6;  // pixels at scale 1

// Returns the total number of lanes over all ranks. If it changes, the rows must be laid out again.
int count_lanes(const SpanStore& store) {
  int lanes = 0;
  for (int rank = 0; rank < store.ranks(); ++rank)
    lanes += store.lanes(rank) + (store.lane(rank, 0).empty() ? 0 : 1);
  return lanes;
}

}  // namespace

TimelineView::TimelineView(QWidget* parent) : TimeView(parent) {
  setAccessibleName(tr("Timeline"));
  connect(verticalScrollBar(), &QScrollBar::valueChanged, this, &TimelineView::repaint_all);
  restyle();
}

void TimelineView::restyle() {
  colors_ = timeline_colors();
  const QFontMetrics metrics(Theme::instance().font(0.92));
  ruler_ = metrics.height() + 4;
  gutter_ =
      metrics.horizontalAdvance("rank 00 ") + metrics.horizontalAdvance("buckets.g0 ") + kGrid;
  laid_out_lanes_ = -1;
  lay_out();
}

void TimelineView::set_source(const SpanStore* store, const telemetry::History* history,
                              const StepTimes* steps) {
  store_ = store, history_ = history, steps_ = steps;
  view_ = {}, viewed_ = false;
  held_.release();
  selected_.reset();
  chosen_step_.reset();
  reading_ = {};
  hovered_ = {};
  laid_out_lanes_ = -1;
  lay_out();
  refresh();
  emit selection_changed();
}

TimelineScene TimelineView::scene() const {
  const int above = 2 * ruler_;
  return {store_,
          &held_,
          steps_,
          history_,
          &rows_,
          view_,
          QRect(gutter_, above, std::max(viewport()->width() - gutter_, 1),
                std::max(viewport()->height() - above, 1)),
          ruler_,
          verticalScrollBar()->value(),
          devicePixelRatioF(),
          Theme::instance().font(0.92)};
}

void TimelineView::lay_out() {
  const int lanes = store_ ? count_lanes(*store_) : 0;
  if (lanes == laid_out_lanes_) return;
  laid_out_lanes_ = lanes;
  const int name = QFontMetrics(Theme::instance().font(0.92)).height() + 2;
  const int lane = thin_ ? std::max(kThinLane, Theme::instance().pixels(kThinLane)) : name;
  if (store_) rows_.lay_out(*store_, lane, thin_ ? kRankGap / 2 : kRankGap);
  else rows_ = {};
  fit_scroll_bar();
  repaint_all();
}

void TimelineView::fit_scroll_bar() {
  const int page = scene().body.height();
  verticalScrollBar()->setPageStep(page);
  verticalScrollBar()->setSingleStep(QFontMetrics(font()).height() * 2);
  verticalScrollBar()->setRange(0, std::max(0, rows_.height() - page));
}

TimeRange TimelineView::home_range() const {
  if (held_.holds()) return home_of(held_extent_);
  return store_ && store_->extent() ? home_of(*store_->extent()) : TimeRange{};
}

// Shows the last few steps, so that ops can be distinguished. Shows everything if no step was
// reported yet. Called until the user changes the visible range.
void TimelineView::first_view() {
  const auto& steps = steps_->steps();
  if (steps.empty()) return set_view(home_range());
  const StepTime& first = steps[steps.size() - std::min(kFirstSteps, steps.size())];
  set_view(zoomed({first.range.begin, steps.back().range.end}, 0, 1.02));
}

void TimelineView::refresh() {
  if (!store_ || !store_->extent()) return viewport()->update();
  lay_out();
  if (!held_.holds()) {
    if (view_.width() <= 0 || (!viewed_ && steps_->steps().size() <= kWarmupSteps)) first_view();
    else if (following_) set_view(ending_at(view_, store_->extent()->end + view_.width() / 50));
  }
  repaint_all();
}

void TimelineView::set_view(const TimeRange& range) {
  const TimeRange wanted = within_home(range, home_range());
  if (wanted == view_) return;
  view_ = wanted;
  repaint_all();
  emit view_changed();
}

void TimelineView::release() {
  viewed_ = true;
  set_following(false);
}

void TimelineView::show_range(const TimeRange& range) {
  release();
  set_view(range);
}

void TimelineView::home() { show_range(home_range()); }

// Zooms by `factor`. The time at `fraction` of the width stays in place. In a view that follows the
// run, the end stays in place instead.
void TimelineView::zoom_at(double fraction, double factor) {
  viewed_ = true;
  set_view(zoomed(view_, following_ ? 1 : fraction, factor));
}

void TimelineView::set_following(bool following) {
  if (following == following_) return;
  following_ = following;
  if (following) refresh();
  emit following_changed(following);
}

void TimelineView::set_frozen(bool frozen) {
  if (frozen == held_.holds()) return;
  if (frozen && store_) {
    held_.hold(*store_);
    held_extent_ = store_->extent().value_or(TimeRange{});
  } else {
    held_.release();
  }
  refresh();
}

void TimelineView::set_thin(bool thin) {
  thin_ = thin;
  laid_out_lanes_ = -1;
  lay_out();
}

void TimelineView::set_notes(const QStringList& by_rank) {
  if (by_rank == notes_) return;
  notes_ = by_rank;
  viewport()->update();
}

void TimelineView::choose_step(std::optional<std::int32_t> step) {
  if (step == chosen_step_) return;
  chosen_step_ = step;
  viewport()->update();
  emit step_chosen();
}

void TimelineView::select(std::optional<SpanAddress> place, bool into_view) {
  if (place && into_view) bring_into_view(*place);
  if (place == selected_) return;
  selected_ = place;
  setAccessibleDescription(selected_ ? span_text(*store_, *history_, *selected_).sentence()
                                     : QString());
  viewport()->update();
  emit selection_changed();
}

// Scrolls to a span that is not completely visible. Centers it in time; zooms out first if it is
// longer than the visible range.
void TimelineView::bring_into_view(const SpanAddress& place) {
  const OpSpan* span = span_at(*store_, place);
  const int row = rows_.row_of(place.rank, place.lane);
  if (!span || row < 0) return;
  const LaneRow& lane = rows_.rows()[static_cast<std::size_t>(row)];
  QScrollBar& bar = *verticalScrollBar();
  if (lane.top < bar.value()) bar.setValue(lane.top - kRankGap);
  if (lane.top + lane.height > bar.value() + bar.pageStep())
    bar.setValue(lane.top + lane.height + kRankGap - bar.pageStep());
  if (span->begin >= view_.begin && span->end <= view_.end) return;
  if (span->end - span->begin > view_.width())
    return show_range(zoomed({span->begin, span->end}, 0.5, 1.2));
  const Nanoseconds middle = span->begin + (span->end - span->begin) / 2;
  show_range({middle - view_.width() / 2, middle + view_.width() / 2});
}

QRectF TimelineView::rect_of(const SpanAddress& place) const {
  const OpSpan* span = store_ ? span_at(*store_, place) : nullptr;
  return span ? scene().span_rect(place, *span) : QRectF();
}

void TimelineView::repaint_all() {
  stale_ = true;
  viewport()->update();
}

void TimelineView::resizeEvent(QResizeEvent* event) {
  TimeView::resizeEvent(event);
  fit_scroll_bar();
  repaint_all();
}

}  // namespace trainyard::ui
