// SPDX-License-Identifier: GPL-3.0-or-later
// Paints a timeline: spans as pixels of an image, for there are many; ruler, names and marks over
// it. What was merged stands as a column: filled, from below, by the share of its time that each
// kind had, what was held back and waiting hatched above, and pale where nothing ran.
#pragma once

#include <QFont>
#include <QImage>
#include <QPainter>

#include "ui/model/step_times.h"
#include "ui/timeline/timeline_colours.h"
#include "ui/timeline/timeline_geometry.h"

namespace trainyard::ui {

struct TimelineScene {
  const SpanStore* store = nullptr;
  const HeldSpans* held = nullptr;
  const StepTimes* steps = nullptr;
  const telemetry::History* history = nullptr;
  const TimelineRows* rows = nullptr;
  TimeRange view;
  QRect body;      // of the widget: where spans are
  int ruler = 0;   // height of each of the two bands above the body: time, and steps
  int scroll = 0;  // pixels that the rows are scrolled up
  double pixel_ratio = 1;
  QFont font;

  Columns columns() const { return {view, std::max(body.width(), 1)}; }
  QRect row_rect(const LaneRow& row) const {
    return {body.left(), body.top() + row.top - scroll, body.width(), row.height};
  }
  QRectF span_rect(const SpanPlace& place,
                   const OpSpan& span) const;  // empty where its row is not shown
};

// The spans that are seen, with their names where they fit.
struct SpansPicture {
  QImage image;
  struct Label {
    QRect box;
    QString text;
    QColor colour;
  };
  std::vector<Label> labels;
  bool merged = false;  // some of them stand together in a column
};
SpansPicture picture_of(const TimelineScene& scene, const TimelineColours& colours);

void paint_picture(QPainter& painter, const TimelineScene& scene, const SpansPicture& picture);
// Time and steps; the chosen one is marked, for each rank as that rank reported it.
void paint_ruler(QPainter& painter, const TimelineScene& scene, const TimelineColours& colours,
                 std::optional<std::int32_t> chosen);
// Where a rank was lost, stalled, slowed down or came back, in words as far as they fit.
void paint_faults(QPainter& painter, const TimelineScene& scene, const TimelineColours& colours);
// Names of ranks and lanes, left of the body; `notes` by rank stand below the rank's name.
void paint_gutter(QPainter& painter, const TimelineScene& scene, const TimelineColours& colours,
                  const QStringList& notes);
void paint_frame(QPainter& painter, const TimelineScene& scene, const QRectF& span,
                 const QColor& colour, double width);

}  // namespace trainyard::ui
