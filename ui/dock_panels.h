// SPDX-License-Identifier: GPL-3.0-or-later
// Panels in the docks around the canvas, and the connections among these panels and to the canvas.
#pragma once

#include <QObject>

#include "ui/central_area.h"
#include "ui/charts/run_charts.h"
#include "ui/inspector/inspector.h"
#include "ui/machines/machines_panel.h"
#include "ui/model/machines/known_machines.h"
#include "ui/modelview/model_panel.h"
#include "ui/panels/log_panel.h"
#include "ui/panels/plan_panel.h"
#include "ui/panels/problems_panel.h"
#include "ui/panels/text_panel.h"
#include "ui/runs/runs_panel.h"
#include "ui/scaling/scaling_panel.h"
#include "ui/staleness/staleness_panel.h"
#include "ui/stepper/stepper_panel.h"
#include "ui/timeline/timeline_panel.h"
#include "ui/workspace.h"

namespace trainyard::ui {

class DockPanels : public QObject {
  Q_OBJECT
 public:
  DockPanels(QMainWindow& window, Workspace& workspace, CentralArea& center, Document& document,
             Selection& selection, const Services& services);

  // The panels in the docks. The main window owns them.
  Inspector& inspector;
  RunCharts& charts;
  TimelinePanel& timeline;
  PlanPanel& plan;
  StepperPanel& stepper;
  StalenessPanel& staleness;
  LogPanel& log;
  ProblemsPanel& problems;
  RunsPanel& runs;
  ScalingPanel& scaling;
  SampledTextPanel& text;
  ModelPanel& model;
  MachinesPanel& machines;
  Palette& palette;
  KnownMachines& known_machines;  // offered by the palette and by the inspector
  JoinedMachines& joined_machines;

 signals:
  void machine_requested();  // requests to add another machine

 private:
  QWidget* make_palette(CentralArea& center, const Services& services);
  void offer_machines();
  QWidget* make_tree(Document& document, Selection& selection);
  void connect_inspector(TopologyView& canvas);
  void announce_dropped_fields(Document& document);
  void connect_problems(Workspace& workspace);
  void connect_stepper(TopologyView& canvas, Workspace& workspace);
  void connect_model(TopologyView& canvas, Workspace& workspace);

  QMainWindow& window_;
};

}  // namespace trainyard::ui
