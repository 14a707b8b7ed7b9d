// SPDX-License-Identifier: GPL-3.0-or-later
// Below the fields of the data: who trains on how many samples of which class, and what that means
// for the training; or on which feature columns of all samples.
#pragma once

#include "core/experiment/experiment.h"
#include "ui/inspector/shard_bars.h"
#include "ui/model/dealt.h"
#include "ui/theme/tinted_label.h"

namespace trainyard::ui {

class ShardView : public QWidget {
  Q_OBJECT
 public:
  enum class Source { reckoned, recorded };

  explicit ShardView(QWidget* parent = nullptr);

  // Of an experiment, reckoned from its data or as a run of it recorded it. Empty: it is not known,
  // and nothing is shown.
  void show_dealt(const experiment::Experiment& experiment, const Dealt& dealt, Source source);
  const ShardBars& bars() const { return *bars_; }
  QString columns() const { return columns_->isHidden() ? QString() : columns_->text(); }
  QString caption() const { return isHidden() ? QString() : caption_->text(); }

 private:
  static QString caption_of(const experiment::Experiment& experiment, const Dealt& dealt,
                            Source source);

  TintedLabel* caption_;
  ShardBars* bars_;
  TintedLabel* columns_;
};

}  // namespace trainyard::ui
