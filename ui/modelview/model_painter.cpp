// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/modelview/model_painter.h"

#include <QCoreApplication>
#include <QPainterPath>
#include <algorithm>
#include <cmath>

#include "ui/modelview/model_metrics.h"
#include "ui/theme/theme.h"

namespace trainyard::ui {
namespace {

QString paint_text(const char* source) {
  return QCoreApplication::translate("model_painter", source);
}

QColor ink_on_rank() { return Theme::instance().dark() ? QColor("#14171c") : QColor("#ffffff"); }

QColor color_of(const ModelColumn& column) {
  return column.rank >= 0 ? Theme::instance().series_color(column.rank) : colors().link;
}

// True if the path overlaps the visible rows of the view.
bool within(const QPolygonF& path, const RowSpan& rows, const ModelGeometry& geometry) {
  const QRectF box = path.boundingRect();
  return box.bottom() >= geometry.row_rect(rows.first).top() &&
         box.top() <= geometry.row_rect(rows.last).bottom();
}

void paint_arrow(QPainter& painter, const QPolygonF& path, const QPen& pen, double head) {
  painter.setPen(pen);
  painter.setBrush(Qt::NoBrush);
  painter.drawPolyline(path);
  const QPointF tip = path.last(), along = tip - path[path.size() - 2];
  const double length = std::max(std::hypot(along.x(), along.y()), 1.0);
  const QPointF back = along / length * head, side(-back.y() * 0.55, back.x() * 0.55);
  painter.setPen(Qt::NoPen);
  painter.setBrush(pen.color());
  painter.drawPolygon(QPolygonF{tip, tip - back + side, tip - back - side});
}

class Painting {
 public:
  Painting(QPainter& painter, const ModelScene& scene)
      : painter_(painter),
        scene_(scene),
        picture_(*scene.picture),
        geometry_(*scene.geometry),
        metrics_(geometry_.metrics()) {
    rows_ = geometry_.rows_between(scene.scroll.y(), scene.scroll.y() + scene.body.height());
  }

  void all() {
    painter_.save();
    painter_.setClipRect(scene_.body);
    painter_.translate(scene_.origin());
    painter_.setFont(Theme::instance().font(kModelLetters));
    bands();
    columns();
    painter_.setRenderHint(QPainter::Antialiasing);
    edges();
    for (int n = rows_.first; n <= rows_.last; ++n) {
      if (n < 0 || n >= picture_.count()) end(n);
      else node(n);
      if (!scene_.overview) figures(n);
    }
    if (!scene_.overview) groups();
    painter_.restore();
    head();
  }

 private:
  bool seen(int first, int last) const { return last >= rows_.first && first <= rows_.last; }
  bool selected(int n) const { return scene_.selected && scene_.selected->contains(n); }

  // Paints a second background color behind every other group of nodes (layer or transformer
  // block).
  void bands() {
    const QColor ground = mixed(colors().canvas, colors().tile, Theme::instance().dark() ? 0.4 : 1);
    for (std::size_t g = 0; g < picture_.groups.size(); ++g) {
      const ModelGroup& group = picture_.groups[g];
      if (g % 2 == 0 && seen(group.first, group.last))
        painter_.fillRect(full_width(geometry_.group_rect(group.first, group.last)), ground);
    }
    if (scene_.hovered >= 0)
      painter_.fillRect(full_width(geometry_.row_rect(scene_.hovered)),
                        mixed(colors().canvas, colors().selection, 0.7));
  }

  QRect full_width(const QRect& row) const {
    return {row.left(), row.top(), std::max(row.width(), scene_.scroll.x() + scene_.body.width()),
            row.height()};
  }

  void columns() {
    for (int c = 0; c < static_cast<int>(picture_.columns.size()); ++c) {
      const QRect column = geometry_.column_rect(c);
      const QRect lane(column.left(), scene_.scroll.y(), column.width(), scene_.body.height());
      if (c == scene_.target) {
        QColor wash = colors().accent;
        wash.setAlpha(45);
        painter_.fillRect(lane, wash);
      }
      painter_.setPen(QPen(colors().grid, 1));
      painter_.drawLine(lane.topRight(), lane.bottomRight());
      if (c == 0) painter_.drawLine(lane.topLeft(), lane.bottomLeft());
    }
  }

  void edges() {
    const double thin = pixels(1), thick = pixels(2), head = scene_.overview ? 0 : pixels(5);
    for (int n = std::max(-1, rows_.first - 1); n < std::min(rows_.last + 1, picture_.count());
         ++n) {
      const bool crosses = n >= 0 && n + 1 < picture_.count() &&
                           geometry_.node_rect(n).left() != geometry_.node_rect(n + 1).left();
      paint_arrow(
          painter_, geometry_.step(n),
          crosses ? QPen(color_of(picture_.column_of(n)), thick) : QPen(colors().link, thin), head);
    }
    for (int n = 0; n < picture_.count(); ++n) {
      const ModelNode& node = picture_.node(n);
      if (node.reads_samples)
        paint_edge(geometry_.addition(-1, n), QPen(colors().dim, pixels(1.4)), head);
      if (node.addend >= 0)
        paint_edge(geometry_.addition(node.addend, n), QPen(colors().dim, pixels(1.4)), head);
      if (node.tied_to >= 0)
        paint_edge(geometry_.tie(n, node.tied_to), QPen(colors().accent, pixels(1.6), Qt::DashLine),
                   head);
    }
  }

  void paint_edge(const QPolygonF& path, const QPen& pen, double head) {
    if (within(path, rows_, geometry_)) paint_arrow(painter_, path, pen, head);
  }

  // Paints the box of the input or of the loss.
  void end(int n) {
    const QRect box = geometry_.node_rect(n);
    painter_.setPen(QPen(colors().link, 1, Qt::DashLine));
    painter_.setBrush(colors().canvas);
    painter_.drawRoundedRect(QRectF(box).adjusted(0.5, 0.5, -0.5, -0.5), radius(box), radius(box));
    if (scene_.overview) return;
    painter_.setPen(colors().dim);
    write(box.adjusted(pixels(8), 0, -pixels(8), 0), Qt::AlignLeft,
          n < 0 ? paint_text("Input") : paint_text("Loss"));
  }

  double radius(const QRect& box) const { return std::min(6.0, box.height() / 3.0); }

  void node(int n) {
    const ModelColumn& column = picture_.column_of(n);
    const QRect box = geometry_.node_rect(n);
    const QColor own = color_of(column);
    const bool chosen = selected(n), is_unplaced = picture_.splits && column.place < 0;
    const QColor fill = chosen            ? colors().selection
                        : scene_.overview ? own
                                          : mixed(colors().card, own, 0.13);
    const QColor edge = chosen        ? colors().accent
                        : is_unplaced ? colors().warning
                                      : mixed(colors().border, own, 0.5);
    const double width = (chosen ? 2 : 1) * (scene_.overview ? 1 : Theme::instance().scale());
    painter_.setPen(QPen(edge, width, is_unplaced ? Qt::DashLine : Qt::SolidLine));
    painter_.setBrush(fill);
    const double inset = width / 2;
    painter_.drawRoundedRect(QRectF(box).adjusted(inset, inset, -inset, -inset), radius(box),
                             radius(box));
    if (n == scene_.current && scene_.focused) focus(box);
    if (scene_.overview) return;
    const int stripe = pixels(4);
    painter_.fillRect(
        QRectF(box.left() + width, box.top() + radius(box), stripe, box.height() - 2 * radius(box)),
        own);
    parts(box.adjusted(stripe + pixels(6), 0, -pixels(6), -pixels(2)), picture_.node(n).split);
    painter_.setPen(colors().text);
    write(box.adjusted(stripe + pixels(6), 0, -pixels(4), 0), Qt::AlignLeft, picture_.node(n).name);
  }

  // Paints the shards of a node below its name, side by side, each in the color of its rank. A
  // shard that several replicas hold has the color of the first of their ranks.
  void parts(const QRect& box, const LayerSplit& split) {
    const int thick = pixels(2);
    for (const LayerShard& part : split.parts) {
      const auto at = [&](std::int64_t number) {
        return box.left() + static_cast<double>(box.width()) * static_cast<double>(number) /
                                static_cast<double>(split.of);
      };
      const double from = at(part.first), to = at(part.first + part.count);
      painter_.fillRect(QRectF(from, box.bottom() - thick, std::max(to - from - 1, 1.0), thick),
                        Theme::instance().series_color(part.ranks.front()));
    }
  }

  void focus(const QRect& box) {
    painter_.setPen(QPen(colors().accent, 1, Qt::DotLine));
    painter_.setBrush(Qt::NoBrush);
    painter_.drawRoundedRect(QRectF(box).adjusted(-2.5, -2.5, 2.5, 2.5), radius(box) + 2,
                             radius(box) + 2);
  }

  void write(const QRect& where, Qt::Alignment side, const QString& words) {
    painter_.drawText(where, static_cast<int>(side | Qt::AlignVCenter),
                      painter_.fontMetrics().elidedText(words, Qt::ElideRight, where.width()));
  }

  void figures(int n) {
    if (n < 0 || n >= picture_.count()) {
      painter_.setPen(colors().dim);
      const QRect first = geometry_.figure_rect(n, 0),
                  last = geometry_.figure_rect(n, kFigures - 1);
      return write((first | last).adjusted(pixels(8), 0, 0, 0), Qt::AlignLeft,
                   n < 0 ? picture_.input : picture_.loss);
    }
    const auto words = figures_of(picture_.node(n));
    painter_.setPen(selected(n) ? colors().text : colors().dim);
    for (int f = 0; f < kFigures; ++f) {
      const QRect cell = geometry_.figure_rect(n, f).adjusted(pixels(8), 0, 0, 0);
      if (static_cast<Figure>(f) == Figure::share)
        share(cell, picture_.node(n), words[static_cast<std::size_t>(f)]);
      else write(cell, f == 0 ? Qt::AlignLeft : Qt::AlignRight, words[static_cast<std::size_t>(f)]);
    }
    if (metrics_.kept > 0)
      write(geometry_.kept_rect(n).adjusted(pixels(12), 0, 0, 0), Qt::AlignLeft,
            kept_text(picture_.node(n)));
  }

  // Paints which fraction of the model's compute the node needs, as text and as a bar, whose
  // full width is the entire model.
  void share(const QRect& cell, const ModelNode& node, const QString& words) {
    const int number = painter_.fontMetrics().horizontalAdvance("100.0 %");
    write({cell.left(), cell.top(), number, cell.height()}, Qt::AlignRight, words);
    const QRectF room(cell.left() + number + pixels(8), cell.center().y() - pixels(3),
                      cell.width() - number - pixels(8), pixels(6));
    painter_.fillRect(room, colors().grid);
    painter_.fillRect(QRectF(room.topLeft(), QSizeF(room.width() * node.share, room.height())),
                      colors().accent);
  }

  // Paints the names of groups beside their rows. If only some rows of a group are visible, the
  // name is beside these.
  void groups() {
    for (const ModelGroup& group : picture_.groups) {
      if (!seen(group.first, group.last)) continue;
      const QRect rows = geometry_.group_rect(group.first, group.last);
      const int left = pixels(8), bracket = metrics_.gutter - pixels(6);
      painter_.setPen(QPen(colors().link, pixels(1)));
      painter_.drawPolyline(QPolygon{QPoint(bracket + pixels(3), rows.top() + pixels(4)),
                                     QPoint(bracket, rows.top() + pixels(4)),
                                     QPoint(bracket, rows.bottom() - pixels(4)),
                                     QPoint(bracket + pixels(3), rows.bottom() - pixels(4))});
      const int line = painter_.fontMetrics().height(), lowest = rows.bottom() - 2 * line;
      const int top =
          std::max(rows.top() + pixels(4), std::min(scene_.scroll.y() + pixels(4), lowest));
      painter_.setPen(colors().text);
      write({left, top, bracket - left, line}, Qt::AlignLeft, group.title);
      painter_.setPen(colors().dim);
      write({left, top + line, bracket - left, line}, Qt::AlignLeft, group_text(group));
    }
  }

  void head() {
    const QRect whole(scene_.body.left(), 0, scene_.body.width(), scene_.body.top());
    painter_.save();
    painter_.setClipRect(whole);
    painter_.fillRect(whole, colors().window);
    painter_.setPen(QPen(colors().border, 1));
    painter_.drawLine(whole.bottomLeft(), whole.bottomRight());
    painter_.setRenderHint(QPainter::Antialiasing);
    painter_.translate(scene_.body.left() - scene_.scroll.x(), 0);
    for (int c = 0; c < static_cast<int>(picture_.columns.size()); ++c) column_head(c);
    if (!scene_.overview) headings();
    painter_.restore();
  }

  void column_head(int c) {
    const ModelColumn& column = picture_.columns[static_cast<std::size_t>(c)];
    const QRect where = geometry_.column_rect(c).adjusted(
        scene_.overview ? pixels(2) : metrics_.lane, 0, -pixels(2), 0);
    painter_.setFont(Theme::instance().font(kModelLetters, true));
    const int line = painter_.fontMetrics().height();
    QRect title(where.left(), pixels(3), where.width(), line);
    if (column.rank >= 0) title.setLeft(pill(title, column) + pixels(6));
    painter_.setPen(column.place < 0 && picture_.splits ? colors().warning : colors().text);
    write(title, Qt::AlignLeft, column.title);
    painter_.setFont(Theme::instance().font(kModelLetters));
    painter_.setPen(colors().dim);
    if (picture_.splits)
      write({where.left(), title.bottom() + 1, where.width(), line}, Qt::AlignLeft,
            scene_.overview ? share_text(column.share) : column_text(column));
  }

  // Paints the rank of a column as a number, in the color of the rank. Returns the x coordinate of
  // the right end.
  int pill(const QRect& line, const ModelColumn& column) {
    const QString number = QString::number(column.rank);
    const QRect box(
        line.left(), line.top(),
        painter_.fontMetrics().horizontalAdvance(number) + line.height() / 2 + pixels(4),
        line.height());
    painter_.setPen(Qt::NoPen);
    painter_.setBrush(color_of(column));
    painter_.drawRoundedRect(box, line.height() / 2.0, line.height() / 2.0);
    painter_.setPen(ink_on_rank());
    painter_.drawText(box, Qt::AlignCenter, number);
    return box.right();
  }

  void headings() {
    painter_.setPen(colors().dim);
    const auto words = figure_headings();
    const int line = painter_.fontMetrics().height(), top = metrics_.head - line - pixels(3);
    for (int f = 0; f < kFigures; ++f) {
      const QRect cell = geometry_.figure_rect(0, f).adjusted(pixels(8), 0, 0, 0);
      const int width = static_cast<Figure>(f) == Figure::share
                            ? painter_.fontMetrics().horizontalAdvance("100.0 %")
                            : cell.width();
      write({cell.left(), top, width, line}, f == 0 ? Qt::AlignLeft : Qt::AlignRight,
            words[static_cast<std::size_t>(f)]);
    }
    const QRect kept = geometry_.kept_rect(0).adjusted(pixels(12), 0, 0, 0);
    if (metrics_.kept > 0)
      write({kept.left(), top, kept.width(), line}, Qt::AlignLeft, kept_heading());
  }

  QPainter& painter_;
  const ModelScene& scene_;
  const ModelPicture& picture_;
  const ModelGeometry& geometry_;
  const ModelMetrics& metrics_;
  RowSpan rows_;
};

}  // namespace

void paint_model(QPainter& painter, const ModelScene& scene) { Painting(painter, scene).all(); }

}  // namespace trainyard::ui
