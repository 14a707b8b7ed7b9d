// SPDX-License-Identifier: GPL-3.0-or-later
// Visible area and zoom of the canvas.
#include <QLineF>
#include <QScrollBar>
#include <algorithm>

#include "ui/canvas/topology_view.h"
#include "ui/theme/theme.h"

namespace trainyard::ui {
namespace {

constexpr double kMinZoom = 0.05, kMaxZoom = 4;
constexpr double kMargin = 4 * kGrid;

}  // namespace

double TopologyView::zoom() const { return transform().m11() / scale_; }

// Sets the zoom. The scene point that is at the view position `keep` stays there.
void TopologyView::set_zoom(double zoom, QPoint keep) {
  fits_ = false;
  const QPointF fixed = mapToScene(keep);
  const double factor = std::clamp(zoom, kMinZoom, kMaxZoom) * scale_;
  setTransform(QTransform::fromScale(factor, factor));
  scene_.set_scale(factor);
  const QPoint off = mapFromScene(fixed) - keep;
  horizontalScrollBar()->setValue(horizontalScrollBar()->value() + off.x());
  verticalScrollBar()->setValue(verticalScrollBar()->value() + off.y());
  emit zoom_changed(this->zoom());
}

void TopologyView::zoom_by(double factor) {
  set_zoom(zoom() * factor, viewport()->rect().center());
}
void TopologyView::zoom_actual() { set_zoom(1, viewport()->rect().center()); }

// Returns the zoom, at most 1, at which the full drawing is visible. It is less than the minimum
// zoom of the canvas only if the drawing is more than twenty times as large as the view. At small
// zooms, text is enlarged or omitted.
double TopologyView::fitting_zoom(QSizeF drawing) const {
  const QSizeF room = QSizeF(viewport()->size()) / scale_;
  return std::min({1.0, room.width() / drawing.width(), room.height() / drawing.height()});
}

// Zooms so that the full drawing is visible. If it does not fit even at the minimum zoom, its upper
// left corner is shown.
void TopologyView::zoom_to_fit() {
  if (scene_.layout().bounds.isNull()) return zoom_actual();
  const QRectF bounds = scene_.layout().bounds.adjusted(-kMargin, -kMargin, kMargin, kMargin);
  set_zoom(fitting_zoom(bounds.size()), viewport()->rect().center());
  const QSizeF seen = (QSizeF(viewport()->size()) / transform().m11()).boundedTo(bounds.size());
  fit_middle_ = bounds.topLeft() + QPointF(seen.width() / 2, seen.height() / 2);
  centerOn(fit_middle_);
  fits_ = true;
}

QPointF TopologyView::middle() const { return mapToScene(viewport()->rect().center()); }

// Grows the scene's rectangle, so that there is always empty space around the drawing. The
// rectangle never shrinks while the canvas is used.
void TopologyView::grow_scene() {
  setSceneRect(sceneRect().united(scene_.layout().bounds.adjusted(-4000, -4000, 4000, 4000)));
  viewport()->update();
}

// Scrolls to the objects. If they are larger than the view, shows the full drawing.
void TopologyView::reveal(const SelectedObjects& picked) {
  QRectF area;
  for (const std::string& name : picked.names) area |= scene_.layout().rect_of(name);
  if (area.isNull() || seen().contains(area)) return;
  const QSizeF room = seen().size() - QSizeF(6 * kGrid, 6 * kGrid) / transform().m11();
  if (fits_ || area.width() > room.width() || area.height() > room.height()) zoom_to_fit();
  else ensureVisible(area, 3 * kGrid, 3 * kGrid);
}

QRectF TopologyView::seen() const { return mapToScene(viewport()->rect()).boundingRect(); }

// If the drawing was zoomed to fit, or fully visible, before the resize, it is zoomed to fit or
// fully visible afterwards too. Otherwise the center of the view is kept.
void TopologyView::resizeEvent(QResizeEvent* event) {
  const QRectF before = mapToScene(QRect(QPoint(), event->oldSize())).boundingRect(),
               bounds = scene_.layout().bounds;
  QGraphicsView::resizeEvent(event);
  if (!isVisible()) return;
  const bool untouched =
      fits_ && QLineF(before.center(), fit_middle_).length() * transform().m11() < 3;
  if (!fitted_ || untouched || (before.contains(bounds) && (fits_ || !seen().contains(bounds))))
    zoom_to_fit();
  else centerOn(before.center());
  fitted_ = true;
}

void TopologyView::showEvent(QShowEvent* event) {
  QGraphicsView::showEvent(event);
  if (!fitted_) zoom_to_fit();
  fitted_ = true;
}

}  // namespace trainyard::ui
