// SPDX-License-Identifier: GPL-3.0-or-later
// Thumbnail of a drawing: hosts as cards, devices as tiles, switches, and links.
#pragma once

#include <QWidget>

#include "core/topology/topology.h"

namespace trainyard::ui {

class DrawingPreview : public QWidget {
  Q_OBJECT
 public:
  explicit DrawingPreview(topology::Topology topology, QWidget* parent = nullptr);
  QSize sizeHint() const override;

 protected:
  void paintEvent(QPaintEvent* event) override;

 private:
  topology::Topology topology_;
};

}  // namespace trainyard::ui
