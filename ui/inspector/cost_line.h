// SPDX-License-Identifier: GPL-3.0-or-later
// The live line above the inspector: what the plan costs before it runs, and what the simulator
// makes of it. Reckoned on a thread of its own, shortly after the last change; what is reckoned of
// an older experiment is given up at once.
#pragma once

#include <QThreadPool>
#include <QTimer>
#include <QWidget>
#include <functional>
#include <optional>
#include <stop_token>

#include "ui/inspector/cost.h"
#include "ui/model/algorithm_offers.h"
#include "ui/model/dealt.h"
#include "ui/model/document.h"
#include "ui/model/kept_shards.h"
#include "ui/model/pipeline_plan.h"
#include "ui/model/stage_picture.h"
#include "ui/model/verdict.h"
#include "ui/theme/tinted_label.h"

namespace trainyard::ui {

// What is said of an experiment and its expanded plan. May take long; soon over once it is asked to
// stop.
using Judge = std::function<base::Result<QString>(const experiment::Resolved&, const plan::Plan&,
                                                  std::stop_token)>;

class CostLine : public QWidget {
  Q_OBJECT
 public:
  explicit CostLine(Document& document, QWidget* parent = nullptr, Judge judge = verdict_of);
  ~CostLine() override;
  const ToldProblems& room() const;  // what devices have no room for, as told by room_known; none
                                     // where that is not known of what is drawn now
  QString cost_text() const { return cost_->text(); }
  QString verdict_text() const { return verdict_->isHidden() ? QString() : verdict_->text(); }

 signals:
  void dealt_known(const Dealt& dealt);  // of the newest experiment; empty where it is not
  void algorithms_known(
      const KnownOffers& offers);  // of the newest experiment; null where nothing is drawn
  void stages_known(
      const StagePicture& stages);  // of the newest experiment; empty where its model is not split
  void shards_known(const std::vector<KeptShard>& shards);  // of the newest experiment, by rank;
                                                            // none where nothing is shared out
  void room_known(
      const ToldProblems& problems);  // of the newest experiment: what its devices have no room for
  void pipeline_known(const KnownPipeline& plan);  // of the newest experiment; null where it is
                                                   // none, or cannot be simulated
  void settled();                                  // of the newest experiment everything is known

 private:
  struct Reckoning;
  experiment::Experiment drawn() const;
  void follow();
  void follow_refused();
  void reckon();
  void give_up();
  void invite();
  void refuse(const base::Problem& problem);
  void show_cost(const base::Result<Cost>& cost);
  void show_room(const ToldProblems& problems);
  QString why_not(const base::Problem& problem) const;
  void show_verdict(const QString& verdict);

  Document& document_;
  Judge judge_;
  QTimer soon_{this};
  std::optional<experiment::Experiment> reckoned_;  // or being reckoned, wherever its things stand
  QString directory_;                               // where its data files are looked for
  std::optional<base::Problem> refused_;  // what was typed and not taken, when it was looked last
  ToldProblems room_;
  std::stop_source stop_;  // of all that
  TintedLabel *cost_, *verdict_;
  QThreadPool pool_{this};  // of one thread: a long simulation keeps nobody else waiting
};

}  // namespace trainyard::ui
