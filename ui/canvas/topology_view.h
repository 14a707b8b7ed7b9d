// SPDX-License-Identifier: GPL-3.0-or-later
// The canvas: shows the scene and turns mouse, keys, wheel and drops into edits of the document.
// Everything is possible with the keyboard alone. A live run does not change the document.
#pragma once

#include <QGraphicsView>
#include <memory>
#include <set>

#include "ui/canvas/palette.h"
#include "ui/canvas/tools.h"

class QMenu;

namespace trainyard::ui {

class TopologyView : public QGraphicsView {
  Q_OBJECT
 public:
  enum class Tool { select, connect };

  TopologyView(Document& document, Selection& selection, QWidget* parent = nullptr);
  ~TopologyView() override;

  TopologyScene& topology_scene() { return scene_; }
  void set_overlay(const Overlay& overlay);
  void clear_overlay();
  void show_logical(const LogicalTopology& picture);
  void show_layers(const std::vector<std::string>& layers);  // by rank, as in stage_assignment.h
  void show_shards(const std::vector<KeptShard>& shards);

  Tool tool() const { return tool_; }
  void set_tool(Tool tool);
  double zoom() const;          // 1 is 100 %: one scene pixel is one pixel times the theme's scale
  void zoom_by(double factor);  // keeps the center of the view in place
  void zoom_actual();
  // Fits the drawing into the view, at a zoom of at most 100 %. With a projector's font scale, text
  // is at least as large as at 100 %.
  void zoom_to_fit();
  void reveal(const SelectedObjects& picked);

  void place(PaletteKind kind,
             QPointF at);  // a device is added to the host at that point, or to a new host
  // Places a device, which gets a new name derived from its kind.
  void place(const topology::Device& device, QPointF at);
  // Places a host with its devices, under unused names derived from the host's name.
  void place(const topology::Host& machine, QPointF at);
  void place_in_middle(PaletteKind kind);  // a device is added to the selected host
  void place_in_middle(const topology::Device& device);
  void place_in_middle(const topology::Host& machine);
  // Gives the role to the selected devices. If that is impossible, shows the reason in the status
  // bar.
  void give_role(topology::Role role);
  // Highlights the devices to which another panel refers. The next call replaces them.
  void highlight_devices(const std::set<std::string>& devices);
  void rename_current();  // opens an editor in place
  void add_to_context_menu(std::function<void(QMenu&, const TopologyObject&)> fill) {
    fill_menu_.push_back(std::move(fill));
  }
  QPointF middle() const;  // center of the visible area, in scene coordinates
  QSize minimumSizeHint() const override;

 signals:
  void zoom_changed(double zoom);
  void tool_changed();
  // Layers were dropped on a device. The receiver, which owns the model, assigns them.
  void layers_dropped(const QStringList& layers, const std::string& device);
  // Emits text for the status bar: a description of the current object, or the reason why an edit
  // was refused.
  void message(const QString& text);

 protected:
  bool event(QEvent* event) override;
  void mousePressEvent(QMouseEvent* event) override;
  void mouseMoveEvent(QMouseEvent* event) override;
  void mouseReleaseEvent(QMouseEvent* event) override;
  void mouseDoubleClickEvent(QMouseEvent* event) override;
  void leaveEvent(QEvent* event) override;
  void wheelEvent(QWheelEvent* event) override;
  void keyPressEvent(QKeyEvent* event) override;
  void keyReleaseEvent(QKeyEvent* event) override;
  void contextMenuEvent(QContextMenuEvent* event) override;
  void dragEnterEvent(QDragEnterEvent* event) override;
  void dragMoveEvent(QDragMoveEvent* event) override;
  void dragLeaveEvent(QDragLeaveEvent* event) override;
  void dropEvent(QDropEvent* event) override;
  void resizeEvent(QResizeEvent* event) override;
  void showEvent(QShowEvent* event) override;
  void drawBackground(QPainter* painter, const QRectF& rect) override;
  void drawForeground(QPainter* painter, const QRectF& rect) override;

 private:
  QPointF scene_point(const QMouseEvent& event) const {
    return mapToScene(event.position().toPoint());
  }
  void begin(const TopologyObject& part, QPointF at, Qt::KeyboardModifiers modifiers);
  void click(const TopologyObject& part, Qt::KeyboardModifiers modifiers);
  void go_to(const TopologyObject& part, bool extend = false);
  void place(PaletteKind kind, const std::optional<topology::Device>& device, QPointF at);
  void place_in_middle(PaletteKind kind, const std::optional<topology::Device>& device);
  QPointF free_middle() const;
  void give_role(const std::set<std::string>& devices, topology::Role role);
  void drag_role(topology::Role role, QDragMoveEvent& event);
  void drop_role(topology::Role role, QDropEvent& event);
  std::string device_at(QPointF at) const;  // empty if there is none
  void drag_layers(const QStringList& layers, QDragMoveEvent& event);
  void drop_layers(const QStringList& layers, QDropEvent& event);
  bool set_drop_target(const std::string& device);  // true if the target changed
  void mark_drop_target(const std::string& device, topology::Role role);
  void paint_mark(QPainter& painter, const std::string& device) const;
  bool navigate_by_key(const QKeyEvent& event);
  void move_by_key(QPointF direction);
  void set_zoom(double zoom, QPoint keep);
  double fitting_zoom(QSizeF drawing) const;
  QRectF seen() const;
  void grow_scene();
  void escape();
  void current_changed();
  void describe_current();
  void theme_changed();
  void paint_empty(QPainter& painter) const;

  Document& document_;
  Selection& selection_;
  TopologyScene scene_;
  GestureContext context_;
  Tool tool_ = Tool::select;
  std::unique_ptr<Gesture> gesture_;
  std::vector<std::function<void(QMenu&, const TopologyObject&)>> fill_menu_;
  std::string
      drop_target_device_;  // device that would receive the dragged role or layers; empty: none
  std::set<std::string> pointed_;  // devices that another panel refers to
  QPoint pan_from_;
  double scale_ = 1;  // theme's scale, when it was last applied
  bool panning_ = false, space_ = false;
  bool fitted_ = false;  // true after the first zoom to fit, when the view was first shown
  bool fits_ = false;    // true while the view is zoomed to fit, until the user changes the zoom
  QPointF fit_middle_;   // center of the visible area when it was zoomed to fit
};

}  // namespace trainyard::ui
