// SPDX-License-Identifier: GPL-3.0-or-later
// Timeline of a live or old run: the lanes of every rank over time. It has zoom, pan, a read-out
// under the pointer and a selected op. The cost of painting depends on the number of pixels, not on
// the number of ops.
#pragma once

#include <optional>

#include "ui/timeline/time_gestures.h"
#include "ui/timeline/timeline_painter.h"
#include "ui/timeline/timeline_walk.h"

namespace trainyard::ui {

class TimelineView : public TimeView {
  Q_OBJECT
 public:
  explicit TimelineView(QWidget* parent = nullptr);

  // Sets the recording to show. The three objects must exist until the view is destroyed or this
  // function is called with others. Null pointers show nothing.
  void set_source(const SpanStore* store, const telemetry::History* history,
                  const StepTimes* steps);
  void refresh();  // shows what was added to the recording
  void set_empty_text(const QString& text) { empty_text_ = text, viewport()->update(); }
  const QString& empty_text() const { return empty_text_; }
  void set_notes(const QStringList& by_rank);

  TimeRange home_range() const;
  void show_range(
      const TimeRange& range) override;  // clips the range to home_range(), and stops following
  void home() override;
  void zoom_at(double fraction, double factor) override;
  void set_following(bool following);  // keeps the view's end at the last recorded op
  bool following() const { return following_; }
  // Sets whether the displayed spans stay the same while new data arrives. The user can still zoom
  // and pan.
  void set_frozen(bool frozen);
  bool frozen() const { return held_.holds(); }
  void set_thin(bool thin);  // low lanes without names, for many ranks
  bool thin() const { return thin_; }

  std::optional<SpanAddress> selected() const { return selected_; }
  void select(std::optional<SpanAddress> place, bool into_view = true);
  std::optional<std::int32_t> chosen_step() const { return chosen_step_; }
  void choose_step(std::optional<std::int32_t> step);
  bool merged() const { return merged_; }  // true if some ops shared a column in the last painting
  QRectF rect_of(const SpanAddress& place) const;  // rectangle of a span, in viewport coordinates
  std::optional<SpanAddress> place_at(const QPointF& at) const;

 signals:
  void view_changed();
  void following_changed(bool following);
  void step_chosen();

 protected:
  bool steers() const override { return store_ && store_->extent(); }
  QRect time_body() const override { return scene().body; }
  QRect box_body() const override { return scene().body; }
  void restyle() override;
  void read_at(const QPointF& at) override;
  void clear_readout() override { hovered_ = {}; }
  void click(const QPointF& at) override;
  Under under(const QPointF& at) const override;
  bool act_by_key(const QKeyEvent& event) override;
  bool navigate_by_key(int key) override;

  void resizeEvent(QResizeEvent* event) override;
  void paintEvent(QPaintEvent* event) override;

 private:
  TimelineScene scene() const;
  void lay_out();
  void fit_scroll_bar();
  void first_view();
  void set_view(const TimeRange& range);
  void release();
  void repaint_all();
  void paint_marks(QPainter& painter);
  std::optional<SpanAddress> track_place_at(const QPointF& at) const;
  std::optional<SpanPiece> merged_at(const SpanAddress& place, const QPointF& at) const;
  void walk_to_lane(int way);
  void walk_along(Walk way);
  void start_walking();
  void bring_into_view(const SpanAddress& place);

  const SpanStore* store_ = nullptr;
  const telemetry::History* history_ = nullptr;
  const StepTimes* steps_ = nullptr;
  TimelineRows rows_;
  FrozenSpans held_;
  TimeRange held_extent_;
  bool viewed_ = false;  // true if the user changed the visible range
  bool following_ = true, thin_ = false, merged_ = false, stale_ = true;
  SpansPicture picture_;
  QString empty_text_;
  QStringList notes_;
  int gutter_ = 0, ruler_ = 0, laid_out_lanes_ = -1;

  std::optional<SpanAddress> selected_;
  std::optional<std::int32_t> chosen_step_;
  QRectF hovered_;
};

}  // namespace trainyard::ui
