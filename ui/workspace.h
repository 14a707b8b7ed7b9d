// SPDX-License-Identifier: GPL-3.0-or-later
// Docks around the canvas: positions, visibility, and the perspectives that arrange them for a
// purpose. Stored in the settings. A window that is small for its font hides what it can, so that a
// chart has room.
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
  void raise(const QString& name);  // shows it in front of its neighbors
  void show_charts();               // in a small window, together with the docks that leave room
  void set_title(const QString& name, const QString& title);

  void fill_menu(QMenu& menu);       // a toggle for every dock, and "Reset layout"
  void fill_toolbar(QToolBar& bar);  // the perspectives
  void fill_perspectives(QMenu& menu);
  void set_perspective(Perspective perspective);
  void reset();
  void restore();  // the stored state, else the default
  void save();
  void hide_all_docks(bool bare);  // hides all docks until it ends; used by the welcome page
  bool
  fit();  // adapts to the window and its font; returns true if it became small with charts visible

 signals:
  void wanted();  // a dock or a perspective was requested while all docks are hidden

 private:
  bool eventFilter(QObject* watched, QEvent* event) override;
  void focus_clicked(const QString& title);
  void toggle(const QString& name);
  void request_docks();
  bool is_short() const;
  void hide_tabbed_titles();
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
  QByteArray kept_;  // state to restore when docks are shown again
  QList<QAction*> perspectives_;
  bool was_small_ = false;
};

}  // namespace trainyard::ui
