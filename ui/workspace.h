// SPDX-License-Identifier: GPL-3.0-or-later
// The docks around the canvas: where they are, which are shown, and the perspectives that arrange
// them for a purpose. Kept in the settings. A window that is short for its letters spares what it
// can, so that a chart has room.
#pragma once

#include <QObject>
#include <QSettings>
#include <map>

class QAction;
class QDockWidget;
class QMainWindow;
class QMenu;
class QToolBar;

namespace trainyard::ui {

class Workspace : public QObject {
  Q_OBJECT
 public:
  enum class Area { left, right, bottom };
  enum class Perspective { build, run, compare };

  Workspace(QMainWindow& window, QSettings& settings);

  void add(const QString& name, const QString& title, Area area, QWidget* content);
  QDockWidget& dock(const QString& name) const { return *docks_.at(name); }
  void raise(const QString& name);  // shows it, in front of its neighbours
  void show_charts();  // where the window is short, with the docks that leave them room
  void set_title(const QString& name, const QString& title);

  void fill_menu(QMenu& menu);       // a switch for every dock, and "Reset layout"
  void fill_toolbar(QToolBar& bar);  // the perspectives
  void fill_perspectives(QMenu& menu);
  void set_perspective(Perspective perspective);
  void reset();
  void restore();  // as it was left, else as it comes
  void save();
  void set_bare(bool bare);  // no docks, until it is over: for the welcome page
  bool
  fit();  // to the window and its letters; says whether that became short, with charts in sight

 signals:
  void wanted();  // while bare: a dock is to be raised, or a perspective to be taken

 private:
  bool eventFilter(QObject* watched, QEvent* event) override;
  void focus_clicked(const QString& title);
  void toggle(const QString& name);
  void leave_bare();
  bool is_short() const;
  void spare_titles();
  int charts_height(int percent, int most) const;
  void make_perspectives();
  void lay_out();
  void lay_out_bottom(bool charts_apart);
  void hide_stray_bars();
  void put(const QString& name, Qt::Orientation orientation);
  Area area(const QString& name) const;
  QMainWindow& window_;
  QSettings& settings_;
  std::map<QString, QDockWidget*> docks_;
  QStringList order_;
  QByteArray kept_;  // the state to come back to, while bare
  QList<QAction*> perspectives_;
  bool was_short_ = false;
};

}  // namespace trainyard::ui
