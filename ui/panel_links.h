// SPDX-License-Identifier: GPL-3.0-or-later
// Jumps from one panel to another: from a problem to its field, from an op to its line in the plan,
// and from a gradient to the op on the timeline that pushed it.
#pragma once

#include <QMainWindow>
#include <QObject>

#include "ui/run_display.h"

namespace trainyard::ui {

class PanelLinks : public QObject {
  Q_OBJECT
 public:
  PanelLinks(QMainWindow& window, const RunSession& runs, const RunDisplay& display,
             Workspace& workspace, CentralArea& center, DockPanels& panels);
  void show_field(const QString& path);

 private:
  void show_recorded_op(int rank, const QString& program, const QString& token, bool raise);
  void show_op(int rank, const QString& program, const QString& token, bool raise);
  void show_push(int rank, double seconds);

  QMainWindow& window_;
  const RunSession& runs_;
  const RunDisplay& display_;
  Workspace& workspace_;
  CentralArea& center_;
  DockPanels& panels_;
};

}  // namespace trainyard::ui
