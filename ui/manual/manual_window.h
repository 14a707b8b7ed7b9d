// SPDX-License-Identifier: GPL-3.0-or-later
// Window of the manual: contents and search at the left, the page at the right.
#pragma once

#include <QSettings>
#include <QTimer>
#include <QWidget>

#include "core/base/result.h"
#include "core/manual/manual.h"
#include "ui/manual/manual_browser.h"
#include "ui/theme/tinted_label.h"

class QAction;
class QLineEdit;
class QListWidget;
class QSplitter;
class QStackedWidget;
class QToolBar;
class QTreeWidget;
class QTreeWidgetItem;

namespace trainyard::ui {

class ManualWindow : public QWidget {
  Q_OBJECT
 public:
  ManualWindow(const manual::Manual& manual, const QString& directory, QSettings& settings,
               QWidget* parent = nullptr);
  ~ManualWindow() override;

  void show_place(const manual::ManualLocation& place);  // shows a place and raises the window
  ManualBrowser& browser() { return *browser_; }
  QLineEdit& search_field() { return *search_; }
  QListWidget& hits() { return *hits_; }
  QTreeWidget& tree() { return *tree_; }

 protected:
  void changeEvent(QEvent* event) override;
  bool eventFilter(QObject* watched, QEvent* event) override;

 private:
  void build_bar();
  QWidget* build_side();
  void fill_tree();
  void add_shortcuts();
  void fit();
  void search();
  void open_hit(int row);
  void place_changed();
  void leave();

  const manual::Manual& manual_;
  QSettings& settings_;
  QToolBar* bar_;
  QAction *back_ = nullptr, *forward_ = nullptr;
  QSplitter* splitter_;
  QLineEdit* search_ = nullptr;
  QStackedWidget* lists_ = nullptr;
  QTreeWidget* tree_ = nullptr;
  QListWidget* hits_ = nullptr;
  TintedLabel* nothing_ = nullptr;
  ManualBrowser* browser_;
  std::vector<manual::SearchHit> found_;
  QTimer delay_timer_;  // searches after a pause in typing
};

}  // namespace trainyard::ui
