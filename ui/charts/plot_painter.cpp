// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/charts/plot_painter.h"

#include <QFontInfo>
#include <QFontMetricsF>
#include <QPainter>
#include <algorithm>
#include <cmath>

#include "ui/theme/theme.h"

namespace trainyard::ui {

PlotStyle plot_style(const QFont& font) {
  const Colours& colours = Theme::instance().colours();
  return {colours.card, colours.text, colours.dim, colours.grid, colours.accent, colours.warning, font, std::max(1.5, QFontMetricsF(font).height() / 10)};
}

QPen series_pen(const SeriesStyle& style, double width, bool pale) {
  const Theme& theme = Theme::instance();
  QPen pen = theme.series_pen(style.colour, width);
  if (style.dashed) pen = *style.dashed ? QPen(pen.color(), width, Qt::CustomDashLine) : QPen(pen.color(), width);
  if (style.dashed == true) pen.setDashPattern({4, 3});
  QColor colour = pen.color();
  if (pale) colour.setAlphaF(theme.dark() ? 0.5F : 0.42F);
  pen.setColor(colour);
  pen.setCapStyle(pen.style() == Qt::SolidLine ? Qt::SquareCap : Qt::FlatCap);
  return pen;
}

QFont scaled(QFont font, double factor) {
  font.setPointSizeF(std::max(1.0, QFontInfo(font).pointSizeF() * factor));
  return font;
}

double badge_strip(const PlotStyle& style) { return QFontMetricsF(scaled(style.font, 0.82)).height() * 1.35 + 5; }

QPointF PlotMap::at(double x_value, double value, Side side) const {
  const Span& own = y[side == Side::left ? 0 : 1];
  const double shown = log ? std::log10(value) : value;
  return {area.left() + (x_value - x.low) / x.width() * area.width(), area.bottom() - (shown - own.low) / own.width() * area.height()};
}

// Liang and Barsky, 1984.
std::optional<QLineF> clipped(const QLineF& line, const QRectF& area) {
  double from = 0, to = 1;
  const double dx = line.dx(), dy = line.dy();
  const auto cut = [&](double direction, double room) {
    if (direction == 0) return room >= 0;
    const double at = room / direction;
    if (direction < 0) from = std::max(from, at);
    else to = std::min(to, at);
    return from <= to;
  };
  const bool meets =
      cut(-dx, line.x1() - area.left()) && cut(dx, area.right() - line.x1()) && cut(-dy, line.y1() - area.top()) && cut(dy, area.bottom() - line.y1());
  if (!meets) return {};
  return QLineF(line.pointAt(from), line.pointAt(to));
}

QColor area_colour(const SeriesStyle& style, const QColor& background) {
  return mixed(background, Theme::instance().series_colour(style.colour), Theme::instance().dark() ? 0.4 : 0.3);
}

namespace {

// Lines that touch, from zero to zero.
void add_to_area(DrawnSeries& drawn, const PlotMap& map, Side side, QPointF at, bool joined) {
  const double zero = std::min(map.at(map.x.low, 0, side).y(), map.area.bottom() + 1);
  if (joined && !drawn.areas.empty()) drawn.areas.back().insert(drawn.areas.back().size() - 1, at);
  else drawn.areas.push_back(QPolygonF({QPointF(at.x(), zero), at, QPointF(at.x(), zero)}));
  drawn.areas.back().back().setX(at.x());
}

// A line that is about as short as a pixel is wide: what it covers of each column. Thousands of them take 40 ms to stroke.
void add_columns(DrawnSeries& drawn, const QLineF& line) {
  const double half = drawn.pen.widthF() / 2, slope = line.dx() == 0 ? 0 : line.dy() / line.dx();
  for (double x = std::floor(line.x1()); x <= line.x2(); ++x) {
    const double enters = line.y1() + slope * (std::max(x, line.x1()) - line.x1());
    const double leaves = line.dx() == 0 ? line.y2() : line.y1() + slope * (std::min(x + 1, line.x2()) - line.x1());
    const QRect column(QPoint(static_cast<int>(x), static_cast<int>(std::lround(std::min(enters, leaves) - half))),
                       QPoint(static_cast<int>(x), static_cast<int>(std::lround(std::max(enters, leaves) + half)) - 1));
    if (!drawn.columns.empty() && drawn.columns.back().left() == column.left()) drawn.columns.back() |= column;
    else drawn.columns.push_back(column);
  }
}

}  // namespace

bool draw_points(const PointSeries& points, const PlotMap& map, Side side, int pixels, DrawnSeries& drawn) {
  const Thinned thinned = thin(points, map.axis, map.x, pixels, map.log);
  drawn.lines.reserve(thinned.points.size());
  QPointF before;
  for (std::size_t i = 0; i < thinned.points.size(); ++i) {
    const DrawnPoint& point = thinned.points[i];
    const QPointF at = map.at(points.x(map.axis, point.index), points.value(point.index), side);
    if (drawn.fill.isValid()) add_to_area(drawn, map, side, at, point.joined);
    if (point.joined)
      if (const auto line = clipped({before, at}, map.area)) {
        if (thinned.thinned && line->dx() < 2) add_columns(drawn, *line);
        else drawn.lines.push_back(*line);
      }
    const bool joined_on = i + 1 < thinned.points.size() && thinned.points[i + 1].joined;
    if (!point.joined && !joined_on && map.area.contains(at)) drawn.dots.push_back(at);
    before = at;
  }
  return thinned.thinned;
}

void PlotLines::show(const QRectF& area, std::vector<DrawnSeries> series) {
  if (area != area_) prepareGeometryChange();
  area_ = area;
  series_ = std::move(series);
  update();
}

// In the colour of the line that is broken there.
void PlotLines::paint_gaps(QPainter& painter, const DrawnSeries& drawn) const {
  QColor colour = drawn.pen.color();
  colour.setAlpha(255);
  const double width = std::max(2.0, std::round(drawn.dot_size / 2)), height = std::round(3 * drawn.dot_size);
  for (const double x : drawn.gaps) painter.fillRect(QRectF(std::round(x - width / 2), std::round(area_.bottom() - height), width, height), colour);
}

void PlotLines::paint_columns(QPainter& painter, const DrawnSeries& drawn) const {
  painter.setRenderHint(QPainter::Antialiasing, false);  // whole pixels, the fast way
  painter.setPen(Qt::NoPen);
  painter.setBrush(drawn.pen.color());
  painter.drawRects(drawn.columns.data(), static_cast<int>(drawn.columns.size()));
  painter.setRenderHint(QPainter::Antialiasing);
}

void PlotLines::paint(QPainter* painter, const QStyleOptionGraphicsItem*, QWidget*) {
  painter->setClipRect(area_);
  painter->setRenderHint(QPainter::Antialiasing);
  for (const DrawnSeries& drawn : series_) {
    painter->setPen(Qt::NoPen);
    painter->setBrush(drawn.fill);
    for (const QPolygonF& area : drawn.areas) painter->drawPolygon(area);
    paint_gaps(*painter, drawn);
    painter->setPen(drawn.pen);
    painter->drawLines(drawn.lines.data(), static_cast<int>(drawn.lines.size()));
    paint_columns(*painter, drawn);
    painter->setPen(Qt::NoPen);
    painter->setBrush(drawn.pen.color());
    const double r = drawn.dot_size / 2;
    for (const QPointF& dot : drawn.dots) {
      if (drawn.diamonds) painter->drawPolygon(QPolygonF({dot + QPointF(0, -r), dot + QPointF(r, 0), dot + QPointF(0, r), dot + QPointF(-r, 0)}));
      else painter->drawEllipse(dot, r, r);
    }
  }
}

void PlotOverlay::show(const QRectF& area, const PlotStyle& style, Content content) {
  if (area != area_ || style.font != style_.font) prepareGeometryChange();
  area_ = area;
  style_ = style;
  content_ = std::move(content);
  update();
}

void PlotOverlay::paint(QPainter* painter, const QStyleOptionGraphicsItem*, QWidget*) {
  painter->setRenderHint(QPainter::Antialiasing);
  painter->setFont(style_.font);
  if (!content_.empty.isEmpty()) {
    painter->setPen(style_.muted);
    painter->drawText(area_, Qt::AlignCenter | Qt::TextWordWrap, content_.empty);
  }
  paint_badges(*painter);
  if (content_.x) paint_crosshair(*painter);
  if (content_.band.isEmpty()) return;
  painter->setPen(QPen(style_.accent, 1));
  painter->setBrush(QColor(style_.accent.red(), style_.accent.green(), style_.accent.blue(), 40));
  painter->drawRect(content_.band);
}

// Small labels above the plot area, from the right to the left, and on below when the row is full.
void PlotOverlay::paint_badges(QPainter& painter) const {
  const QFont font = scaled(style_.font, 0.82);
  painter.setFont(font);
  const QFontMetricsF metrics(font);
  const double pad = metrics.height() * 0.35, height = metrics.height() + pad;
  QPointF corner(area_.right(), area_.top() - height - 3);
  for (const QString& badge : content_.badges) {
    const double width = std::min(metrics.horizontalAdvance(badge) + 3 * pad, area_.width());
    if (corner.x() - width < area_.left()) corner = {area_.right(), corner.y() + height + 3};
    const QRectF box(corner.x() - width, corner.y(), width, height);
    QColor back = style_.background;
    back.setAlpha(225);
    painter.setBrush(back);
    painter.setPen(QPen(style_.warning, 1));
    painter.drawRoundedRect(box, height / 2, height / 2);
    painter.drawText(box.adjusted(pad, 0, -pad, 0), Qt::AlignCenter, metrics.elidedText(badge, Qt::ElideRight, width - 2 * pad));
    corner.rx() -= width + 4;
  }
  painter.setFont(style_.font);
}

void PlotOverlay::paint_crosshair(QPainter& painter) const {
  painter.setPen(QPen(style_.muted, 1));
  painter.drawLine(QPointF(*content_.x, area_.top()), QPointF(*content_.x, area_.bottom()));
  for (const auto& [at, colour] : content_.points) {
    painter.setPen(QPen(style_.background, 1.5));
    painter.setBrush(colour);
    painter.drawEllipse(at, style_.line_width * 2.4, style_.line_width * 2.4);
  }
  if (!content_.rows.empty()) paint_reading(painter);
}

void PlotOverlay::paint_reading(QPainter& painter) const {
  const QFont font = scaled(style_.font, 0.9);
  const QFontMetricsF metrics(font);
  const double line = metrics.height(), pad = line * 0.4, mark = line * 0.6;
  double width = metrics.horizontalAdvance(content_.heading);
  for (const Row& row : content_.rows) width = std::max(width, metrics.horizontalAdvance(row.text) + mark + pad);
  const QSizeF size(width + 2 * pad, line * static_cast<double>(content_.rows.size() + 1) + 2 * pad);
  const bool right = *content_.x + 12 + size.width() < area_.right();
  const double left = right ? *content_.x + 12 : std::max(area_.left(), *content_.x - 12 - size.width());
  const QRectF box(QPointF(left, std::max(area_.top(), std::min(area_.top() + line * 1.6, area_.bottom() - size.height()))), size);
  QColor back = style_.background;
  back.setAlpha(235);
  painter.setBrush(back);
  painter.setPen(QPen(style_.grid, 1));
  painter.drawRoundedRect(box, 4, 4);
  painter.setFont(font);
  QRectF at(box.left() + pad, box.top() + pad, width, line);
  painter.setPen(style_.muted);
  painter.drawText(at, Qt::AlignLeft | Qt::AlignVCenter, content_.heading);
  for (const Row& row : content_.rows) {
    at.translate(0, line);
    painter.fillRect(QRectF(at.left(), at.center().y() - mark / 4, mark, mark / 2), row.colour);
    painter.setPen(style_.text);
    painter.drawText(at.adjusted(mark + pad, 0, 0, 0), Qt::AlignLeft | Qt::AlignVCenter, row.text);
  }
  painter.setFont(style_.font);
}

}  // namespace trainyard::ui
