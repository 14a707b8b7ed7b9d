// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/canvas/items.h"

namespace trainyard::ui {
namespace {

constexpr double kAround = 9;  // margin for selection, focus and tags, which extend over the edge

QRectF wider(const QRectF& rect) { return rect.adjusted(-kAround, -kAround, kAround, kAround); }

}  // namespace

void TileItem::set(QPointF place, const TileAppearance& look) {
  setPos(place);
  if (look == look_) return;
  look_ = look;
  update();
}
QRectF TileItem::boundingRect() const { return wider(QRectF(QPointF(), tile_size())); }
void TileItem::paint(QPainter* painter, const QStyleOptionGraphicsItem*, QWidget*) {
  painter->setRenderHint(QPainter::Antialiasing);
  paint_tile(*painter, QRectF(QPointF(), tile_size()), look_);
}

void TileTagsItem::set(QPointF place, const TileTags& tags) {
  setPos(place);
  if (tags == tags_) return;
  tags_ = tags;
  update();
}
QRectF TileTagsItem::boundingRect() const { return wider(QRectF(QPointF(), tile_size())); }
void TileTagsItem::paint(QPainter* painter, const QStyleOptionGraphicsItem*, QWidget*) {
  painter->setRenderHint(QPainter::Antialiasing);
  paint_tile_tags(*painter, QRectF(QPointF(), tile_size()), tags_);
}

void HostItem::set(const NodeBox& box, const HostAppearance& look) {
  const QRectF rect(QPointF(), box.rect.size()), bus = box.bus.translated(-box.rect.topLeft());
  setPos(box.rect.topLeft());
  if (rect != rect_ || bus != bus_) prepareGeometryChange();
  else if (look == look_) return;
  rect_ = rect, bus_ = bus, look_ = look;
  update();
}
void HostItem::advance_flow() {
  if (look_.live && look_.live->total() > 0) update(bus_.adjusted(-4, 0, 4, -24));
}
QRectF HostItem::boundingRect() const { return wider(rect_); }
void HostItem::paint(QPainter* painter, const QStyleOptionGraphicsItem*, QWidget*) {
  painter->setRenderHint(QPainter::Antialiasing);
  paint_host(*painter, rect_, bus_, look_, clock_seconds_);
}

void SwitchItem::set(QPointF place, const SwitchAppearance& look) {
  setPos(place);
  if (look == look_) return;
  look_ = look;
  update();
}
QRectF SwitchItem::boundingRect() const { return wider(QRectF(QPointF(), switch_size())); }
void SwitchItem::paint(QPainter* painter, const QStyleOptionGraphicsItem*, QWidget*) {
  painter->setRenderHint(QPainter::Antialiasing);
  paint_switch(*painter, QRectF(QPointF(), switch_size()), look_);
}

void LinkItem::set(const LinkShape& shape, const LinkAppearance& look) {
  if (shape.path == shape_.path && shape.width == shape_.width && look == look_) return;
  prepareGeometryChange();
  shape_ = shape, look_ = look;
  setZValue(shape.within_host ? 0.5 : -1);
  update();
}
void LinkItem::advance_flow() {
  if (look_.live && look_.live->total() > 0) update();
}
QRectF LinkItem::boundingRect() const {
  return wider(shape_.path.boundingRect())
      .adjusted(-shape_.width, -shape_.width, shape_.width, shape_.width);
}
void LinkItem::paint(QPainter* painter, const QStyleOptionGraphicsItem*, QWidget*) {
  painter->setRenderHint(QPainter::Antialiasing);
  paint_link(*painter, shape_, look_, clock_seconds_);
}

void LinkLabelItem::set(const LinkShape& shape, const LinkAppearance& look) {
  if (shape.path == shape_.path && shape.within_host == shape_.within_host && look == look_) return;
  prepareGeometryChange();
  shape_ = shape, look_ = look, label_ = link_label(shape, look);
  setVisible(!label_.lines.isEmpty());
  update();
}
QRectF LinkLabelItem::boundingRect() const { return label_.rect.adjusted(-1, -1, 1, 1); }
void LinkLabelItem::paint(QPainter* painter, const QStyleOptionGraphicsItem*, QWidget*) {
  painter->setRenderHint(QPainter::Antialiasing);
  paint_link_label(*painter, label_, look_.marks.selected);
}

}  // namespace trainyard::ui
