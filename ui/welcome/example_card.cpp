// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/welcome/example_card.h"

#include <QFileInfo>
#include <QHBoxLayout>
#include <QPainter>
#include <QPushButton>
#include <QVBoxLayout>

#include "ui/theme/icons.h"
#include "ui/theme/theme.h"
#include "ui/welcome/drawing_preview.h"

namespace trainyard::ui {
namespace {

// The same experiment on drawn digits, which need no file and are of the same shape.
experiment::Experiment on_digits(experiment::Experiment experiment) {
  experiment.data = data::DataSpec{};
  experiment.name += " (drawn digits)";
  return experiment;
}

}  // namespace

std::optional<Example> read_example(const QString& file) {
  const auto experiment = experiment::load(file.toStdString());
  if (!experiment) return {};
  Example example{file, *experiment, {}};
  const auto data = data::inspect(experiment->data, QFileInfo(file).absolutePath().toStdString());
  if (!data) example.missing = data.error();
  return example;
}

ExampleCard::ExampleCard(Example example, QWidget* parent)
    : QFrame(parent), example_(std::move(example)), run_(new QPushButton(this)), open_(new QPushButton(tr("Open"), this)) {
  build();
  setAccessibleName(QString::fromStdString(example_.experiment.name));
  setAccessibleDescription(QString::fromStdString(example_.experiment.notes));
  connect(run_, &QPushButton::clicked, this, &ExampleCard::run);
  connect(open_, &QPushButton::clicked, this, [this] { emit open_requested(example_.file); });
}

void ExampleCard::build() {
  auto* column = new QVBoxLayout(this);
  column->setContentsMargins(2 * kGrid, 2 * kGrid, 2 * kGrid, 2 * kGrid);
  column->setSpacing(kGrid);
  column->addWidget(new DrawingPreview(example_.experiment.topology, this));
  auto* title = new TintedLabel(Tint::text, this, 1.15, true);
  title->setText(QString::fromStdString(example_.experiment.name));
  title->setWordWrap(true);
  column->addWidget(title);
  const base::Problem* missing = example_.missing ? &*example_.missing : nullptr;
  if (!missing) column->addWidget(paragraph(Tint::dim, this, QString::fromStdString(example_.experiment.notes)));
  else
    column->addWidget(paragraph(Tint::warning, this,
                                tr("Its files are not there yet. %1").arg(QString::fromStdString(missing->advice.empty() ? missing->what : missing->advice))));
  column->addStretch(1);
  run_->setIcon(icon("run"));
  run_->setText(missing ? tr("Run with drawn digits") : tr("Open and run"));
  run_->setToolTip(missing ? tr("The same drawing and model, on digits that need no file") : tr("Opens the example and trains it at once"));
  open_->setToolTip(tr("Opens the example; nothing runs"));
  auto* row = new QHBoxLayout;
  row->addWidget(run_);
  row->addWidget(open_);
  row->addStretch(1);
  column->addLayout(row);
}

void ExampleCard::run() {
  if (example_.missing) emit run_requested(on_digits(example_.experiment), {});
  else emit run_requested(example_.experiment, example_.file);
}

void ExampleCard::paintEvent(QPaintEvent*) {
  const Colours& c = Theme::instance().colours();
  QPainter painter(this);
  painter.setRenderHint(QPainter::Antialiasing);
  painter.setPen(c.border);
  painter.setBrush(c.card);
  painter.drawRoundedRect(QRectF(rect()).adjusted(0.5, 0.5, -0.5, -0.5), kGrid, kGrid);
}

}  // namespace trainyard::ui
