// SPDX-License-Identifier: GPL-3.0-or-later
// The items of the scene: each keeps a place and a look, and calls the painting functions. They
// take no input; tools do.
#pragma once

#include <QGraphicsItem>

#include "ui/canvas/link_label.h"

namespace trainyard::ui {

class TileItem : public QGraphicsItem {
 public:
  explicit TileItem(QGraphicsItem* host) : QGraphicsItem(host) {}
  void set(QPointF place, const TileLook& look);
  const TileLook& look() const { return look_; }
  QRectF boundingRect() const override;
  void paint(QPainter* painter, const QStyleOptionGraphicsItem* option, QWidget* widget) override;

 private:
  TileLook look_;
};

// Across the edges of a tile, over the links that begin there.
class TileTagsItem : public QGraphicsItem {
 public:
  TileTagsItem() { setZValue(0.9); }
  void set(QPointF place, const TileTags& tags);  // in the scene
  QRectF boundingRect() const override;
  void paint(QPainter* painter, const QStyleOptionGraphicsItem* option, QWidget* widget) override;

 private:
  TileTags tags_;
};

class HostItem : public QGraphicsItem {
 public:
  explicit HostItem(const double& clock_seconds) : clock_seconds_(clock_seconds) {}
  void set(const NodeBox& box, const HostLook& look);
  const HostLook& look() const { return look_; }
  void advance_flow();
  QRectF boundingRect() const override;
  void paint(QPainter* painter, const QStyleOptionGraphicsItem* option, QWidget* widget) override;

 private:
  const double& clock_seconds_;
  HostLook look_;
  QRectF rect_, bus_;
};

class SwitchItem : public QGraphicsItem {
 public:
  void set(QPointF place, const SwitchLook& look);
  const SwitchLook& look() const { return look_; }
  QRectF boundingRect() const override;
  void paint(QPainter* painter, const QStyleOptionGraphicsItem* option, QWidget* widget) override;

 private:
  SwitchLook look_;
};

// The line, under the nodes, or over the card when it joins two of its tiles; its label is an item
// of its own, above them.
class LinkItem : public QGraphicsItem {
 public:
  explicit LinkItem(const double& clock_seconds) : clock_seconds_(clock_seconds) {}
  void set(const LinkShape& shape, const LinkLook& look);
  const LinkLook& look() const { return look_; }
  void advance_flow();
  QRectF boundingRect() const override;
  void paint(QPainter* painter, const QStyleOptionGraphicsItem* option, QWidget* widget) override;

 private:
  const double& clock_seconds_;
  LinkShape shape_;
  LinkLook look_;
};

class LinkLabelItem : public QGraphicsItem {
 public:
  LinkLabelItem() { setZValue(1); }
  void set(const LinkShape& shape, const LinkLook& look);
  const LinkLabel& label() const { return label_; }
  QRectF boundingRect() const override;
  void paint(QPainter* painter, const QStyleOptionGraphicsItem* option, QWidget* widget) override;

 private:
  LinkShape shape_;
  LinkLook look_;
  LinkLabel label_;  // kept: measuring text takes its time, and the scene asks often
};

}  // namespace trainyard::ui
