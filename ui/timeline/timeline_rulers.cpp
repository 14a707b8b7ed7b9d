// SPDX-License-Identifier: GPL-3.0-or-later
// Paints the surroundings of a timeline's spans: time and steps above them, ranks and lanes to
// their left.
#include <QFontMetrics>
#include <algorithm>
#include <cmath>
#include <map>

#include "ui/model/text/count_text.h"
#include "ui/theme/theme.h"
#include "ui/timeline/timeline_painter.h"
#include "ui/timeline/timeline_text.h"

namespace trainyard::ui {
namespace {

void paint_time(QPainter& painter, const TimelineScene& scene, const TimelineColors& colors) {
  const QFontMetrics metrics(scene.font);
  const QRect band(scene.body.left(), scene.body.top() - 2 * scene.ruler, scene.body.width(),
                   scene.ruler);
  const int about =
      std::max(1, scene.body.width() / (metrics.horizontalAdvance("0,000.000 ms") * 3 / 2));
  int free = band.left();
  for (const TimeTick& tick : time_ticks(scene.view, about)) {
    const int x = band.left() + static_cast<int>(std::lround(scene.columns().position(tick.at))),
              width = metrics.horizontalAdvance(tick.label);
    painter.setPen(colors.dim);
    painter.drawLine(x, band.bottom() - 3, x, band.bottom());
    if (x + 4 < free || x + 4 + width > band.right()) continue;
    painter.drawText(QRect(x + 4, band.top(), width + 2, band.height()),
                     Qt::AlignLeft | Qt::AlignVCenter, tick.label);
    free = x + width + 2 * kMinGap;
  }
}

// Paints a step on the band of steps. If its number does not fit inside the step, the number is
// right of its end. Returns the right end of the area that the step and its number occupy.
int paint_step(QPainter& painter, const TimelineScene& scene, const TimelineColors& colors,
               const QRect& box, std::int32_t step, bool chosen, int free) {
  if (chosen) painter.fillRect(box, colors.selection);
  painter.setPen(colors.line);
  painter.drawLine(box.topRight(), box.bottomRight());
  const QRect room =
      box.intersected(QRect(scene.body.left(), box.top(), scene.body.width(), box.height()))
          .adjusted(3, 0, -3, 0);
  const QFontMetrics metrics(scene.font);
  const QString number = grouped(step), words = timeline_text("step %1").arg(number);
  const QString text = metrics.horizontalAdvance(words) <= room.width() ? words : number;
  painter.setPen(chosen ? colors.text : colors.dim);
  const int width = metrics.horizontalAdvance(text);
  if (width <= room.width()) return painter.drawText(room, Qt::AlignCenter, text), box.right();
  const QRect beside(box.right() + 3, box.top(), width + 2, box.height());
  if (beside.left() < free || beside.right() > scene.body.right()) return free;
  painter.drawText(beside, Qt::AlignLeft | Qt::AlignVCenter, text);
  return beside.right() + 4 * kMinGap;
}

// Marks the chosen step on each rank separately, because the ranks execute it at different times.
void paint_chosen(QPainter& painter, const TimelineScene& scene, const TimelineColors& colors,
                  std::int32_t chosen) {
  QColor wash = colors.accent;
  wash.setAlpha(28);
  for (int rank = 0; rank < scene.store->ranks(); ++rank) {
    const auto step = step_of_rank(*scene.history, rank, chosen);
    const auto block = scene.rows->rank_block(rank);
    if (!step) continue;
    const double left = scene.columns().position(step->begin),
                 right = scene.columns().position(step->end);
    painter.fillRect(QRectF(scene.body.left() + left, scene.body.top() + block.top - scene.scroll,
                            std::max(right - left, 1.0), block.bottom - block.top),
                     wash);
  }
}

// Paints a tick on the ruler for every step, and the step numbers for which there is room.
void paint_steps(QPainter& painter, const TimelineScene& scene, const TimelineColors& colors,
                 std::optional<std::int32_t> chosen) {
  const auto& steps = scene.steps->steps();
  const Columns columns = scene.columns();
  const QRect band(scene.body.left(), scene.body.top() - scene.ruler, scene.body.width(),
                   scene.ruler);
  int free = band.left();
  for (std::size_t i = scene.steps->first_ending_after(scene.view.begin);
       i < steps.size() && steps[i].range.begin < scene.view.end;) {
    const Nanoseconds before =
        i > 0 ? std::max(steps[i - 1].range.end, steps[i].range.begin) : steps[i].range.begin;
    const int left = std::max(columns.of(before), -1),
              right = std::min(columns.of(steps[i].range.end), columns.pixels() + 1);
    const QRect box(band.left() + left, band.top(), std::max(right - left, 1), band.height());
    free = paint_step(painter, scene, colors, box, steps[i].step, chosen == steps[i].step, free);
    i = std::max(i + 1, right - left < kMinGap
                            ? scene.steps->first_ending_after(columns.begin_of(left + kMinGap))
                            : i + 1);
  }
  painter.setClipRect(scene.body);
  if (chosen) paint_chosen(painter, scene, colors, *chosen);
}

// Paints a fault: a line through the lanes of its rank, and a text beside it. Omits the text if it
// would begin before `free`, the end of the previous one. Returns the right end of the area that
// texts occupy.
int paint_fault(QPainter& painter, const TimelineScene& scene, const TimelineColors& colors,
                const telemetry::Fault& fault, int free) {
  const bool of_link = fault.rank < 0;
  const int ranks = scene.store->ranks();
  if (ranks == 0) return free;
  auto block = scene.rows->rank_block(of_link ? 0 : fault.rank);
  // A link connects several ranks, so its fault covers the lanes of all ranks.
  if (of_link) block.bottom = scene.rows->rank_block(ranks - 1).bottom;
  const int x =
      scene.body.left() + static_cast<int>(std::lround(scene.columns().position(
                              static_cast<Nanoseconds>(std::llround(fault.seconds * 1e9)))));
  const int top = scene.body.top() + block.top - scene.scroll;
  const QColor& ink = Theme::instance().colors().warning;
  painter.setPen(QPen(ink, 2, Qt::DashLine));
  painter.drawLine(x, top, x, top + block.bottom - block.top);
  const QFontMetrics metrics(scene.font);
  const QString words = QString::fromStdString(fault.kind);
  const QRect box(x + 3, top + 1, metrics.horizontalAdvance(words) + 6, metrics.height());
  if (box.left() < free || block.bottom - block.top < metrics.height()) return free;
  painter.fillRect(box, colors.ground);
  painter.setPen(ink);
  painter.drawText(box, Qt::AlignCenter, words);
  return box.right();
}

void paint_rank(QPainter& painter, const TimelineScene& scene, const TimelineColors& colors,
                int rank, const QRect& block, const QString& note) {
  const QFontMetrics metrics(scene.font);
  painter.fillRect(QRect(block.left(), block.top() + 1, 3, block.height() - 2),
                   Theme::instance().series_color(rank));
  const QRect text(block.left() + 8, block.top(), block.width() - 8, metrics.height());
  if (block.height() < metrics.ascent()) return;
  painter.setPen(colors.text);
  painter.drawText(text, Qt::AlignLeft | Qt::AlignVCenter, timeline_text("rank %1").arg(rank));
  painter.setPen(colors.dim);
  if (block.height() >= 2 * metrics.height())
    painter.drawText(text.translated(0, metrics.height()), Qt::AlignLeft | Qt::AlignVCenter, note);
}

}  // namespace

void paint_ruler(QPainter& painter, const TimelineScene& scene, const TimelineColors& colors,
                 std::optional<std::int32_t> chosen) {
  painter.save();
  painter.setFont(scene.font);
  painter.setClipRect(QRect(scene.body.left(), scene.body.top() - 2 * scene.ruler,
                            scene.body.width(), scene.body.height() + 2 * scene.ruler));
  paint_time(painter, scene, colors);
  paint_steps(painter, scene, colors, chosen);
  painter.restore();
}

void paint_faults(QPainter& painter, const TimelineScene& scene, const TimelineColors& colors) {
  painter.save();
  painter.setFont(scene.font);
  painter.setClipRect(scene.body);
  std::map<int, int> free;
  for (const telemetry::Fault& fault : scene.history->faults()) {
    const double at = fault.seconds * 1e9;
    if (at < static_cast<double>(scene.view.begin) || at > static_cast<double>(scene.view.end))
      continue;
    free[fault.rank] = paint_fault(painter, scene, colors, fault, free[fault.rank]);
  }
  painter.restore();
}

void paint_gutter(QPainter& painter, const TimelineScene& scene, const TimelineColors& colors,
                  const QStringList& notes) {
  painter.save();
  painter.setFont(scene.font);
  painter.setClipRect(QRect(0, scene.body.top(), scene.body.left(), scene.body.height()));
  const QFontMetrics metrics(scene.font);
  for (int rank = 0; rank < scene.store->ranks(); ++rank) {
    const auto block = scene.rows->rank_block(rank);
    const QRect box(0, scene.body.top() + block.top - scene.scroll, scene.body.left(),
                    block.bottom - block.top);
    if (box.bottom() >= scene.body.top() && box.top() <= scene.body.bottom())
      paint_rank(painter, scene, colors, rank, box, notes.value(rank));
  }
  painter.setPen(colors.dim);
  for (const LaneRow& row : scene.rows->rows())
    if (const QRect box = scene.row_rect(row); row.height >= metrics.ascent() &&
                                               box.bottom() >= scene.body.top() &&
                                               box.top() <= scene.body.bottom())
      painter.drawText(QRect(0, box.top(), scene.body.left() - 6, box.height()),
                       Qt::AlignRight | Qt::AlignVCenter,
                       QString::fromStdString(
                           scene.store->names(row.rank).lanes[static_cast<std::size_t>(row.lane)]));
  painter.restore();
}

}  // namespace trainyard::ui
