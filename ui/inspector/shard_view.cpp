// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/inspector/shard_view.h"

#include <QVBoxLayout>

#include "core/experiment/placement.h"
#include "ui/theme/theme.h"

namespace trainyard::ui {
namespace {

QString sentence(std::string text) {
  QString said = QString::fromStdString(text);
  said[0] = said[0].toUpper();
  return said + ".";
}

}  // namespace

ShardView::ShardView(QWidget* parent) : QWidget(parent), caption_(paragraph(Tint::dim, this)), bars_(new ShardBars(this)) {
  auto* column = new QVBoxLayout(this);
  column->setContentsMargins(0, kGrid, 0, 0);
  column->setSpacing(kGrid / 2);
  column->addWidget(caption_);
  column->addWidget(bars_);
  hide();
}

void ShardView::show_shards(const experiment::Experiment& experiment, const data::ShardTable& shards, Source source) {
  const auto unlike = experiment::unlike_one_device(experiment);
  QString caption =
      data::owns_samples(experiment.data.sharding) ? tr("Samples of each rank, by class") : tr("Samples of each rank in the first epoch, by class");
  if (source == Source::recorded) caption = tr("%1, as the run recorded them").arg(caption);
  caption_->setText(unlike ? caption + ". " + sentence(*unlike) : caption);
  bars_->show_shards(shards);
  setVisible(!shards.empty());
}

}  // namespace trainyard::ui
