// SPDX-License-Identifier: GPL-3.0-or-later
// Scene item of a transit. Its route is an arrow over links and buses. A label moves along the
// arrow once and stays at the end.
#pragma once

#include <QGraphicsItem>
#include <QPainterPath>
#include <optional>

#include "ui/canvas/layout.h"
#include "ui/canvas/transit.h"

namespace trainyard::ui {

// Returns the path between the lower edges of two tiles. Returns nothing if a link or bus of the
// route is not drawn.
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
