// SPDX-License-Identifier: GPL-3.0-or-later
// All commands on the drawing, as actions with shortcuts: for menus, toolbars and the canvas.
#pragma once

#include <QAction>
#include <QObject>
#include <map>

#include "ui/canvas/arrange.h"
#include "ui/canvas/topology_view.h"

class QMenu;

namespace trainyard::ui {

class CanvasActions : public QObject {
  Q_OBJECT
 public:
  CanvasActions(Document& document, Selection& selection, TopologyView& view,
                QObject* parent = nullptr);

  // Returns an action by name: cut copy paste duplicate delete select_all rename | select_tool
  // connect_tool | place_cpu place_gpu place_tpu place_host place_switch add_machine | toggle_chief
  // toggle_server toggle_evaluator toggle_idle | align_left align_center align_right align_top
  // align_middle align_bottom distribute_horizontally distribute_vertically arrange | zoom_in
  // zoom_out zoom_actual zoom_fit
  QAction* action(const QString& name) const;

  void fill_edit_menu(QMenu& menu) const;  // undo and redo are actions of the main window
  void fill_place_menu(QMenu& menu) const;
  void fill_arrange_menu(QMenu& menu) const;
  void fill_view_menu(QMenu& menu) const;

 signals:
  void machine_requested();  // requests to add another machine

 private:
  QAction* add(const QString& name, const QString& icon, const QString& text,
               const QKeySequence& keys, const std::function<void()>& run);
  void add_edits();
  void add_roles();
  void add_places();
  void add_arrangements();
  void add_views();
  void fill(QMenu& menu, const QStringList& names) const;
  void fill_context_menu(QMenu& menu, const TopologyObject& part) const;
  void enable();

  void copy();
  void paste();
  void add_fragment(const QString& text, const Fragment& fragment);
  std::string add_home(topology::Topology& topology, std::size_t devices) const;
  void remove(const QString& text);
  void toggle(topology::Role role);
  void change(const QString& text, const std::function<void(topology::Topology&)>& change);

  Document& document_;
  Selection& selection_;
  TopologyView& view_;
  std::map<QString, QAction*> actions_;
};

}  // namespace trainyard::ui
