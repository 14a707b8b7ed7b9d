// SPDX-License-Identifier: GPL-3.0-or-later
// Painting and read-out of a timeline.
#include <QPaintEvent>
#include <QPainter>
#include <algorithm>
#include <cmath>

#include "ui/theme/theme.h"
#include "ui/timeline/timeline_view.h"

namespace trainyard::ui {
namespace {

constexpr int kNear = 3;  // pixels; tolerance for pointing at an op

}  // namespace

void TimelineView::paintEvent(QPaintEvent*) {
  QPainter painter(viewport());
  painter.fillRect(viewport()->rect(), colors_.ground);
  if (!store_ || !store_->extent() || view_.width() <= 0) {
    painter.setPen(colors_.dim);
    painter.setFont(Theme::instance().font());
    painter.drawText(viewport()->rect().adjusted(2 * kGrid, kGrid, -2 * kGrid, -kGrid),
                     Qt::AlignCenter | Qt::TextWordWrap, empty_text_);
    emit painted();
    return;
  }
  const TimelineScene now = scene();
  if (stale_ || picture_.image.isNull()) {
    picture_ = picture_of(now, colors_);
    if (!reading_.title.isEmpty()) read_at(pointer_);  // another op may be under the pointer now
  }
  stale_ = false;
  merged_ = picture_.merged;
  paint_picture(painter, now, picture_);
  paint_ruler(painter, now, colors_, chosen_step_);
  paint_faults(painter, now, colors_);
  paint_gutter(painter, now, colors_, notes_);
  paint_marks(painter);
  paint_readout(painter);
  emit painted();
}

void TimelineView::paint_marks(QPainter& painter) {
  const TimelineScene now = scene();
  if (!hovered_.isEmpty()) paint_frame(painter, now, hovered_, colors_.text, 1);
  if (selected_)
    paint_frame(painter, now, rect_of(*selected_), colors_.accent, hasFocus() ? 2.5 : 1.5);
  if (hasFocus() && !selected_) paint_focus(painter);
  paint_band(painter);
}

// Returns the address of the track at a point; nothing if there is no lane at the point.
std::optional<SpanAddress> TimelineView::track_place_at(const QPointF& at) const {
  if (!store_ || rows_.rows().empty()) return {};
  const TimelineScene now = scene();
  if (!QRectF(now.body).contains(at)) return {};
  const LaneRow& row = rows_.rows()[static_cast<std::size_t>(
      rows_.row_at(qRound(at.y()) - now.body.top() + now.scroll))];
  const QRect box = now.row_rect(row);
  const SpanLane& lane = store_->lane(row.rank, row.lane);
  if (lane.empty() || !box.adjusted(0, -1, 0, 1).contains(at.toPoint())) return {};
  const QRect inner = box.adjusted(0, 1, 0, box.height() > 4 ? -1 : 0);
  const int tracks = drawn_tracks(lane, inner.height());
  if (tracks == 0) return SpanAddress{row.rank, row.lane, -1, 0};
  const int track =
      std::clamp(static_cast<int>((at.y() - inner.top()) * tracks / std::max(inner.height(), 1)), 0,
                 tracks - 1);
  return SpanAddress{row.rank, row.lane, track, 0};
}

std::optional<SpanAddress> TimelineView::place_at(const QPointF& at) const {
  const auto track = track_place_at(at);
  if (!track) return {};
  const Columns columns = scene().columns();
  const double x = at.x() - scene().body.left();
  return span_near(*store_, held_, *track, columns.time_at(x),
                   columns.time_at(x + kNear) - columns.time_at(x));
}

// Returns the merged spans that are painted as one column of pixels at a point.
std::optional<SpanPiece> TimelineView::merged_at(const SpanAddress& place,
                                                 const QPointF& at) const {
  const TimelineScene now = scene();
  const SpanTrack* track = track_at(*store_, place);
  const double column = (at.x() - now.body.left()) * now.pixel_ratio;
  Columns columns{now.view, std::max(1, qRound(now.body.width() * now.pixel_ratio))};
  std::vector<SpanPiece> pieces;
  if (!track || !cut_into_pieces(*track, held_.end(*track), columns, pieces)) return {};
  const auto here = std::ranges::find_if(
      pieces, [&](const SpanPiece& piece) { return column >= piece.left && column < piece.right; });
  return here != pieces.end() && here->spans > 1 ? std::optional(*here) : std::nullopt;
}

void TimelineView::read_at(const QPointF& at) {
  pointer_ = at;
  reading_ = {};
  hovered_ = {};
  const auto place = place_at(at);
  const auto piece = place ? merged_at(*place, at) : std::nullopt;
  if (piece) {
    reading_ = span_text(*store_, *place, *piece);
  } else if (place) {
    reading_ = span_text(*store_, *history_, *place);
    hovered_ = rect_of(*place);
  }
}

}  // namespace trainyard::ui
