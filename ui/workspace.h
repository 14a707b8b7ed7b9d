// SPDX-License-Identifier: GPL-3.0-or-later
// Docks around the canvas: their positions and visibility, and the perspectives, which arrange them
// for a purpose. Their state is stored in the settings. If the window is too small for its font,
// some docks are hidden so that a chart has room.
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

  enum class Shown { always, on_request };  // on_request: not part of the default layout
  void add(const QString& name, const QString& title, Area area, QWidget* content,
           Shown shown = Shown::always);
  QDockWidget& dock(const QString& name) const { return *docks_.at(name); }
  void raise(const QString& name);  // shows the dock in front of its neighbors
  // Shows the charts. In a small window, hides the docks that would leave them too little room.
  void show_charts();
  void set_title(const QString& name, const QString& title);

  void fill_menu(QMenu& menu);       // adds a toggle for every dock, and "Reset layout"
  void fill_toolbar(QToolBar& bar);  // adds the perspectives
  void fill_perspectives(QMenu& menu);
  void set_perspective(Perspective perspective);
  void reset();
  void restore();  // restores the stored state, or the default if there is none
  void save();
  // Hides all docks (true) or shows them again (false). Docks are hidden while the welcome page is
  // shown.
  void hide_all_docks(bool bare);
  // Adapts the docks to the window and its font. Returns true if the window has become small while
  // charts are visible.
  bool fit();

 signals:
  void wanted();  // a dock or a perspective was requested while all docks were hidden

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
  bool on_request(const QString& name) const;
  QMainWindow& window_;
  QSettings& settings_;
  std::map<QString, QDockWidget*> docks_;
  QStringList order_;
  QByteArray kept_;  // state to restore when the docks are shown again
  QList<QAction*> perspectives_;
  bool was_small_ = false;
};

}  // namespace trainyard::ui
