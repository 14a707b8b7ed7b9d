// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/canvas/logical_item.h"

namespace trainyard::ui {
namespace {

constexpr double kReach = 24;  // margin for heads and rims, which extend beyond the lines

}  // namespace

LogicalItem::LogicalItem() {
  setZValue(0.75);
  // many arrows take longer than a frame to paint, and items below them move often
  setCacheMode(DeviceCoordinateCache);
  setVisible(false);
}

void LogicalItem::set(std::vector<LogicalArrow> arrows, const Layout& layout) {
  if (arrows.empty() && arrows_.empty()) return;
  prepareGeometryChange();
  arrows_ = std::move(arrows);
  bounds_ = {};
  for (const LogicalArrow& arrow : arrows_) bounds_ |= arrow.path.controlPointRect();
  if (!arrows_.empty()) bounds_.adjust(-kReach, -kReach, kReach, kReach);
  outside_ = outside_tiles(layout, bounds_);
  update();
}

void LogicalItem::paint(QPainter* painter, const QStyleOptionGraphicsItem*, QWidget*) {
  painter->setRenderHint(QPainter::Antialiasing);
  paint_logical(*painter, arrows_, outside_);
}

}  // namespace trainyard::ui
