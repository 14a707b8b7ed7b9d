// SPDX-License-Identifier: GPL-3.0-or-later
// Scene item of the logical topology: above links, below their labels, outside of tiles. Takes no
// input.
#pragma once

#include <QGraphicsItem>

#include "ui/canvas/logical_arrows.h"

namespace trainyard::ui {

class LogicalItem : public QGraphicsItem {
 public:
  LogicalItem();
  void set(std::vector<LogicalArrow> arrows, const Layout& layout);
  const std::vector<LogicalArrow>& arrows() const { return arrows_; }
  QRectF boundingRect() const override { return bounds_; }
  void paint(QPainter* painter, const QStyleOptionGraphicsItem* option, QWidget* widget) override;

 private:
  std::vector<LogicalArrow> arrows_;
  QRectF bounds_;
  QPainterPath outside_;  // area outside of all tiles
};

}  // namespace trainyard::ui
