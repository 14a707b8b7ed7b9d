// SPDX-License-Identifier: GPL-3.0-or-later
// Scene item of a transit: its route as an arrow over links and buses, and a label that moves along
// it once and stays at its end.
#pragma once

#include <QGraphicsItem>
#include <QPainterPath>
#include <optional>

#include "ui/canvas/layout.h"
#include "ui/canvas/transit.h"

namespace trainyard::ui {

// Returns the path between the lower edges of two tiles; nothing if a part of it is not drawn.
std::optional<QPainterPath> transit_path(const Layout& layout, const Transit& transit);

class TransitItem : public QGraphicsItem {
 public:
  TransitItem() { setZValue(2); }
  void set(const QPainterPath& path, const QString& label);
  void set_progress(double progress);  // position of the label, 0 to 1
  const QPainterPath& path() const { return path_; }
  const QString& label() const { return label_; }
  QRectF label_rect() const;
  QRectF boundingRect() const override;
  void paint(QPainter* painter, const QStyleOptionGraphicsItem* option, QWidget* widget) override;

 private:
  QPainterPath path_;
  QString label_;
  double progress_ = 1;
};

}  // namespace trainyard::ui
