// SPDX-License-Identifier: GPL-3.0-or-later
// Below the fields of the data: who trains on how many samples of which class, and what that means for the training.
#pragma once

#include "core/experiment/experiment.h"
#include "ui/inspector/shard_bars.h"
#include "ui/theme/tinted_label.h"

namespace trainyard::ui {

class ShardView : public QWidget {
  Q_OBJECT
 public:
  enum class Source { reckoned, recorded };

  explicit ShardView(QWidget* parent = nullptr);

  // Of an experiment, reckoned from its data or as a run of it recorded them. Empty: they are not known, and nothing is shown.
  void show_shards(const experiment::Experiment& experiment, const data::ShardTable& shards, Source source);
  const ShardBars& bars() const { return *bars_; }
  QString caption() const { return isHidden() ? QString() : caption_->text(); }

 private:
  TintedLabel* caption_;
  ShardBars* bars_;
};

}  // namespace trainyard::ui
