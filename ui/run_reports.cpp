// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/run_reports.h"

#include <QStatusBar>
#include <set>

#include "core/base/fields.h"
#include "ui/model/machines/known_machines.h"
#include "ui/model/runs/failure.h"
#include "ui/model/runs/run_directory.h"
#include "ui/model/text/count_text.h"
#include "ui/run_on_this_machine.h"

namespace trainyard::ui {
namespace {

constexpr int kEndedMilliseconds = 10'000;

}  // namespace

RunReports::RunReports(QMainWindow& window, RunSession& runs, RunDisplay& display,
                       RunStarter& starter, Workspace& workspace, CentralArea& center,
                       DockPanels& panels)
    : window_(window),
      runs_(runs),
      display_(display),
      starter_(starter),
      workspace_(workspace),
      center_(center),
      panels_(panels) {
  connect(&runs, &RunSession::current_changed, this, &RunReports::forget_failure);
  connect(&runs, &RunSession::updated, this, [this](Run* run) { run_updated(*run); });
  connect(&runs, &RunSession::error_reported, this,
          [this](Run* run, const QString& text) { report_run_error(*run, text); });
  // Shows the messages about the run again, because opening an experiment clears the messages about
  // the previous document.
  connect(&display, &RunDisplay::experiment_opened, this, [this] {
    forget_failure();
    report_failure(*runs_.current());
    offer_resume(*runs_.current());
  });
}

// Forgets that the failure of the current run was reported, so that it can be shown again.
void RunReports::forget_failure() { reported_failures_.removeAll(runs_.current()->directory()); }

// Returns the name of a run in messages: "The run" for the displayed run, and the run's name for
// another run.
QString RunReports::name_of(const Run& run) const {
  return &run == runs_.current() ? tr("The run") : run.name();
}

// Reports a failure immediately, even if the failed run is not displayed. RunDisplay shows other
// changes.
void RunReports::run_updated(const Run& run) {
  if (&run == runs_.current() || run.live()) report_failure(run);
}

void RunReports::report_failure(const Run& run) {
  if (reported_failures_.contains(run.directory())) return;
  std::optional<base::Problem> problem = failure_of_run(run.history());
  if (run.status() && run.status()->problem) problem = run.status()->problem;
  if (!problem) return;
  reported_failures_ << run.directory();
  if (problem->code == base::ProblemCode::canceled)
    return center_.errors().show_text(Banner::Kind::information,
                                      tr("%1 was stopped").arg(name_of(run)),
                                      tr("Its recording is kept."));
  center_.errors().show_problem(tr("%1 failed").arg(name_of(run)), *problem);
  const std::set<int> ranks = ranks_in_problem(*problem);
  offer_log(run, ranks.size() == 1 ? std::optional(*ranks.begin()) : std::nullopt);
  offer_this_machine(run, *problem);
}

// Offers to run the experiment of the document without other machines, if the run failed because of
// them.
void RunReports::offer_this_machine(const Run& run, const base::Problem& problem) {
  if (&run != runs_.current() || !is_machine_problem(problem) || !display_.trains_as_run()) return;
  center_.errors().offer_second(tr("Run on this machine"), [this] {
    starter_.start_on_this_machine();
    return true;
  });
}

void RunReports::report_run_error(const Run& run, const QString& text) {
  center_.errors().show_text(Banner::Kind::error, tr("Problem of %1").arg(name_of(run)), text);
  offer_log(run, {});
}

// Offers to show the log of a rank, or of all ranks if `rank` is empty.
void RunReports::offer_log(const Run& run, std::optional<int> rank) {
  const auto show = [this, directory = run.directory(), rank] {
    if (!runs_.current() || runs_.current()->directory() != directory) display_.open(directory);
    workspace_.raise("log");
    panels_.log.show_lines_of(rank);
    return false;  // the banner stays open beside the log
  };
  center_.errors().offer(tr("Show log"), show);
}

// Offers to resume a failed run if it has a complete checkpoint and trained the experiment of the
// document.
void RunReports::offer_resume(const Run& run) {
  const auto& result = run.history().recorded_result();
  if (!result || !result->committed_step || !result->problem || &run != runs_.current() ||
      !display_.trains_as_run())
    return;
  center_.errors().offer_second(tr("Resume from step %1").arg(grouped(*result->committed_step)),
                                [this, directory = run.directory()] {
                                  starter_.resume(directory);
                                  return true;
                                });
}

// Reports that the coordinator ended without a result.
void RunReports::report_lost_coordinator(const Run& run) {
  const auto& losses = run.history().train_loss();
  const QString steps =
      tr("%n step(s)", nullptr, plural(losses.empty() ? 0 : losses.back().step + 1));
  const QString note = QString::fromStdString(last_output(run.directory().toStdString()));
  const QString how =
      note.isEmpty()
          ? tr("The coordinator process ended after %1 without reporting a result; it may have "
               "been killed.")
                .arg(steps)
          : tr("The coordinator process ended after %1 without reporting a result.").arg(steps);
  const QString kept = tr("The recording is kept. Run the experiment again.");
  center_.errors().show_text(Banner::Kind::error, tr("%1 ended unexpectedly").arg(name_of(run)),
                             note.isEmpty()
                                 ? how + " " + kept
                                 : how + " " + kept + "\n" + tr("Last output: %1").arg(note));
  offer_log(run, {});
}

void RunReports::run_ended(const Run& run) {
  report_failure(run);
  const telemetry::History& history = run.history();
  const bool told = reported_failures_.contains(run.directory()), shown = &run == runs_.current();
  if (!told && history.ranks() > 0 && !history.result().is_object()) report_lost_coordinator(run);
  else if (!told && !shown)
    window_.statusBar()->showMessage(tr("%1 has ended").arg(run.name()), kEndedMilliseconds);
  if (told && shown) offer_resume(run);
}

}  // namespace trainyard::ui
