// SPDX-License-Identifier: GPL-3.0-or-later
// Live line above the inspector: the plan's cost before it runs, and the simulator's verdict.
// Computed on a separate thread soon after the last change; a computation for an older experiment
// is canceled immediately.
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

// Function that returns a text about an experiment and its expanded plan. It may take long, and
// returns soon after `stop` is requested.
using Judge = std::function<base::Result<QString>(const experiment::Resolved&, const plan::Plan&,
                                                  std::stop_token)>;

class CostLine : public QWidget {
  Q_OBJECT
 public:
  explicit CostLine(Document& document, QWidget* parent = nullptr, Judge judge = verdict_of);
  ~CostLine() override;
  // Problems of devices with too little memory, as emitted by `memory_problems_known`. Empty if
  // they are unknown for the current drawing.
  const DisplayProblems& memory_problems() const;
  QString cost_text() const { return cost_->text(); }
  QString verdict_text() const { return verdict_->isHidden() ? QString() : verdict_->text(); }

 signals:
  // assignment of data for the newest experiment; empty if unknown
  void assignment_known(const DataAssignment& data_assignment);
  // algorithms for the newest experiment; null if nothing is drawn
  void algorithms_known(const AlgorithmOffersPtr& offers);
  // stages of the newest experiment; empty if its model is not split
  void stages_known(const StageAssignment& stages);
  // shards of the newest experiment, by rank; empty if nothing is sharded
  void shards_known(const std::vector<KeptShard>& shards);
  // problems of devices with too little memory for the newest experiment
  void memory_problems_known(const DisplayProblems& problems);
  // plan of the newest experiment; null if it is no pipeline, or cannot be simulated
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

  Document& document_;
  Judge judge_;
  QTimer delay_timer_{this};
  // experiment, without positions, of the shown results or of the computation in progress
  std::optional<experiment::Experiment> computed_;
  QString directory_;                     // directory that relative data paths start from
  std::optional<base::Problem> refused_;  // refused input of the form at the last update
  DisplayProblems memory_problems_;
  std::stop_source stop_;  // cancels the current computation
  TintedLabel *cost_, *verdict_;
  QThreadPool pool_{this};  // one separate thread, so that a long simulation blocks no other work
};

}  // namespace trainyard::ui
