// SPDX-License-Identifier: GPL-3.0-or-later
// Items of the scene: each stores a position and appearance and calls the painting functions. Items
// take no input; tools do.
#pragma once

#include <QGraphicsItem>

#include "ui/canvas/link_label.h"

namespace trainyard::ui {

class TileItem : public QGraphicsItem {
 public:
  explicit TileItem(QGraphicsItem* host) : QGraphicsItem(host) {}
  void set(QPointF place, const TileAppearance& look);
  const TileAppearance& look() const { return look_; }
  QRectF boundingRect() const override;
  void paint(QPainter* painter, const QStyleOptionGraphicsItem* option, QWidget* widget) override;

 private:
  TileAppearance look_;
};

// Scene item of the tags across the edges of a device's tile. It is painted above the links that
// begin at the tile.
class TileTagsItem : public QGraphicsItem {
 public:
  TileTagsItem() { setZValue(0.9); }
  void set(QPointF place, const TileTags& tags);  // position in the scene
  QRectF boundingRect() const override;
  void paint(QPainter* painter, const QStyleOptionGraphicsItem* option, QWidget* widget) override;

 private:
  TileTags tags_;
};

class HostItem : public QGraphicsItem {
 public:
  explicit HostItem(const double& clock_seconds) : clock_seconds_(clock_seconds) {}
  void set(const NodeBox& box, const HostAppearance& look);
  const HostAppearance& look() const { return look_; }
  void advance_flow();
  QRectF boundingRect() const override;
  void paint(QPainter* painter, const QStyleOptionGraphicsItem* option, QWidget* widget) override;

 private:
  const double& clock_seconds_;
  HostAppearance look_;
  QRectF rect_, bus_;
};

class SwitchItem : public QGraphicsItem {
 public:
  void set(QPointF place, const SwitchAppearance& look);
  const SwitchAppearance& look() const { return look_; }
  QRectF boundingRect() const override;
  void paint(QPainter* painter, const QStyleOptionGraphicsItem* option, QWidget* widget) override;

 private:
  SwitchAppearance look_;
};

// The line of a link. It is below the nodes, or above the card if the link joins two devices of one
// host. The link's label is a separate item above the nodes.
class LinkItem : public QGraphicsItem {
 public:
  explicit LinkItem(const double& clock_seconds) : clock_seconds_(clock_seconds) {}
  void set(const LinkShape& shape, const LinkAppearance& look);
  const LinkAppearance& look() const { return look_; }
  void advance_flow();
  QRectF boundingRect() const override;
  void paint(QPainter* painter, const QStyleOptionGraphicsItem* option, QWidget* widget) override;

 private:
  const double& clock_seconds_;
  LinkShape shape_;
  LinkAppearance look_;
};

class LinkLabelItem : public QGraphicsItem {
 public:
  LinkLabelItem() { setZValue(1); }
  void set(const LinkShape& shape, const LinkAppearance& look);
  const LinkLabel& label() const { return label_; }
  QRectF boundingRect() const override;
  void paint(QPainter* painter, const QStyleOptionGraphicsItem* option, QWidget* widget) override;

 private:
  LinkShape shape_;
  LinkAppearance look_;
  LinkLabel label_;  // cached, because measuring text is slow and the scene asks often
};

}  // namespace trainyard::ui
