// SPDX-License-Identifier: GPL-3.0-or-later
// View of the model as a graph: nodes below each other, devices side by side. The user can select
// nodes and drag them to other devices, also with the keyboard alone. The view does not change the
// picture; it only emits the moves that the user requests.
#pragma once

#include <QAbstractScrollArea>
#include <QPoint>
#include <optional>

#include "ui/modelview/model_painter.h"

class QMenu;

namespace trainyard::ui {

class ModelView : public QAbstractScrollArea {
  Q_OBJECT
 public:
  explicit ModelView(QWidget* parent = nullptr);

  // Shows another picture of the model. Selected nodes stay selected if the new picture still has
  // them.
  void set_picture(const ModelPicture& picture);
  const ModelPicture& picture() const { return picture_; }
  // sets the text shown for a picture without nodes
  void set_empty_text(const QString& title, const QString& hint);
  QString empty_text() const { return empty_title_ + "\n" + empty_hint_; }
  void set_overview(bool overview);
  bool overview() const { return overview_; }

  const Nodes& selected() const { return selected_; }
  int current() const { return current_; }  // index of the node with keyboard focus; -1: none
  void select(Nodes nodes, int current);    // selects nodes and scrolls to the current one
  QRect rect_of(int node) const;            // rectangle of a node, in viewport coordinates
  QRect rect_of_column(int column) const;
  // Returns the tool tip of the node or column header at a point in viewport coordinates.
  QString tool_tip_at(const QPoint& at) const;

 signals:
  void selection_changed();
  void overview_changed(bool overview);
  void move_requested(const trainyard::ui::Nodes& nodes, int column);
  void refused(const QString& why);  // Emitted with the reason when an action is refused.

 protected:
  bool event(QEvent* event) override;
  bool viewportEvent(QEvent* event) override;
  void changeEvent(QEvent* event) override;
  void resizeEvent(QResizeEvent* event) override;
  void paintEvent(QPaintEvent* event) override;
  void focusInEvent(QFocusEvent* event) override;
  void focusOutEvent(QFocusEvent* event) override;
  void mousePressEvent(QMouseEvent* event) override;
  void mouseMoveEvent(QMouseEvent* event) override;
  void mouseReleaseEvent(QMouseEvent* event) override;
  void wheelEvent(QWheelEvent* event) override;
  void keyPressEvent(QKeyEvent* event) override;
  void contextMenuEvent(QContextMenuEvent* event) override;
  void dragEnterEvent(QDragEnterEvent* event) override;
  void dragMoveEvent(QDragMoveEvent* event) override;
  void dragLeaveEvent(QDragLeaveEvent* event) override;
  void dropEvent(QDropEvent* event) override;

 private:
  ModelScene scene() const;
  void lay_out();
  void fit_scroll_bars();
  void describe();
  void paint_nothing(QPainter& painter) const;
  QPoint rows_point(const QPoint& at) const { return at - scene().origin(); }
  int node_at(const QPoint& at) const;  // node at a point in viewport coordinates
  int group_at(const QPoint& at) const;
  void click(int node, Qt::KeyboardModifiers modifiers);
  void go_to(int node, bool extend);
  void bring_into_view(int node);
  bool navigate_by_key(const QKeyEvent& event);
  bool move_by_key(const QKeyEvent& event);
  void start_drag();
  void set_target(int column);
  void scroll_near(const QPoint& at);
  void fill_menu(QMenu& menu);

  ModelPicture picture_;
  ModelGeometry geometry_;
  QString empty_title_, empty_hint_;
  bool overview_ = false;
  Nodes selected_;
  int current_ = -1, anchor_ = -1, hovered_ = -1, target_ = -1;
  std::optional<QPoint> pressed_;  // where the mouse was pressed on a node that can be dragged
  int pressed_node_ = -1;
};

}  // namespace trainyard::ui
