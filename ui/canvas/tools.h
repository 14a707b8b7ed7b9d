// SPDX-License-Identifier: GPL-3.0-or-later
// What the mouse does on the canvas. One gesture runs from press to release; Escape takes it back.
// A gesture edits the document as it goes, under one merge key, so that it is one step of undo.
#pragma once

#include <QMouseEvent>
#include <QPainter>
#include <functional>
#include <memory>

#include "ui/canvas/topology_scene.h"

namespace trainyard::ui {

// What gestures work on.
struct Workplace {
  Document& document;
  Selection& selection;
  TopologyScene& scene;
  std::function<void(const QString&)> say;  // why something was refused
};

class Gesture {
 public:
  virtual ~Gesture() = default;
  virtual void move(QPointF at, Qt::KeyboardModifiers modifiers) = 0;
  virtual void release(QPointF at) = 0;
  virtual void cancel() {}
  virtual void paint(QPainter&) const {}  // in scene coordinates, over everything
};

// Where a link can be pulled from: handles around the thing under the mouse.
std::vector<QPointF> ports_of(const Layout& layout, const Part& part);
bool on_port(const Layout& layout, const Part& part, QPointF at);
void paint_ports(QPainter& painter, const Layout& layout, const Part& part);

std::unique_ptr<Gesture> move_nodes(Workplace& workplace, QPointF from);
std::unique_ptr<Gesture> carry_device(Workplace& workplace, const std::string& device,
                                      QPointF from);  // to another host
std::unique_ptr<Gesture> rubber_band(Workplace& workplace, QPointF from, bool adding);
std::unique_ptr<Gesture> pull_link(Workplace& workplace, const Part& from, QPointF at);

}  // namespace trainyard::ui
