// SPDX-License-Identifier: GPL-3.0-or-later
// Actions for menus and the toolbar: Run, Pause training, Single step and Stop, and a dial for the
// pace. They control the live run. If there is no live run, Run requests a new run, and the dial
// sets the pace of that run.
#pragma once

#include <QAction>
#include <QObject>
#include <QPointer>

#include "ui/model/document/document.h"
#include "ui/model/runs/run.h"

class QComboBox;
class QMenu;
class QToolBar;

namespace trainyard::ui {

class RunControls : public QObject {
  Q_OBJECT
 public:
  explicit RunControls(Document& document, QObject* parent = nullptr);
  void set_run(Run* run);  // run to command while it is live; may be null or an old run
  void set_startable(bool startable) { startable_ = startable, refresh(); }

  void fill_menu(QMenu& menu) const;
  void fill_toolbar(QToolBar& bar);  // adds the actions and the dial; call it once

  QAction& run_action() { return *run_; }
  QAction& pause_action() { return *pause_; }
  QAction& step_action() { return *step_; }
  QAction& stop_action() { return *stop_; }
  QComboBox* pace() const { return pace_; }

 signals:
  void run_requested();

 private:
  QAction* add(const QString& icon, const QString& text, const QKeySequence& keys,
               const QString& tip);
  void refresh();
  void show_pace(double seconds_per_step);
  void choose_pace();
  void pause_or_resume();
  bool live() const { return run_shown_ && run_shown_->live(); }

  Document& document_;
  QPointer<Run> run_shown_;
  QAction *run_, *pause_, *step_, *stop_;
  QComboBox* pace_ = nullptr;
  bool startable_ = true;
};

}  // namespace trainyard::ui
