// SPDX-License-Identifier: GPL-3.0-or-later
// Shows the current run on canvas, charts and panels, and reports how its experiment differs from
// the document.
#pragma once

#include <QObject>
#include <QTimer>
#include <optional>

#include "ui/dock_panels.h"
#include "ui/file_actions.h"
#include "ui/run_overlay.h"
#include "ui/run_session.h"
#include "ui/run_starter.h"

namespace trainyard::ui {

class RunDisplay : public QObject {
  Q_OBJECT
 public:
  RunDisplay(Document& document, FileActions& files, RunSession& runs, const RunStarter& starter,
             Workspace& workspace, CentralArea& center, DockPanels& panels);

  void open(const QString& run_directory);
  void run_ended(const Run& run);
  void document_opened();
  bool trains_as_run() const;  // true if the document would train the same as the current run

 signals:
  void experiment_opened();  // the experiment of the current run was opened as a new document

 private:
  void show_run();
  void show_live_state();
  void show_experiment_of_run();
  bool open_experiment_of_run();
  void report_other_experiment();
  void match_drawing();

  Document& document_;
  FileActions& files_;
  RunSession& runs_;
  const RunStarter& starter_;
  Workspace& workspace_;
  CentralArea& center_;
  DockPanels& panels_;
  std::optional<RunOverlay> overlay_;
  QTimer live_;  // updates canvas and caveats
  bool drawing_matches_ = true;
  bool experiment_requested_ = false;  // true while waiting for the experiment of the opened run
  // True if the run trains the drawn experiment; no value if they were not compared yet.
  std::optional<bool> as_drawn_;
  // True if a document was opened while a run is shown, and was not compared to the run yet.
  bool opened_beside_run_ = false;
};

}  // namespace trainyard::ui
