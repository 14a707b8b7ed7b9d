// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/welcome/example_card.h"

#include <QDir>
#include <QFileInfo>
#include <QPainter>
#include <QPushButton>
#include <QRegularExpression>
#include <QVBoxLayout>
#include <map>

#include "ui/theme/flow_layout.h"
#include "ui/theme/icons.h"
#include "ui/theme/theme.h"
#include "ui/welcome/drawing_preview.h"

namespace trainyard::ui {
namespace {

// Returns the experiment with synthetic digits as its data. Synthetic digits need no file, and
// their samples have the shape of the original data.
experiment::Experiment on_digits(experiment::Experiment experiment) {
  experiment.data = data::DataSpec{};
  experiment.name += " (synthetic digits)";
  return experiment;
}

// Returns a text that lists the missing files, grouped by folder.
std::map<QString, QStringList> files_of(const data::DataSpec& data, const QString& directory) {
  std::map<QString, QStringList> files;
  for (const std::string* name : {&data.images, &data.labels, &data.file}) {
    const QFileInfo file(QDir(directory), QString::fromStdString(*name));
    const bool wanted = (name == &data.file) ==
                        (data.kind == data::DataKind::csv || data.kind == data::DataKind::text);
    if (wanted && !name->empty())
      files[QDir::toNativeSeparators(QDir::cleanPath(file.absolutePath()))] << file.fileName();
  }
  return files;
}

// Returns the first URL in a text; empty if there is none.
QString address_in(const QString& text) {
  static const QRegularExpression address(R"(https?://[^\s,]+)");
  return address.match(text).captured();
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
    : QFrame(parent),
      example_(std::move(example)),
      run_(new QPushButton(this)),
      open_(new QPushButton(tr("Open"), this)) {
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
  auto* title = new TintedLabel(TextColor::text, this, 1.15, true);
  title->setText(QString::fromStdString(example_.experiment.name));
  title->setWordWrap(true);
  column->addWidget(title);
  const bool missing = example_.missing.has_value();
  if (missing) add_missing(*column, *example_.missing);
  else
    column->addWidget(
        paragraph(TextColor::dim, this, QString::fromStdString(example_.experiment.notes)));
  column->addStretch(1);
  run_->setIcon(icon("run"));
  run_->setText(missing ? tr("Run with synthetic digits") : tr("Open and run"));
  disable_running({});
  open_->setToolTip(tr("Open the example without running it"));
  auto* row = new FlowLayout(nullptr, kGrid);  // wraps, because a long label takes a full row
  column->addLayout(row);
  row->addWidget(run_);
  row->addWidget(open_);
}

// Adds a line with the problem, and below it a line with the advice. The tool tip has the full text
// of both.
void ExampleCard::add_missing(QVBoxLayout& column, const base::Problem& missing) {
  const QString what = QString::fromStdString(missing.what),
                advice = QString::fromStdString(missing.advice);
  const bool absent = missing.code == base::ProblemCode::unavailable &&
                      !QFileInfo::exists(QString::fromStdString(missing.where));
  column.addWidget(
      paragraph(TextColor::warning, this,
                absent ? tr("The data files are missing.") : tr("The data files cannot be read.")));
  const auto say = [&](const QString& text) {
    TintedLabel* line = paragraph(TextColor::text, this, text);
    line->setToolTip("<p>" + advice.toHtmlEscaped() + "</p>");
    column.addWidget(line);
  };
  if (!absent) return say(advice.isEmpty() ? what : what + ". " + advice);
  for (const auto& [folder, names] :
       files_of(example_.experiment.data, QFileInfo(example_.file).absolutePath())) {
    say(tr("Copy %1 to").arg(names.join(tr(" and "))));
    say(folder);
  }
  if (const QString address = address_in(advice); !address.isEmpty())
    say(tr("Download them, for example, from %1 (compressed files are accepted).").arg(address));
}

QString ExampleCard::run_tip() const {
  return example_.missing
             ? tr("Open and run the same drawing and model on synthetic digits, without data files")
             : tr("Open the example and start training");
}

void ExampleCard::disable_running(const QString& why) {
  run_->setEnabled(why.isEmpty());
  run_->setToolTip(why.isEmpty() ? run_tip() : why);
}

void ExampleCard::run() {
  if (example_.missing) emit run_requested(on_digits(example_.experiment), {});
  else emit run_requested(example_.experiment, example_.file);
}

void ExampleCard::paintEvent(QPaintEvent*) {
  const Colors& c = Theme::instance().colors();
  QPainter painter(this);
  painter.setRenderHint(QPainter::Antialiasing);
  painter.setPen(c.border);
  painter.setBrush(c.card);
  painter.drawRoundedRect(QRectF(rect()).adjusted(0.5, 0.5, -0.5, -0.5), kGrid, kGrid);
}

}  // namespace trainyard::ui
