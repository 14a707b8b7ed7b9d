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

ShardView::ShardView(QWidget* parent)
    : QWidget(parent), caption_(paragraph(Tint::dim, this)), bars_(new ShardBars(this)), columns_(paragraph(Tint::text, this)) {
  auto* column = new QVBoxLayout(this);
  column->setContentsMargins(0, kGrid, 0, 0);
  column->setSpacing(kGrid / 2);
  column->addWidget(caption_);
  column->addWidget(bars_);
  column->addWidget(columns_);
  columns_->setAccessibleName(tr("Feature columns by rank"));
  hide();
}

void ShardView::show_shards(const experiment::Experiment& experiment, const data::ShardTable& shards, Source source) {
  const auto unlike = experiment::unlike_one_device(experiment);
  QString caption =
      data::owns_samples(experiment.data.sharding) ? tr("Samples of each rank, by class") : tr("Samples of each rank in the first epoch, by class");
  if (source == Source::recorded) caption = tr("%1, as the run recorded them").arg(caption);
  caption_->setText(unlike ? caption + ". " + sentence(*unlike) : caption);
  bars_->show_shards(shards);
  bars_->setVisible(!shards.empty());
  columns_->hide();
  setVisible(!shards.empty());
}

void ShardView::show_columns(const QStringList& columns) {
  if (columns.isEmpty()) return;
  caption_->setText(tr("Every rank loads its own feature columns alone, and trains on every sample. Classes are alike on all ranks."));
  QStringList lines;
  for (qsizetype rank = 0; rank < columns.size(); ++rank) lines << tr("rank %1: %2").arg(rank).arg(columns[rank]);
  columns_->setText(lines.join("\n"));
  columns_->show();
  show();
}

}  // namespace trainyard::ui
