// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/panel_links.h"

#include <QStatusBar>

namespace trainyard::ui {
namespace {

constexpr int kHintMilliseconds = 10'000;

}  // namespace

PanelLinks::PanelLinks(QMainWindow& window, const RunSession& runs, const RunDisplay& display,
                       Workspace& workspace, CentralArea& center, DockPanels& panels)
    : window_(window),
      runs_(runs),
      display_(display),
      workspace_(workspace),
      center_(center),
      panels_(panels) {
  connect(&panels.problems, &ProblemsPanel::activated, this, &PanelLinks::show_field);
  connect(&panels.machines, &MachinesPanel::activated, this, &PanelLinks::show_field);
  connect(&panels.timeline, &TimelinePanel::op_selected, this, &PanelLinks::show_recorded_op);
  connect(&panels.timeline, &TimelinePanel::drawn_op_selected, this, &PanelLinks::show_op);
  connect(&panels.staleness, &StalenessPanel::gradient_requested, this, &PanelLinks::show_push);
  connect(&panels.charts, &RunCharts::gradient_requested, this, &PanelLinks::show_push);
}

void PanelLinks::show_field(const QString& path) {
  center_.show_welcome(false);
  workspace_.raise("inspector");
  panels_.inspector.go_to(path);
}

// Shows an op of the run in the plan panel. The panel shows the plan of the document, so it can
// show the op only if the run trained the document's experiment.
void PanelLinks::show_recorded_op(int rank, const QString& program, const QString& token,
                                  bool raise) {
  if (runs_.current() && display_.trains_as_run()) return show_op(rank, program, token, raise);
  if (raise)
    window_.statusBar()->showMessage(tr("This run trained a different experiment; the plan shows "
                                        "the experiment on the canvas."),
                                     kHintMilliseconds);
}

void PanelLinks::show_op(int rank, const QString& program, const QString& token, bool raise) {
  panels_.plan.show_op(rank, program, token);
  if (raise) workspace_.raise("plan");
}

void PanelLinks::show_push(int rank, double seconds) {
  workspace_.raise("timeline");
  if (!panels_.timeline.show_push(rank, seconds))
    window_.statusBar()->showMessage(tr("The push of that gradient is no longer on the timeline, "
                                        "which holds only the latest ops."),
                                     kHintMilliseconds);
}

}  // namespace trainyard::ui
