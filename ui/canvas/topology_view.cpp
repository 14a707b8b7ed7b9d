// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/canvas/topology_view.h"

#include <QContextMenuEvent>
#include <QMenu>
#include <QScrollBar>
#include <algorithm>
#include <cmath>

#include "ui/canvas/name_editor.h"
#include "ui/canvas/navigation.h"
#include "ui/theme/theme.h"

namespace trainyard::ui {
namespace {

constexpr double kSmallestZoom = 0.05, kLargestZoom = 4, kZoomStep = 1.25;
constexpr double kDotDistance = 3 * kGrid;

QString text(const std::string& s) { return QString::fromStdString(s); }

std::optional<topology::DeviceKind> device_kind(PartKind kind) {
  switch (kind) {
    case PartKind::cpu: return topology::DeviceKind::cpu;
    case PartKind::gpu: return topology::DeviceKind::gpu;
    case PartKind::tpu: return topology::DeviceKind::tpu;
    default: return std::nullopt;
  }
}

// A host for what hangs on one: itself, or a device's.
std::string host_under(const topology::Topology& topology, const Part& part) {
  if (part.kind == Part::Kind::host) return part.name;
  const topology::Host* host = part.kind == Part::Kind::device ? host_of(topology, part.name) : nullptr;
  return host ? host->name : "";
}

}  // namespace

TopologyView::TopologyView(Document& document, Selection& selection, QWidget* parent)
    : QGraphicsView(parent),
      document_(document),
      selection_(selection),
      scene_(document, selection),
      workplace_{document, selection, scene_, [this](const QString& why) { emit message(why); }} {
  setObjectName("canvas");
  setAccessibleName(tr("Canvas"));
  setScene(&scene_);
  setFrameShape(NoFrame);
  setMouseTracking(true);
  setAcceptDrops(true);
  setFocusPolicy(Qt::StrongFocus);
  setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
  setVerticalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
  setTransformationAnchor(NoAnchor);
  setViewportUpdateMode(SmartViewportUpdate);
  setOptimizationFlag(DontSavePainterState);
  setOptimizationFlag(DontAdjustForAntialiasing);
  connect(&scene_, &TopologyScene::layout_changed, this, &TopologyView::grow_scene);
  connect(&scene_, &TopologyScene::current_changed, this, &TopologyView::current_changed);
  connect(&Theme::instance(), &Theme::changed, this, &TopologyView::theme_changed);
  theme_changed();
  grow_scene();
}

TopologyView::~TopologyView() = default;

void TopologyView::theme_changed() {
  const double before = zoom();
  scale_ = Theme::instance().scale();
  set_zoom(before, viewport()->rect().center());
  viewport()->update();
}

void TopologyView::set_tool(Tool tool) {
  if (tool == tool_) return;
  tool_ = tool;
  viewport()->setCursor(tool == Tool::connect ? Qt::CrossCursor : Qt::ArrowCursor);
  emit tool_changed();
}

double TopologyView::zoom() const { return transform().m11() / scale_; }

// The scene point under `keep` stays where it is.
void TopologyView::set_zoom(double zoom, QPoint keep) {
  fits_ = false;
  const QPointF fixed = mapToScene(keep);
  const double factor = std::clamp(zoom, kSmallestZoom, kLargestZoom) * scale_;
  setTransform(QTransform::fromScale(factor, factor));
  const QPoint off = mapFromScene(fixed) - keep;
  horizontalScrollBar()->setValue(horizontalScrollBar()->value() + off.x());
  verticalScrollBar()->setValue(verticalScrollBar()->value() + off.y());
  emit zoom_changed(this->zoom());
}

void TopologyView::zoom_by(double factor) { set_zoom(zoom() * factor, viewport()->rect().center()); }
void TopologyView::zoom_actual() { set_zoom(1, viewport()->rect().center()); }

void TopologyView::zoom_to_fit() {
  const QRectF bounds = scene_.layout().bounds.adjusted(-32, -32, 32, 32);
  const QSizeF room = QSizeF(viewport()->size()) / scale_;
  if (scene_.layout().bounds.isNull()) return zoom_actual();
  set_zoom(std::min({1.0, room.width() / bounds.width(), room.height() / bounds.height()}), viewport()->rect().center());
  centerOn(bounds.center());
  fits_ = true;
}

QPointF TopologyView::middle() const { return mapToScene(viewport()->rect().center()); }

// The canvas has no end: there is always room around the drawing. It never shrinks under the user's hand.
void TopologyView::grow_scene() {
  setSceneRect(sceneRect().united(scene_.layout().bounds.adjusted(-4000, -4000, 4000, 4000)));
  viewport()->update();
}

void TopologyView::place(PartKind kind, QPointF at) {
  const auto device = device_kind(kind);
  const std::string host = host_under(document_.experiment().topology, part_at(scene_.layout(), at, 0));
  const QSizeF size = kind == PartKind::network_switch ? switch_size() : host_size(device ? 1 : 0);
  const Place corner = snapped({at.x() - size.width() / 2, at.y() - size.height() / 2});
  Part added{kind == PartKind::host ? Part::Kind::host : device ? Part::Kind::device : Part::Kind::network_switch, {}, {}};
  document_.edit(tr("Place %1")
                     .arg(kind == PartKind::host ? tr("host")
                          : device               ? text(std::string(base::name_of(*device)))
                                                 : tr("switch")),
                 [&](experiment::Experiment& e) {
                   if (device) added.name = add_device(e.topology, host.empty() ? add_host(e.topology, corner) : host, *device);
                   else added.name = kind == PartKind::host ? add_host(e.topology, corner) : add_switch(e.topology, corner);
                 });
  go_to(added);
}

void TopologyView::place_in_middle(PartKind kind) {
  const std::string host = host_under(document_.experiment().topology, scene_.current());
  if (device_kind(kind) && !host.empty()) return place(kind, scene_.layout().rect_of(host).topLeft() + QPointF(4, 4));
  QPointF at = middle();  // the first free place to the right: new things must not hide each other
  for (QRectF room(at - QPointF(88, 72), QSizeF(176, 144)); !within(scene_.layout(), room).names.empty(); room.moveCenter(at)) at += QPointF(208, 0);
  place(kind, at);
  ensureVisible(scene_.layout().rect_of(scene_.current()), 24, 24);
}

void TopologyView::rename_current() {
  const Part part = scene_.current();
  if (!part || part.kind == Part::Kind::link) return;
  ensureVisible(scene_.layout().rect_of(part), 24, 24);
  const QRect shown = mapFromScene(scene_.layout().rect_of(part)).boundingRect();
  const int height = std::max(fontMetrics().height() + 8, 24), width = std::max(shown.width() - 8, 120);
  const int top = part.kind == Part::Kind::network_switch ? shown.center().y() - height / 2 : shown.top() + 4;
  new NameEditor(viewport(), QRect(shown.left() + 4, top, width, height), text(part.name), [this, part](const QString& name) {
    base::Result<void> renamed;
    Picked picked = selection_.picked();
    document_.edit(tr("Rename %1").arg(text(part.name)), [&](experiment::Experiment& e) { renamed = rename(e.topology, part.name, name.toStdString()); });
    if (!renamed) return text(renamed.error().what);
    if (picked.names.erase(part.name) > 0) picked.names.insert(name.toStdString());
    selection_.set(still_there(picked, document_.experiment().topology));
    scene_.set_current({part.kind, name.toStdString(), {}});
    return QString();
  });
}

void TopologyView::go_to(const Part& part, bool extend) {
  scene_.set_current(part);
  if (extend) selection_.toggle(picked_of(part));
  else selection_.set(picked_of(part));
  if (part) ensureVisible(scene_.layout().rect_of(part), 24, 24);
}

void TopologyView::current_changed() {
  const QString description = describe(document_.experiment().topology, scene_.current());
  setAccessibleDescription(description);  // screen readers speak it
  emit message(description);
  viewport()->update();
}

void TopologyView::escape() {
  if (gesture_) {
    gesture_->cancel();
    gesture_.reset();
  } else if (tool_ != Tool::select) {
    set_tool(Tool::select);
  } else {
    selection_.clear();
    scene_.set_current({});
  }
  viewport()->update();
}

void TopologyView::contextMenuEvent(QContextMenuEvent* event) {
  const bool by_key = event->reason() == QContextMenuEvent::Keyboard;
  const Part part = by_key ? scene_.current() : part_at(scene_.layout(), mapToScene(event->pos()));
  if (!by_key && !std::ranges::includes(selection_.picked().names, picked_of(part).names)) go_to(part);
  if (!by_key && (part.kind == Part::Kind::link || !part)) go_to(part);
  QMenu menu(this);
  if (fill_menu_) fill_menu_(menu, part);
  const QPoint at = by_key && part ? viewport()->mapToGlobal(mapFromScene(scene_.layout().rect_of(part).center())) : event->globalPos();
  if (!menu.isEmpty()) menu.exec(at);
}

void TopologyView::dragEnterEvent(QDragEnterEvent* event) {
  if (part_of_mime(event->mimeData())) event->acceptProposedAction();
  else event->ignore();  // files are for the window
}

void TopologyView::dragMoveEvent(QDragMoveEvent* event) {
  if (!part_of_mime(event->mimeData())) return event->ignore();
  const std::string host = host_under(document_.experiment().topology, part_at(scene_.layout(), mapToScene(event->position().toPoint()), 0));
  scene_.set_hovered(host.empty() ? Part{} : Part{Part::Kind::host, host, {}});
  event->acceptProposedAction();
}

void TopologyView::dropEvent(QDropEvent* event) {
  const auto kind = part_of_mime(event->mimeData());
  if (!kind) return event->ignore();
  place(*kind, mapToScene(event->position().toPoint()));
  setFocus();
  event->acceptProposedAction();
}

// A drawing that was seen whole stays so; else the middle stays.
void TopologyView::resizeEvent(QResizeEvent* event) {
  const QRectF before = mapToScene(QRect(QPoint(), event->oldSize())).boundingRect(), bounds = scene_.layout().bounds;
  QGraphicsView::resizeEvent(event);
  if (!isVisible()) return;
  if (!fitted_ || (before.contains(bounds) && (fits_ || !mapToScene(viewport()->rect()).boundingRect().contains(bounds)))) zoom_to_fit();
  else centerOn(before.center());
  fitted_ = true;
}

void TopologyView::showEvent(QShowEvent* event) {
  QGraphicsView::showEvent(event);
  if (!fitted_) zoom_to_fit();
  fitted_ = true;
}

void TopologyView::drawBackground(QPainter* painter, const QRectF& rect) {
  const Colours& c = Theme::instance().colours();
  painter->fillRect(rect, c.canvas);
  if (transform().m11() < 0.5) return;
  painter->setRenderHint(QPainter::Antialiasing, false);
  QPen pen(c.grid, 2);
  pen.setCosmetic(true);
  painter->setPen(pen);
  QList<QPointF> dots;
  for (double y = std::floor(rect.top() / kDotDistance) * kDotDistance; y <= rect.bottom(); y += kDotDistance)
    for (double x = std::floor(rect.left() / kDotDistance) * kDotDistance; x <= rect.right(); x += kDotDistance) dots.append({x, y});
  painter->drawPoints(dots.data(), static_cast<int>(dots.size()));
}

void TopologyView::drawForeground(QPainter* painter, const QRectF&) {
  painter->setRenderHint(QPainter::Antialiasing);
  if (scene_.layout().nodes.empty()) paint_empty(*painter);
  const Part& current = scene_.current();
  if (hasFocus() && current && current.kind != Part::Kind::link) {
    QPen pen(Theme::instance().colours().accent, 1, Qt::DotLine);
    pen.setCosmetic(true);
    painter->setPen(pen);
    painter->setBrush(Qt::NoBrush);
    painter->drawRoundedRect(scene_.layout().rect_of(current).adjusted(-4, -4, 4, 4), 10, 10);
  }
  if (gesture_) gesture_->paint(*painter);
  else paint_ports(*painter, scene_.layout(), scene_.hovered());
}

void TopologyView::paint_empty(QPainter& painter) const {
  painter.save();
  painter.resetTransform();
  const Theme& theme = Theme::instance();
  const QRectF area(viewport()->rect());
  const QPointF middle = area.center();
  painter.setFont(theme.font(1.5, true));
  painter.setPen(theme.colours().text);
  painter.drawText(QRectF(area.left(), middle.y() - theme.pixels(48), area.width(), theme.pixels(40)), Qt::AlignCenter, tr("Draw what should train"));
  painter.setFont(theme.font());
  painter.setPen(theme.colours().dim);
  painter.drawText(QRectF(area.left() + 16, middle.y() - theme.pixels(4), area.width() - 32, theme.pixels(80)), Qt::AlignHCenter | Qt::TextWordWrap,
                   tr("Drag a device from the palette to here, or press Ctrl+1 to place a CPU.\nA device brings its host with it; more devices join by "
                      "dropping them on that host."));
  painter.restore();
}

}  // namespace trainyard::ui
