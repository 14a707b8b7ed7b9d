// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/run_starter.h"

#include <QStatusBar>
#include <algorithm>
#include <utility>

#include "ui/run_on_this_machine.h"

namespace trainyard::ui {

RunStarter::RunStarter(QMainWindow& window, Document& document, RunSession& runs,
                       RunControls& controls, Workspace& workspace, CentralArea& center,
                       DockPanels& panels)
    : window_(window),
      document_(document),
      runs_(runs),
      controls_(controls),
      workspace_(workspace),
      center_(center),
      panels_(panels) {
  connect(&document, &Document::judged, this, &RunStarter::start_requested);
  connect(&controls, &RunControls::run_requested, this, &RunStarter::start);
}

// Runs the current document, saved or not. Validates it again first, because data files may have
// changed; this takes a while for large files.
void RunStarter::start() {
  if (runs_.live() || wanted_) return;
  if (panels_.scaling.sweeping()) return refuse_during_sweep();
  center_.show_welcome(false);
  if (!document_.has_devices()) return invite_to_draw();
  wanted_ = true;
  controls_.set_startable(false);
  window_.statusBar()->showMessage(tr("Checking the experiment and its data ..."));
  document_.judge();
}

void RunStarter::resume(const QString& run_directory) {
  start();
  if (wanted_) resume_from_ = run_directory;
}

void RunStarter::start_on_this_machine() {
  clear_addresses(document_);
  start();
}

void RunStarter::cancel() {
  resume_from_.clear();
  if (!std::exchange(wanted_, false)) return;
  controls_.set_startable(true);
  window_.statusBar()->clearMessage();
}

void RunStarter::start_requested() {
  const QString resume_from = std::exchange(resume_from_, {});
  // Does nothing if the request was canceled, or if the window was closed during the validation.
  if (!std::exchange(wanted_, false) || window_.isHidden()) return;
  controls_.set_startable(true);
  window_.statusBar()->clearMessage();
  if (runs_.live()) return;  // the workbench attached to a live run meanwhile
  if (panels_.scaling.sweeping()) return refuse_during_sweep();
  if (!document_.problems().empty())
    return refuse(document_.display_problems(), [this] { return document_.problems().empty(); });
  const CostLine& cost = panels_.inspector.cost();
  if (const DisplayProblems memory_problems = cost.memory_problems(); !memory_problems.empty())
    return refuse(memory_problems, [&cost] { return cost.memory_problems().empty(); });
  center_.errors().hide();
  emit starting();
  experiment::Experiment experiment = document_.experiment();
  if (!resume_from.isEmpty()) experiment.run.resume_from = resume_from.toStdString();
  if (const auto started = runs_.start(experiment, document_.directory(), document_.name());
      !started)
    return center_.errors().show_problem(tr("The run could not start"), started.error());
  workspace_.show_charts();
}

// Refuses to start a run during a sweep. Both would share cores, so the measurements of both would
// be wrong.
void RunStarter::refuse_during_sweep() {
  center_.show_welcome(false);
  workspace_.raise("scaling");
  Banner& errors = center_.errors();
  errors.show_text(
      Banner::Kind::information, tr("A sweep is running"),
      tr("A concurrent run would share the sweep's CPU cores and distort its measurements. "
         "Wait until the sweep ends or cancel it; finished runs are kept."));
  errors.offer(tr("Cancel the sweep"), [this] {
    panels_.scaling.cancel();
    return true;
  });
  errors.stays_until([this] { return !panels_.scaling.sweeping(); });
}

void RunStarter::refuse(const DisplayProblems& problems, std::function<bool()> is_resolved) {
  workspace_.raise("problems");
  base::Problems displayed;
  for (const DisplayProblem& problem : problems) displayed.push_back(problem.displayed);
  Banner& errors = center_.errors();
  errors.show_problems(tr("This experiment cannot run yet"), displayed);
  errors.offer(tr("Show location"),
               [this, where = QString::fromStdString(problems.front().found.where)] {
                 emit location_requested(where);
                 return true;
               });
  const auto by_machines = [](const DisplayProblem& problem) {
    return is_machine_problem(problem.found);
  };
  if (std::ranges::any_of(problems, by_machines))
    errors.offer_second(tr("Run on this machine"), [this] {
      start_on_this_machine();
      return true;
    });
  errors.stays_until(std::move(is_resolved));
}

void RunStarter::invite_to_draw() {
  Banner& errors = center_.errors();
  errors.show_text(Banner::Kind::information, tr("There is nothing to train on yet"),
                   tr("Drag a device from the palette to the canvas, or press Ctrl+1 there. Its "
                      "host is added with it."));
  errors.offer(tr("Place a CPU"), [this] {
    center_.canvas().place_in_middle(PaletteKind::cpu);
    return true;
  });
  errors.stays_until([this] { return document_.has_devices(); });
}

}  // namespace trainyard::ui
