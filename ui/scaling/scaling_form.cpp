// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/scaling/scaling_form.h"

#include <QComboBox>
#include <QEvent>
#include <QFormLayout>
#include <QLineEdit>
#include <QListWidget>
#include <QScrollBar>
#include <QSignalBlocker>
#include <QSpinBox>

#include "core/experiment/placement.h"
#include "ui/theme/theme.h"

namespace trainyard::ui {
namespace {

constexpr int kAlgorithmsSeen = 4;  // number of visible rows of the list
constexpr int kMaxSteps = 1'000'000, kUsualSteps = 50;

QString text_of(std::string_view text) {
  return QString::fromUtf8(text.data(), static_cast<qsizetype>(text.size()));
}

}  // namespace

ScalingForm::ScalingForm(Document& document, QWidget* parent)
    : QWidget(parent), document_(document), rows_(new QFormLayout(this)) {
  build();
  connect(&document_, &Document::changed, this, &ScalingForm::follow_document);
  connect(&document_, &Document::file_changed, this, &ScalingForm::follow_document);
  connect(ranks_, &QLineEdit::textEdited, this, [this](const QString& text) {
    ranks_typed_ = !text.trimmed().isEmpty(), emit changed();
  });
  connect(algorithms_, &QListWidget::itemChanged, this,
          [this] { algorithms_ticked_ = true, emit changed(); });
  connect(scaling_, &QComboBox::currentIndexChanged, this, &ScalingForm::changed);
  connect(steps_, &QSpinBox::valueChanged, this, &ScalingForm::changed);
  follow_document();
}

void ScalingForm::build() {
  rows_->setContentsMargins(kGrid, 0, kGrid, 0);
  rows_->setFieldGrowthPolicy(QFormLayout::ExpandingFieldsGrow);
  rows_->setRowWrapPolicy(QFormLayout::WrapLongRows);
  const auto add = [this](const QString& label, QWidget* field, const QString& help) {
    rows_->addRow(label, field);
    field->setAccessibleName(QString(label).remove('&'));
    field->setAccessibleDescription(help);
    field->setToolTip(help);
  };
  add(tr("Ranks"), ranks_ = new QLineEdit(this),
      tr("Comma-separated rank counts, for example 1, 2, 4; each run uses the first ranks of the "
         "drawing. Empty: 1, 2, 4, ... and all ranks"));
  add(tr("Algorithms"), algorithms_ = new QListWidget(this),
      tr("All-reduce algorithms; each runs on every rank count (Space checks one)"));
  add(tr("Scaling"), scaling_ = new QComboBox(this),
      tr("Weak: constant batch per rank. Strong: constant global batch, sharded over the ranks"));
  add(tr("Steps"), steps_ = new QSpinBox(this),
      tr("Steps per run; the first fifth (at most 10) is warm-up and is not measured"));
  for (const auto& [algorithm, name] : base::Names<collective::Algorithm>::table) {
    auto* item = new QListWidgetItem(text_of(name), algorithms_);
    item->setData(Qt::UserRole, static_cast<int>(algorithm));
    item->setFlags(Qt::ItemIsEnabled | Qt::ItemIsSelectable | Qt::ItemIsUserCheckable);
    item->setCheckState(Qt::Unchecked);
    item->setToolTip(text_of(collective::description(algorithm)));
  }
  algorithms_->setTabKeyNavigation(false);
  scaling_->addItem(tr("weak"), static_cast<int>(experiment::Scaling::weak));
  scaling_->addItem(tr("strong"), static_cast<int>(experiment::Scaling::strong));
  steps_->setRange(2, kMaxSteps);
  steps_->setValue(kUsualSteps);
  steps_->setGroupSeparatorShown(true);
  fit();
}

void ScalingForm::follow_document() {
  const experiment::Experiment& whole = document_.experiment();
  if (!ranks_typed_) {
    QStringList usual;
    for (const std::int64_t count :
         session::default_ranks(experiment::count_workers(whole.topology)))
      usual << QString::number(count);
    ranks_->setText(usual.join(", "));
  }
  if (!algorithms_ticked_) {
    const QSignalBlocker quiet(algorithms_);
    for (const auto& [algorithm, name] : base::Names<collective::Algorithm>::table)
      tick(algorithm, algorithm == whole.strategy.algorithm);
  }
  emit changed();
}

void ScalingForm::tick(collective::Algorithm algorithm, bool on) {
  for (int row = 0; row < algorithms_->count(); ++row) {
    QListWidgetItem* item = algorithms_->item(row);
    if (item->data(Qt::UserRole).toInt() != static_cast<int>(algorithm)) continue;
    item->setCheckState(on ? Qt::Checked : Qt::Unchecked);
    if (on) algorithms_->scrollToItem(item);
  }
}

std::vector<collective::Algorithm> ScalingForm::ticked() const {
  std::vector<collective::Algorithm> chosen;
  for (int row = 0; row < algorithms_->count(); ++row)
    if (algorithms_->item(row)->checkState() == Qt::Checked)
      chosen.push_back(
          static_cast<collective::Algorithm>(algorithms_->item(row)->data(Qt::UserRole).toInt()));
  return chosen;
}

base::Result<session::SweepRequest> ScalingForm::request() const {
  session::SweepRequest request;
  const QString text = ranks_->text().trimmed();
  if (!text.isEmpty()) {
    auto ranks = session::read_ranks(text.toStdString());
    if (!ranks) return base::fail(ranks.error());
    request.ranks = std::move(*ranks);
  }
  request.algorithms = ticked();
  if (request.algorithms.empty())
    return base::fail({"no_algorithm", base::ProblemCode::bad_input, "algorithms",
                       "no algorithm is selected", "at least one", ""});
  request.scaling = static_cast<experiment::Scaling>(scaling_->currentData().toInt());
  request.steps = steps_->value();
  if (const auto problem = session::sweep_problem(document_.experiment(), request))
    return base::fail(*problem);
  return request;
}

// Returns the number of runs. With a single rank there is only one run for all algorithms, because
// a single rank reduces nothing.
std::int64_t ScalingForm::runs() const {
  const auto asked = request();
  if (!asked) return 0;
  const auto ranks =
      asked->ranks.empty()
          ? session::default_ranks(experiment::count_workers(document_.experiment().topology))
          : asked->ranks;
  const std::int64_t alone = ranks.front() == 1 ? 1 : 0;
  return alone + (std::ssize(ranks) - alone) * std::ssize(asked->algorithms);
}

void ScalingForm::fit() {
  algorithms_->setMinimumWidth(algorithms_->sizeHintForColumn(0) +
                               algorithms_->verticalScrollBar()->sizeHint().width() +
                               2 * algorithms_->frameWidth());
  algorithms_->setFixedHeight(algorithms_->sizeHintForRow(0) * kAlgorithmsSeen +
                              2 * algorithms_->frameWidth());
}

void ScalingForm::changeEvent(QEvent* event) {
  QWidget::changeEvent(event);
  if (event->type() == QEvent::FontChange)
    QMetaObject::invokeMethod(this, &ScalingForm::fit, Qt::QueuedConnection);
}

}  // namespace trainyard::ui
