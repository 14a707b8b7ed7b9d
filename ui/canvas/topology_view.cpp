// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/canvas/topology_view.h"

#include <QContextMenuEvent>
#include <QMenu>
#include <algorithm>
#include <cmath>

#include "ui/canvas/name_editor.h"
#include "ui/canvas/navigation.h"
#include "ui/model/topology/topology_text.h"
#include "ui/theme/theme.h"

namespace trainyard::ui {
namespace {

constexpr double kDotDistance = 3 * kGrid;

}  // namespace

TopologyView::TopologyView(Document& document, Selection& selection, QWidget* parent)
    : QGraphicsView(parent),
      document_(document),
      selection_(selection),
      scene_(document, selection),
      context_{document, selection, scene_, [this](const QString& why) { emit message(why); }} {
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
  // repaints one rectangle, because clipping to hundreds of rectangles costs more than it saves
  setViewportUpdateMode(BoundingRectViewportUpdate);
  setOptimizationFlag(DontSavePainterState);
  setOptimizationFlag(DontAdjustForAntialiasing);
  connect(&scene_, &TopologyScene::layout_changed, this, &TopologyView::grow_scene);
  connect(&scene_, &TopologyScene::layout_changed, this, &TopologyView::describe_current);
  connect(&scene_, &TopologyScene::current_changed, this, &TopologyView::current_changed);
  connect(&Theme::instance(), &Theme::changed, this, &TopologyView::theme_changed);
  theme_changed();
  grow_scene();
}

TopologyView::~TopologyView() = default;

// Allows the canvas to shrink to a narrow strip, because the charts may need the room.
QSize TopologyView::minimumSizeHint() const {
  return {6 * fontMetrics().height(), 2 * fontMetrics().height()};
}

void TopologyView::theme_changed() {
  const double before = zoom();
  const bool fits = fits_;
  scale_ = Theme::instance().scale();
  set_zoom(before, viewport()->rect().center());
  if (fits) zoom_to_fit();
  viewport()->update();
}

void TopologyView::set_tool(Tool tool) {
  if (tool == tool_) return;
  tool_ = tool;
  viewport()->setCursor(tool == Tool::connect ? Qt::CrossCursor : Qt::ArrowCursor);
  emit tool_changed();
}

void TopologyView::rename_current() {
  const TopologyObject part = scene_.current();
  if (!part || part.kind == TopologyObject::Kind::link) return;
  ensureVisible(scene_.layout().rect_of(part), 24, 24);
  const QRect shown = mapFromScene(scene_.layout().rect_of(part)).boundingRect();
  const int height = std::max(fontMetrics().height() + 8, 24),
            width = std::max(shown.width() - 8, 120);
  const int top = part.kind == TopologyObject::Kind::network_switch
                      ? shown.center().y() - height / 2
                      : shown.top() + 4;
  auto* editor = new NameEditor(
      viewport(), QRect(shown.left() + 4, top, width, height), as_text(part.name),
      [this, part](const QString& name) {
        base::Result<void> renamed;
        SelectedObjects picked = selection_.picked();
        document_.edit(tr("Rename %1").arg(as_text(part.name)), [&](experiment::Experiment& e) {
          renamed = rename(e.topology, part.name, name.toStdString());
        });
        if (!renamed) return as_text(renamed.error().what);
        if (picked.names.erase(part.name) > 0) picked.names.insert(name.toStdString());
        selection_.set(existing_objects(picked, document_.experiment().topology));
        scene_.set_current({part.kind, name.toStdString(), {}});
        return QString();
      });
  connect(&document_, &Document::about_to_be_reset, editor, &NameEditor::leave);
}

void TopologyView::go_to(const TopologyObject& part, bool extend) {
  scene_.set_current(part);
  if (extend) selection_.toggle(selection_of(part));
  else selection_.set(selection_of(part));
  if (part) ensureVisible(scene_.layout().rect_of(part), 24, 24);
}

void TopologyView::current_changed() {
  describe_current();
  viewport()->update();
}

void TopologyView::set_overlay(const Overlay& overlay) {
  scene_.set_overlay(overlay);
  describe_current();
}

void TopologyView::clear_overlay() {
  scene_.clear_overlay();
  describe_current();
}

void TopologyView::show_logical(const LogicalTopology& picture) {
  scene_.set_logical(picture);
  describe_current();
}

void TopologyView::show_layers(const std::vector<std::string>& layers) {
  scene_.set_layers(layers);
  describe_current();
}

void TopologyView::show_shards(const std::vector<KeptShard>& shards) {
  scene_.set_shards(shards);
  describe_current();
}

// Updates the description of the current object, because the object, its role or name, or its
// emulation may have changed.
void TopologyView::describe_current() {
  const topology::Topology& topology = document_.experiment().topology;
  const topology::Device* device = find_device(topology, scene_.current().name);
  const QString description =
      describe(topology, scene_.current(), device && scene_.is_marked_emulated(*device),
               device ? scene_.imposed_on(*device) : QStringList(),
               device ? scene_.model_share_on(*device) : QString());
  if (description == accessibleDescription()) return;
  setAccessibleDescription(description);  // spoken by screen readers
  emit message(description);
}

void TopologyView::highlight_devices(const std::set<std::string>& devices) {
  if (devices == pointed_) return;
  pointed_ = devices;
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
  const TopologyObject part =
      by_key ? scene_.current() : object_at(scene_.layout(), mapToScene(event->pos()));
  if (!by_key && !std::ranges::includes(selection_.picked().names, selection_of(part).names))
    go_to(part);
  if (!by_key && (part.kind == TopologyObject::Kind::link || !part)) go_to(part);
  QMenu menu(this);
  for (const auto& fill : fill_menu_) fill(menu, part);
  const QPoint at =
      by_key && part ? viewport()->mapToGlobal(mapFromScene(scene_.layout().rect_of(part).center()))
                     : event->globalPos();
  if (!menu.isEmpty()) menu.exec(at);
}

void TopologyView::drawBackground(QPainter* painter, const QRectF& rect) {
  const Colors& c = Theme::instance().colors();
  painter->fillRect(rect, c.canvas);
  if (transform().m11() < 0.5) return;
  const QTransform to_pixels = painter->worldTransform();
  painter->resetTransform();
  for (double y = std::floor(rect.top() / kDotDistance) * kDotDistance; y <= rect.bottom();
       y += kDotDistance)
    for (double x = std::floor(rect.left() / kDotDistance) * kDotDistance; x <= rect.right();
         x += kDotDistance)
      painter->fillRect(
          QRect(to_pixels.map(QPointF(x, y)).toPoint(), QSize(2, 2)).translated(-1, -1), c.grid);
  painter->setWorldTransform(to_pixels);
}

void TopologyView::drawForeground(QPainter* painter, const QRectF&) {
  painter->setRenderHint(QPainter::Antialiasing);
  if (scene_.layout().nodes.empty()) paint_empty(*painter);
  const TopologyObject& current = scene_.current();
  if (hasFocus() && current && current.kind != TopologyObject::Kind::link) {
    QPen pen(Theme::instance().colors().accent, 1, Qt::DotLine);
    pen.setCosmetic(true);
    painter->setPen(pen);
    painter->setBrush(Qt::NoBrush);
    painter->drawRoundedRect(scene_.layout().rect_of(current).adjusted(-4, -4, 4, 4), 10, 10);
  }
  for (const std::string& device : pointed_)
    if (find_device(document_.experiment().topology, device)) paint_mark(*painter, device);
  if (!drop_target_device_.empty()) paint_mark(*painter, drop_target_device_);
  if (gesture_) gesture_->paint(*painter);
  else paint_ports(*painter, scene_.layout(), scene_.hovered());
}

void TopologyView::paint_mark(QPainter& painter, const std::string& device) const {
  const QColor& accent = Theme::instance().colors().accent;
  QColor wash = accent;
  wash.setAlpha(40);
  QPen pen(accent, 3);
  pen.setCosmetic(true);
  painter.setPen(pen);
  painter.setBrush(wash);
  painter.drawRoundedRect(scene_.layout().rect_of(device).adjusted(-2, -2, 2, 2), 8, 8);
}

// Paints the hint of an empty canvas, centered and wrapped.
void TopologyView::paint_empty(QPainter& painter) const {
  constexpr int kLines = Qt::AlignHCenter | Qt::TextWordWrap;
  const Theme& theme = Theme::instance();
  const QString title = tr("Draw the devices to train on");
  const QString hint = tr(
      "Drag a device from the palette to the canvas, or press Ctrl+1 to place a CPU.\nA host is "
      "added with the first device; drop more devices on that host. Link hosts with Connect (C).");
  const QRectF room = QRectF(viewport()->rect()).adjusted(2 * kGrid, kGrid, -2 * kGrid, -kGrid);
  const QRectF large = QFontMetricsF(theme.font(1.5, true)).boundingRect(room, kLines, title);
  const QRectF small = QFontMetricsF(theme.font()).boundingRect(room, kLines, hint);
  const double top =
      std::max(room.top(), room.center().y() - (large.height() + kGrid + small.height()) / 2);
  painter.save();
  painter.resetTransform();
  painter.setFont(theme.font(1.5, true));
  painter.setPen(theme.colors().text);
  painter.drawText(QRectF(room.left(), top, room.width(), large.height()), kLines, title);
  painter.setFont(theme.font());
  painter.setPen(theme.colors().dim);
  painter.drawText(QRectF(room.left(), top + large.height() + kGrid, room.width(), small.height()),
                   kLines, hint);
  painter.restore();
}

}  // namespace trainyard::ui
