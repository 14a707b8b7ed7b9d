// SPDX-License-Identifier: GPL-3.0-or-later
// Line above the inspector with the plan's cost, before the plan is executed, and the simulator's
// verdict. Both are computed on a separate thread soon after the last edit. A computation for an
// older experiment is canceled immediately. A long simulation shows its progress and can be
// canceled by a link.
#pragma once

#include <QThreadPool>
#include <QTimer>
#include <QWidget>
#include <functional>
#include <optional>
#include <stop_token>

#include "ui/inspector/cost.h"
#include "ui/model/document/document.h"
#include "ui/model/plan/algorithm_offers.h"
#include "ui/model/plan/data_assignment.h"
#include "ui/model/plan/kept_shards.h"
#include "ui/model/plan/pipeline_plan.h"
#include "ui/model/plan/stage_assignment.h"
#include "ui/model/plan/verdict.h"
#include "ui/theme/tinted_label.h"

namespace trainyard::ui {

// Function that returns a text about an experiment and its expanded plan, such as the verdict. It
// may take long, but returns soon after a stop is requested. It may report its progress.
using Judge = std::function<base::Result<QString>(const experiment::Resolved&, const plan::Plan&,
                                                  const sim::Watch&)>;

class CostLine : public QWidget {
  Q_OBJECT
 public:
  explicit CostLine(Document& document, QWidget* parent = nullptr, Judge judge = verdict_of);
  ~CostLine() override;
  // Returns the problems of devices with too little memory, as `memory_problems_known` emitted
  // them. Empty if they are not known for the current drawing.
  const DisplayProblems& memory_problems() const;
  QString cost_text() const { return cost_->text(); }
  QString verdict_text() const { return verdict_->isHidden() ? QString() : verdict_->text(); }

 signals:
  // Emitted when the assignment of data to ranks is known for the newest experiment. It is empty if
  // it could not be computed.
  void assignment_known(const DataAssignment& data_assignment);
  // Emitted when the comparison of all-reduce algorithms is known for the newest experiment. It is
  // null if no device is drawn.
  void algorithms_known(const AlgorithmOffersPtr& offers);
  // Emitted when the stages of the newest experiment are known. They are empty if its model is not
  // split.
  void stages_known(const StageAssignment& stages);
  // Emitted when the shards of the newest experiment are known, by rank. They are empty if nothing
  // is sharded.
  void shards_known(const std::vector<KeptShard>& shards);
  // Emitted when the problems of devices with too little memory are known for the newest
  // experiment.
  void memory_problems_known(const DisplayProblems& problems);
  // Emitted when the pipeline plan of the newest experiment is known. It is null if the experiment
  // is not a pipeline, or cannot be simulated.
  void pipeline_known(const PipelinePlanPtr& plan);
  void settled();  // all results of the newest experiment are known

 private:
  struct CostComputation;
  experiment::Experiment drawn() const;
  void follow();
  void follow_refused();
  void start_computation();
  void give_up();
  void invite();
  void refuse(const base::Problem& problem);
  void show_cost(const base::Result<Cost>& cost);
  void show_memory_problems(const DisplayProblems& problems);
  QString why_not(const base::Problem& problem) const;
  void show_verdict(const QString& verdict);
  void show_progress(double fraction, double elapsed_seconds);
  void cancel();

  Document& document_;
  Judge judge_;
  QTimer delay_timer_{this};
  // Experiment, without positions on the canvas, to which the shown results or the computation in
  // progress belong.
  std::optional<experiment::Experiment> computed_;
  QString directory_;                     // directory that relative data paths start from
  std::optional<base::Problem> refused_;  // refused input of the form at the last update
  DisplayProblems memory_problems_;
  std::stop_source stop_;  // cancels the current computation
  TintedLabel *cost_, *verdict_;
  QThreadPool pool_{this};  // one separate thread, so that a long simulation blocks no other work
};

}  // namespace trainyard::ui
