// SPDX-License-Identifier: GPL-3.0-or-later
// A transit on the drawing: its route as an arrow over links and busses, and a label that travels
// along it once and stays at its end.
#pragma once

#include <QGraphicsItem>
#include <QPainterPath>
#include <optional>

#include "ui/canvas/layout.h"
#include "ui/canvas/transit.h"

namespace trainyard::ui {

// From the lower edge of one tile to that of the other; nothing where a part of it is not drawn.
std::optional<QPainterPath> transit_path(const Layout& layout, const Transit& transit);

class TransitItem : public QGraphicsItem {
 public:
  TransitItem() { setZValue(2); }
  void set(const QPainterPath& path, const QString& label);
  void set_progress(double progress);  // of the label on its way, 0 to 1
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
