// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/timeline/pipeline_painter.h"

#include <QFontMetrics>
#include <algorithm>
#include <cmath>

#include "ui/theme/theme.h"
#include "ui/timeline/pipeline_text.h"
#include "ui/timeline/timeline_text.h"

namespace trainyard::ui {
namespace {

using experiment::Pass;

constexpr int kEdgedCell = 4;  // pixels; minimum width of a cell with an edge
constexpr int kTick = 4;       // length of a ruler's tick in pixels
// Fraction of the text color that is mixed into the cells of a rank's last stage, to distinguish
// the stages of one rank. The rank's other stages get less.
constexpr double kChunkShade = 0.2;

class PipelinePainting {
 public:
  PipelinePainting(QPainter& painter, const PipelineScene& scene, const TimelineColors& colors,
                   const CellMarks& marks)
      : painter_(painter), scene_(scene), colors_(colors), marks_(marks), metrics_(scene.font) {}

  void paint(CellBlock block) {
    painter_.setFont(scene_.font);
    paint_title(block);
    const StepCells* cells = scene_.picture->cells(block);
    if (!cells) return paint_why_empty(block);
    for (int rank = 0; rank < scene_.rows(block); ++rank) {
      if (scene_.row(block, rank).bottom() < 0 ||
          scene_.row(block, rank).top() > scene_.size.height())
        continue;
      paint_name(block, rank);
      paint_row(block, *cells, rank);
    }
    paint_ruler(block, *cells);
  }

 private:
  void paint_title(CellBlock block) {
    const QRect box = scene_.title(block);
    painter_.setPen(colors_.text);
    painter_.setFont(Theme::instance().font(0.92, true));
    const QFontMetrics metrics(painter_.font());
    painter_.drawText(
        box, Qt::AlignLeft | Qt::AlignVCenter,
        metrics.elidedText(block_title(*scene_.picture, block), Qt::ElideRight, box.width()));
    painter_.setFont(scene_.font);
  }

  void paint_why_empty(CellBlock block) {
    painter_.setPen(colors_.dim);
    const QRect box(kMinGap, scene_.body(block).top(), scene_.size.width() - 2 * kMinGap,
                    2 * scene_.line);
    painter_.drawText(box, Qt::AlignLeft | Qt::AlignTop | Qt::TextWordWrap,
                      why_block_is_empty(*scene_.picture, block));
  }

  // Paints the name of a rank. If there is room, paints the layers of the rank below or beside it.
  void paint_name(CellBlock block, int rank) {
    const QRect row = scene_.row(block, rank), box(0, row.top(), scene_.gutter, row.height());
    painter_.fillRect(QRect(box.left(), box.top() + 1, 3, box.height() - 2),
                      Theme::instance().series_color(rank));
    const QString name = timeline_text("rank %1").arg(rank);
    const QString layers = QString::fromStdString(scene_.picture->shape(block)->layers_of(rank));
    const bool below = box.height() >= 2 * metrics_.height();
    const QRect line(box.left() + 8, below ? box.center().y() - metrics_.height() : box.top(),
                     box.width() - 14, below ? metrics_.height() : box.height());
    painter_.setPen(colors_.text);
    painter_.drawText(line, Qt::AlignLeft | Qt::AlignVCenter, name);
    const int used = below ? 0 : metrics_.horizontalAdvance(name + " ");
    const QRect rest =
        line.adjusted(used, below ? metrics_.height() : 0, 0, below ? metrics_.height() : 0);
    painter_.setPen(colors_.dim);
    painter_.drawText(rest, (below ? Qt::AlignLeft : Qt::AlignRight) | Qt::AlignVCenter,
                      metrics_.elidedText(layers, Qt::ElideRight, rest.width()));
  }

  // Paints the pipeline cells of a rank. Time without a cell is painted as idle.
  void paint_row(CellBlock block, const StepCells& cells, int rank) {
    painter_.save();
    painter_.setClipRect(scene_.row(block, rank));
    const IdleColors idle = idle_colors(colors_);
    for (const TimeRange& gap : cells.idle(rank)) {
      const QRectF box = box_of(block, rank, gap);
      painter_.fillRect(box, idle.ground);
      painter_.fillRect(box, QBrush(idle.line, Qt::BDiagPattern));
    }
    const auto& own = cells.ranks[static_cast<std::size_t>(rank)];
    for (std::size_t i = 0; i < own.size(); ++i) paint_cell({block, rank, i}, own[i]);
    painter_.restore();
  }

  QRectF box_of(CellBlock block, int rank, const TimeRange& range) const {
    const QRect row = scene_.row(block, rank);
    const double left = std::max(scene_.x_of(block, range.begin), row.left() - 1.0),
                 right = std::min(scene_.x_of(block, range.end), row.right() + 2.0);
    return QRectF(left, row.top() + 1, std::max(right - left, 0.0), row.height() - 2);
  }

  void paint_cell(const CellAddress& place, const PassCell& cell) {
    const QRectF box = scene_.rect_of(place);
    if (box.right() < scene_.body(place.block).left() ||
        box.left() > scene_.body(place.block).right() + 1)
      return;
    const PipelineShape& shape = *scene_.picture->shape(place.block);
    const QColor color =
        pass_color(colors_, cell.of.pass, shape.chunk(cell.of.stage), shape.chunks());
    painter_.fillRect(box, color);
    if (box.width() >= kEdgedCell)
      painter_.fillRect(QRectF(box.left(), box.top(), 1, box.height()),
                        mixed(color, colors_.ground, 0.6));
    const QString label = cell_label(shape, cell.of);
    if (metrics_.horizontalAdvance(label) + 3 <= box.width() && box.height() >= metrics_.ascent()) {
      painter_.setPen(text_on(color));
      painter_.drawText(box, Qt::AlignCenter, label);
    }
    paint_marks(place, cell, box);
  }

  void paint_marks(const CellAddress& place, const PassCell& cell, const QRectF& box) {
    const PassCell* pointed = marks_.hovered ? scene_.cell(*marks_.hovered) : nullptr;
    if (pointed && pointed->of.micro == cell.of.micro)
      frame(box, colors_.text, marks_.hovered == place ? 2 : 1);
    if (marks_.selected != place) return;
    // A second line between the frame and the cell, whose fill may have the color of the frame.
    frame(box, colors_.ground, marks_.focused ? 5 : 4);
    frame(box, colors_.accent, marks_.focused ? 3 : 2);
  }

  void frame(const QRectF& box, const QColor& color, double width) {
    painter_.setBrush(Qt::NoBrush);
    painter_.setPen(QPen(color, width));
    painter_.drawRect(box.adjusted(width / 2, width / 2, -width / 2, -width / 2));
  }

  // Paints a ruler. Its times are counted from the start of the first cell of the step.
  void paint_ruler(CellBlock block, const StepCells& cells) {
    const QRect band = scene_.ruler(block);
    const TimeRange seen{scene_.time_at(block, band.left()) - cells.range.begin,
                         scene_.time_at(block, scene_.body(block).right() + 1) - cells.range.begin};
    const int about = std::max(1, band.width() / (metrics_.horizontalAdvance("000.000 ms") * 2));
    int free = band.left();
    painter_.setPen(colors_.dim);
    for (const TimeTick& tick : time_ticks(seen, about)) {
      const int x = static_cast<int>(std::lround(scene_.x_of(block, tick.at + cells.range.begin))),
                width = metrics_.horizontalAdvance(tick.label);
      painter_.drawLine(x, band.top(), x, band.top() + kTick);
      if (x + kTick < free || x + kTick + width > band.right()) continue;
      painter_.drawText(QRect(x + kTick, band.top(), width + 2, band.height()),
                        Qt::AlignLeft | Qt::AlignVCenter, tick.label);
      free = x + width + 2 * kMinGap;
    }
  }

  QPainter& painter_;
  const PipelineScene& scene_;
  const TimelineColors& colors_;
  const CellMarks& marks_;
  QFontMetrics metrics_;
};

}  // namespace

QColor pass_color(const TimelineColors& colors, Pass pass, int chunk, int chunks) {
  const QColor computing = colors.of(SpanKind::backward);
  if (pass == Pass::backward_weight) return mixed(computing, colors.text, 0.55);
  const QColor base = pass == Pass::forward ? mixed(computing, colors.ground, 0.62) : computing;
  return chunks > 1 ? mixed(base, colors.text, kChunkShade * chunk / (chunks - 1)) : base;
}

IdleColors idle_colors(const TimelineColors& colors) {
  return {mixed(colors.dim, colors.ground, 0.45), mixed(colors.dim, colors.ground, 0.93)};
}

void paint_pipeline(QPainter& painter, const PipelineScene& scene, const TimelineColors& colors,
                    const CellMarks& marks) {
  PipelinePainting painting(painter, scene, colors, marks);
  for (const CellBlock block : kCellBlocks) painting.paint(block);
}

}  // namespace trainyard::ui
