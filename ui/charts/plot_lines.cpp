// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/charts/plot_lines.h"

#include <QPainter>
#include <QStyleOptionGraphicsItem>

#include "ui/charts/line_painting.h"

namespace trainyard::ui {

PlotLines::PlotLines(QGraphicsItem* parent) : QGraphicsItem(parent) {
  setFlag(ItemUsesExtendedStyleOption);
}

void PlotLines::show(const QRectF& area, std::vector<DrawnSeries> series) {
  const bool moved = area != made_for_ || area != now_;
  const QRectF stale = moved ? area : difference(series_, series, area);
  if (moved) prepareGeometryChange();
  made_for_ = now_ = area;
  series_ = std::move(series);
  if (!stale.isEmpty()) update(stale);
}

void PlotLines::move_to(const QRectF& area) {
  if (area == now_) return;
  prepareGeometryChange();
  now_ = area;
  update();
}

QTransform PlotLines::placing() const {
  if (made_for_ == now_ || made_for_.isEmpty() || now_.isEmpty()) return {};
  const double across = now_.width() / made_for_.width(), up = now_.height() / made_for_.height();
  return {
      across, 0, 0, up, now_.left() - across * made_for_.left(), now_.top() - up * made_for_.top()};
}

void PlotLines::paint(QPainter* painter, const QStyleOptionGraphicsItem* option, QWidget*) {
  const LineTransforms ground{painter->transform(), placing()};
  const QRectF exposed =
      ground.lines.inverted().mapRect(option->exposedRect.adjusted(-1, -1, 1, 1)) & made_for_;
  painter->setTransform(ground.lines, true);
  painter->setClipRect(exposed);
  painter->setRenderHint(QPainter::Antialiasing);
  for (const DrawnSeries& drawn : series_)
    paint_series(*painter, drawn, exposed, made_for_.bottom(), ground);
}

}  // namespace trainyard::ui
