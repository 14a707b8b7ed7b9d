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
  const Colors& colors = Theme::instance().colors();
  return {
      colors.card,   colors.text,    colors.dim, colors.grid,
      colors.accent, colors.warning, font,       std::max(1.5, QFontMetricsF(font).height() / 10)};
}

QColor color_of(const SeriesStyle& style) {
  const Theme& theme = Theme::instance();
  if (style.color >= 0) return theme.series_color(style.color);
  return style.color == kTextColor ? theme.colors().text
                                   : theme.component_color(component_color_index(style.color));
}

namespace {

constexpr double kSeen = 3;  // minimum contrast of graphics according to WCAG 2.1

double paleness() { return Theme::instance().dark() ? 0.5 : 0.42; }

QColor paled(QColor color) {
  const QColor& ground = Theme::instance().colors().card;
  double share = paleness();
  while (share < 1 && contrast(mixed(ground, color, share), ground) < kSeen) share += 0.02;
  color.setAlphaF(static_cast<float>(std::min(share, 1.0)));
  return color;
}

}  // namespace

QPen series_pen(const SeriesStyle& style, double width, bool raw) {
  QPen pen = style.dashed ? QPen(color_of(style), width)
                          : Theme::instance().series_pen(style.color, width);
  if (style.dashed == true) pen.setDashPattern({4, 3});
  QColor color = style.pale ? paled(color_of(style)) : color_of(style);
  if (raw) color.setAlphaF(static_cast<float>(paleness()));
  pen.setColor(color);
  pen.setCapStyle(pen.style() == Qt::SolidLine ? Qt::SquareCap : Qt::FlatCap);
  return pen;
}

QFont scaled(QFont font, double factor) {
  font.setPointSizeF(std::max(1.0, QFontInfo(font).pointSizeF() * factor));
  return font;
}

double badge_strip(const PlotStyle& style) {
  return QFontMetricsF(scaled(style.font, 0.82)).height() * 1.35 + 5;
}

QColor area_color(const SeriesStyle& style, const QColor& background) {
  return mixed(background, color_of(style), Theme::instance().dark() ? 0.4 : 0.3);
}

void paint_sample(QPainter& painter, const SeriesStyle& style, const QRectF& box) {
  const QPen pen = series_pen(style, std::max(2.0, box.height() / 7.0));
  const QPointF middle = box.center();
  if (is_bars(style)) {
    painter.fillRect(QRectF(middle - QPointF(box.height(), box.height()) * 0.3,
                            QSizeF(box.height(), box.height()) * 0.6),
                     color_of(style));
  } else if (style.joining == Joining::never) {
    painter.setPen(style.hollow ? QPen(pen.color(), std::max(1.5, box.height() / 10.0))
                                : QPen(Qt::NoPen));
    painter.setBrush(style.hollow ? QBrush() : QBrush(pen.color()));
    paint_marker(painter, style.marker, middle, box.height() * 0.6);
  } else if (style.stacked) {
    const QRectF block = box.adjusted(0, box.height() * 0.2, 0, -box.height() * 0.2);
    painter.fillRect(block, area_color(style, Theme::instance().colors().card));
    painter.setPen(pen);
    painter.drawLine(block.topLeft(), block.topRight());
  } else {
    painter.setPen(pen);
    painter.drawLine(QPointF(box.left(), middle.y()), QPointF(box.right(), middle.y()));
  }
}

void PlotOverlay::show(const QRectF& area, const PlotStyle& style, Content content) {
  if (area == area_ && style == style_ && content == content_) return;
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
  paint_marks(*painter);
  paint_badges(*painter);
  if (content_.x) paint_crosshair(*painter);
  if (content_.band.isEmpty()) return;
  painter->setPen(QPen(style_.accent, 1));
  painter->setBrush(QColor(style_.accent.red(), style_.accent.green(), style_.accent.blue(), 40));
  painter->drawRect(content_.band);
}

// Paints badges, which are small labels above the plot area, from right to left. If they do not fit
// into one row, further rows go below.
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
    painter.drawText(box.adjusted(pad, 0, -pad, 0), Qt::AlignCenter,
                     metrics.elidedText(badge, Qt::ElideRight, width - 2 * pad));
    corner.rx() -= width + 4;
  }
  painter.setFont(style_.font);
}

double PlotOverlay::glyph_size() const { return QFontMetricsF(style_.font).height() * 0.7; }

// Paints the dotted line and the glyph of each mark. Glyphs have an outline in the background
// color, because lines pass beneath them.
void PlotOverlay::paint_marks(QPainter& painter) const {
  const double size = glyph_size();
  for (const Mark& mark : content_.marks) {
    const QPointF top(mark.x, area_.top() + size / 2 + 1);
    painter.setPen(QPen(mark.color, style_.line_width * 0.7, Qt::DotLine));
    painter.drawLine(QPointF(mark.x, area_.top() + size + 2), QPointF(mark.x, area_.bottom()));
    painter.setPen(QPen(style_.background, 3));
    painter.setBrush(style_.background);
    paint_marker(painter, mark.glyph, top, size);
    painter.setPen(Qt::NoPen);
    painter.setBrush(mark.color);
    paint_marker(painter, mark.glyph, top, size);
  }
}

QString PlotOverlay::marks_at(const QPointF& at) const {
  QStringList texts;
  if (!area_.contains(at)) return {};
  for (const Mark& mark : content_.marks)
    if (std::abs(mark.x - at.x()) <= glyph_size() / 2) texts << mark.text;
  return texts.join("\n");
}

void PlotOverlay::paint_crosshair(QPainter& painter) const {
  painter.setPen(QPen(style_.muted, 1));
  painter.drawLine(QPointF(*content_.x, area_.top()), QPointF(*content_.x, area_.bottom()));
  for (const auto& [at, color] : content_.points) {
    painter.setPen(QPen(style_.background, 1.5));
    painter.setBrush(color);
    painter.drawEllipse(at, style_.line_width * 2.4, style_.line_width * 2.4);
  }
  if (!content_.rows.empty()) paint_reading(painter);
}

namespace {

constexpr double kReadingScale = 0.9;  // font size of the read-out, relative to the widget's font

// Sizes of the rows in the crosshair's read-out, in pixels: line height, padding, and width of the
// series mark.
struct ReadingMeasures {
  explicit ReadingMeasures(const QFont& font)
      : line(QFontMetricsF(font).height()), pad(line * 0.4), mark(line * 1.4) {}
  double line, pad, mark;
};

}  // namespace

ReadingLayout lay_out_reading(const PlotOverlay::Content& content, const QRectF& area,
                              const QFont& font) {
  const QFontMetricsF metrics(font);
  const ReadingMeasures m(font);
  const double before = m.mark + m.pad;
  double width = metrics.horizontalAdvance(content.heading);
  for (const PlotOverlay::Row& row : content.rows)
    width = std::max(width, metrics.horizontalAdvance(row.text) + before);
  width = std::min(width, area.width() - 2 * m.pad);
  const QSizeF size(width + 2 * m.pad,
                    m.line * static_cast<double>(content.rows.size() + 1) + 2 * m.pad);
  const bool right = *content.x + 12 + size.width() < area.right();
  const double left =
      right ? *content.x + 12 : std::max(area.left(), *content.x - 12 - size.width());
  const double top =
      std::max(area.top(), std::min(area.top() + m.line * 1.6, area.bottom() - size.height()));
  QStringList rows;
  for (const PlotOverlay::Row& row : content.rows)
    rows << metrics.elidedText(row.text, Qt::ElideLeft, std::ceil(width - before));
  return {QRectF(QPointF(left, top), size), rows};
}

std::size_t reading_rows(const QRectF& area, const QFont& font) {
  const ReadingMeasures m(scaled(font, kReadingScale));
  return static_cast<std::size_t>(std::max(2.0, (area.height() - 2 * m.pad) / m.line - 1));
}

void PlotOverlay::paint_reading(QPainter& painter) const {
  const QFont font = scaled(style_.font, kReadingScale);
  const auto [line, pad, mark] = ReadingMeasures(font);
  const ReadingLayout reading = lay_out_reading(content_, area_, font);
  QColor back = style_.background;
  back.setAlpha(235);
  painter.setBrush(back);
  painter.setPen(QPen(style_.grid, 1));
  painter.drawRoundedRect(reading.box, 4, 4);
  painter.setFont(font);
  QRectF at(reading.box.left() + pad, reading.box.top() + pad, reading.box.width() - 2 * pad, line);
  painter.setPen(style_.muted);
  painter.drawText(at, Qt::AlignLeft | Qt::AlignVCenter, content_.heading);
  for (std::size_t i = 0; i < content_.rows.size(); ++i) {
    at.translate(0, line);
    if (content_.rows[i].style)
      paint_sample(painter, *content_.rows[i].style, QRectF(at.left(), at.top(), mark, line));
    painter.setPen(style_.text);
    painter.drawText(at.adjusted(mark + pad, 0, 0, 0), Qt::AlignLeft | Qt::AlignVCenter,
                     reading.rows[static_cast<int>(i)]);
  }
  painter.setFont(style_.font);
}

}  // namespace trainyard::ui
