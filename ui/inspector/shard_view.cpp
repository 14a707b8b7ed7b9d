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

QString ShardView::caption_of(const experiment::Experiment& experiment, const DataAssignment& dealt,
                              Source source) {
  const auto unlike = experiment::equivalence_caveats(experiment);
  const bool owned = data::owns_samples(experiment.data.sharding);
  QString caption =
      !dealt.columns.isEmpty()
          ? tr("Each rank loads only its own feature columns and trains on all samples")
      : owned ? tr("Samples per rank, by class")
              : tr("Samples per rank in the first epoch, by class");
  if (source == Source::recorded) caption = tr("%1, as recorded by the run").arg(caption);
  if (!dealt.columns.isEmpty())
    return tr("%1. All ranks have the same class distribution.").arg(caption);
  return unlike ? caption + ". " + sentence(*unlike) : caption;
}

void ShardView::show_dealt(const experiment::Experiment& experiment, const DataAssignment& dealt,
                           Source source) {
  caption_->setText(caption_of(experiment, dealt, source));
  bars_->show_shards(dealt.shards);
  bars_->setVisible(!dealt.shards.empty());
  QStringList lines;
  for (qsizetype rank = 0; rank < dealt.columns.size(); ++rank)
    lines << tr("rank %1: %2").arg(rank).arg(dealt.columns[rank]);
  columns_->setText(lines.join("\n"));
  columns_->setVisible(!lines.isEmpty());
  setVisible(!dealt.empty());
}

}  // namespace trainyard::ui
