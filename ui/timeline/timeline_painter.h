// SPDX-License-Identifier: GPL-3.0-or-later
// Paints a timeline. Spans are painted as pixels of an image, because there are many of them; the
// ruler, names and marks are painted over the image. If several spans share a column of pixels,
// they are merged: each kind of op fills a fraction of the column, from the bottom, and hatched
// fractions for held-back and waiting time follow. The column is pale where no op ran.
#pragma once

#include <QFont>
#include <QImage>
#include <QPainter>

#include "ui/model/spans/step_times.h"
#include "ui/timeline/timeline_colors.h"
#include "ui/timeline/timeline_geometry.h"

namespace trainyard::ui {

struct TimelineScene {
  const SpanStore* store = nullptr;
  const FrozenSpans* held = nullptr;
  const StepTimes* steps = nullptr;
  const telemetry::History* history = nullptr;
  const TimelineRows* rows = nullptr;
  TimeRange view;
  QRect body;      // area of spans in the widget
  int ruler = 0;   // height of each of the two bands above the body: time and steps
  int scroll = 0;  // pixels that the rows are scrolled up
  double pixel_ratio = 1;
  QFont font;

  Columns columns() const { return {view, std::max(body.width(), 1)}; }
  QRect row_rect(const LaneRow& row) const {
    return {body.left(), body.top() + row.top - scroll, body.width(), row.height};
  }
  QRectF span_rect(const SpanAddress& place,
                   const OpSpan& span) const;  // empty if the span's row is not shown
};

// Image of the visible spans, and the labels of those spans that have room for one.
struct SpansPicture {
  QImage image;
  struct Label {
    QRect box;
    QString text;
    QColor color;
  };
  std::vector<Label> labels;
  bool merged = false;  // true if some spans are merged into a column
};
SpansPicture picture_of(const TimelineScene& scene, const TimelineColors& colors);

void paint_picture(QPainter& painter, const TimelineScene& scene, const SpansPicture& picture);
// Paints the ruler of time and the band of steps. Marks the chosen step on each rank, at the time
// that the rank reported for it.
void paint_ruler(QPainter& painter, const TimelineScene& scene, const TimelineColors& colors,
                 std::optional<std::int32_t> chosen);
// Paints marks at the times when a rank was lost, stalled, slowed down or rejoined. If there is
// room, a text is beside the mark.
void paint_faults(QPainter& painter, const TimelineScene& scene, const TimelineColors& colors);
// Paints the names of ranks and lanes to the left of the spans. `notes` has one text per rank,
// which is painted below the rank's name.
void paint_gutter(QPainter& painter, const TimelineScene& scene, const TimelineColors& colors,
                  const QStringList& notes);
void paint_frame(QPainter& painter, const TimelineScene& scene, const QRectF& span,
                 const QColor& color, double width);

}  // namespace trainyard::ui
