// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/inspector/shard_view.h"

#include <QVBoxLayout>

#include "core/experiment/placement.h"
#include "ui/theme/theme.h"

namespace trainyard::ui {
namespace {

QString sentence(std::string text) {
  QString note = QString::fromStdString(text);
  note[0] = note[0].toUpper();
  return note + ".";
}

}  // namespace

ShardView::ShardView(QWidget* parent)
    : QWidget(parent),
      caption_(paragraph(TextColor::dim, this)),
      bars_(new ShardBars(this)),
      columns_(paragraph(TextColor::text, this)) {
  auto* column = new QVBoxLayout(this);
  column->setContentsMargins(0, kGrid, 0, 0);
  column->setSpacing(kGrid / 2);
  column->addWidget(caption_);
  column->addWidget(bars_);
  column->addWidget(columns_);
  columns_->setAccessibleName(tr("Feature columns by rank"));
  hide();
}

QString ShardView::caption_of(const experiment::Experiment& experiment,
                              const DataAssignment& data_assignment, Source source) {
  const auto caveat = experiment::equivalence_caveats(experiment);
  const bool owned = data::owns_samples(experiment.data.sharding);
  QString caption =
      !data_assignment.columns.isEmpty()
          ? tr("Each rank loads only its own feature columns and trains on all samples")
      : owned ? tr("Samples per rank, by class")
              : tr("Samples per rank in the first epoch, by class");
  if (source == Source::recorded) caption = tr("%1, as recorded by the run").arg(caption);
  if (!data_assignment.columns.isEmpty())
    return tr("%1. All ranks have the same class distribution.").arg(caption);
  return caveat ? caption + ". " + sentence(*caveat) : caption;
}

void ShardView::show_assignment(const experiment::Experiment& experiment,
                                const DataAssignment& data_assignment, Source source) {
  caption_->setText(caption_of(experiment, data_assignment, source));
  bars_->show_shards(data_assignment.shards);
  bars_->setVisible(!data_assignment.shards.empty());
  QStringList lines;
  for (qsizetype rank = 0; rank < data_assignment.columns.size(); ++rank)
    lines << tr("rank %1: %2").arg(rank).arg(data_assignment.columns[rank]);
  columns_->setText(lines.join("\n"));
  columns_->setVisible(!lines.isEmpty());
  setVisible(!data_assignment.empty());
}

}  // namespace trainyard::ui
