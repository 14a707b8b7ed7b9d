// SPDX-License-Identifier: GPL-3.0-or-later
// Mouse gestures of the canvas. A gesture lasts from press to release; Escape reverts it. It edits
// the document while it runs, under one merge key, so that it is one undo step.
#pragma once

#include <QMouseEvent>
#include <QPainter>
#include <functional>
#include <memory>

#include "ui/canvas/topology_scene.h"

namespace trainyard::ui {

// Objects that gestures work on.
struct GestureContext {
  Document& document;
  Selection& selection;
  TopologyScene& scene;
  std::function<void(const QString&)> say;  // shows why an edit was refused
};

class Gesture {
 public:
  virtual ~Gesture() = default;
  virtual void move(QPointF at, Qt::KeyboardModifiers modifiers) = 0;
  virtual void release(QPointF at) = 0;
  virtual void cancel() {}
  virtual void paint(QPainter&) const {}  // paints on top of the scene, in scene coordinates
};

// Returns the handles around the object under the mouse, from which a link can be pulled.
std::vector<QPointF> ports_of(const Layout& layout, const TopologyObject& part);
bool on_port(const Layout& layout, const TopologyObject& part, QPointF at);
void paint_ports(QPainter& painter, const Layout& layout, const TopologyObject& part);

std::unique_ptr<Gesture> move_nodes(GestureContext& context, QPointF from);
std::unique_ptr<Gesture> carry_device(GestureContext& context, const std::string& device,
                                      QPointF from);  // moves a device to another host
std::unique_ptr<Gesture> rubber_band(GestureContext& context, QPointF from, bool adding);
std::unique_ptr<Gesture> pull_link(GestureContext& context, const TopologyObject& from, QPointF at);

}  // namespace trainyard::ui
