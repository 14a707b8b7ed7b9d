// SPDX-License-Identifier: GPL-3.0-or-later
// Commands in the context menu of the canvas that slow down ranks and links of the current run, or
// make them fail, while the run is live.
#pragma once

#include <QObject>

#include "ui/canvas/topology_view.h"
#include "ui/questions.h"
#include "ui/run_session.h"

class QMenu;

namespace trainyard::ui {

class FaultCommands : public QObject {
  Q_OBJECT
 public:
  FaultCommands(RunSession& runs, TopologyView& canvas, const Questions& questions);

 private:
  void fill_rank_menu(QMenu& menu, const TopologyObject& part);
  void fill_link_menu(QMenu& menu, const TopologyObject& part) const;
  void inject_fault(Run& run, session::Command fault, int rank) const;

  RunSession& runs_;
  TopologyView& canvas_;
  const Questions& questions_;
};

}  // namespace trainyard::ui
