// SPDX-License-Identifier: GPL-3.0-or-later
// Central widget of the main window: banners, below them the welcome page or the canvas, and the
// status line of the run.
#pragma once

#include <QWidget>

#include "ui/canvas/topology_view.h"
#include "ui/model/document/recent_files.h"
#include "ui/panels/banner.h"
#include "ui/panels/run_state_bar.h"
#include "ui/welcome/welcome_page.h"

class QShortcut;
class QStackedWidget;

namespace trainyard::ui {

class CentralArea : public QWidget {
  Q_OBJECT
 public:
  CentralArea(Document& document, Selection& selection, RecentFiles& recent,
              const QString& examples_directory, QWidget* parent);

  Banner& errors() const { return *errors_; }
  // banner that offers to recover unsaved work
  Banner& recovery_banner() const { return *recovery_banner_; }
  Banner& offers() const { return *offers_; }
  WelcomePage& welcome() const { return *welcome_; }
  TopologyView& canvas() const { return *canvas_; }
  RunStateBar& state_bar() const { return *state_bar_; }

  bool shows_welcome() const;
  void show_welcome(bool shown);

 signals:
  void welcome_shown(bool shown);

 private:
  Banner *errors_, *recovery_banner_, *offers_;
  QStackedWidget* pages_;
  RunStateBar* state_bar_;
  WelcomePage* welcome_;
  TopologyView* canvas_;
  QShortcut* leave_welcome_;
};

}  // namespace trainyard::ui
