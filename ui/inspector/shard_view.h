// SPDX-License-Identifier: GPL-3.0-or-later
// Assignment of the data to ranks, below the fields of the data. It shows the number of samples of
// each rank by class, and what this means for training. If all ranks train on all samples, it shows
// the feature columns of each rank instead.
#pragma once

#include "core/experiment/experiment.h"
#include "ui/inspector/shard_bars.h"
#include "ui/model/plan/data_assignment.h"
#include "ui/theme/tinted_label.h"

namespace trainyard::ui {

class ShardView : public QWidget {
  Q_OBJECT
 public:
  enum class Source { computed, recorded };

  explicit ShardView(QWidget* parent = nullptr);

  // Shows an assignment that was computed from the data or recorded by a run. An empty assignment
  // means that it is unknown; the view is then hidden.
  void show_assignment(const experiment::Experiment& experiment,
                       const DataAssignment& data_assignment, Source source);
  const ShardBars& bars() const { return *bars_; }
  QString columns() const { return columns_->isHidden() ? QString() : columns_->text(); }
  QString caption() const { return isHidden() ? QString() : caption_->text(); }

 private:
  static QString caption_of(const experiment::Experiment& experiment,
                            const DataAssignment& data_assignment, Source source);

  TintedLabel* caption_;
  ShardBars* bars_;
  TintedLabel* columns_;
};

}  // namespace trainyard::ui
