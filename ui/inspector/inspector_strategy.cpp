// SPDX-License-Identifier: GPL-3.0-or-later
// Strategy section of the inspector: the fields, and the comparison of algorithms below them.
#include <QVBoxLayout>

#include "core/base/json.h"
#include "core/experiment/multiplies.h"
#include "core/experiment/placement.h"
#include "core/experiment/servers.h"
#include "ui/inspector/inspector.h"

namespace trainyard::ui {

// Builds the fields of the strategy, with the algorithms and the effects of failed ranks below.
QWidget* Inspector::build_strategy() {
  auto* both = new QWidget(this);
  auto* column = new QVBoxLayout(both);
  column->setContentsMargins(0, 0, 0, 0);
  column->setSpacing(0);
  column->addWidget(add_form("strategy", {}));
  column->addWidget(algorithms_ = new AlgorithmPicker(both));
  column->addWidget(failures_ = new FailureView(both));
  connect(cost_, &CostLine::algorithms_known, algorithms_, &AlgorithmPicker::show_offers);
  connect(cost_, &CostLine::stages_known, this, &Inspector::show_stages);
  connect(algorithms_, &AlgorithmPicker::reason_changed, this, &Inspector::note_algorithm);
  connect(algorithms_, &AlgorithmPicker::picture_requested, this, &Inspector::picture_requested);
  connect(algorithms_, &AlgorithmPicker::picked, this, [this](collective::Algorithm algorithm) {
    edit("strategy", "algorithm", std::string(base::name_of(algorithm)));
  });
  return both;
}

// Shows the assignment of layers as a note and on the drawing. On the drawing it replaces no
// logical topology of an algorithm, because a split model has no all-reduce.
void Inspector::show_stages(const StageAssignment& stages) {
  const bool placed = !stages.picture.devices.empty();
  forms_.at("strategy")->set_note("stages.partition", placed ? stages.text : QString());
  split_text_ = placed ? QString() : stages.text;
  note_devices();
  if (placed || splits_) emit picture_requested(stages.picture);
  splits_ = placed;
}

// Shows a note with the algorithm that `auto` chose, and the reason.
void Inspector::note_algorithm() {
  const QString reason = algorithms_->reason();
  forms_.at("strategy")
      ->set_note("algorithm", reason.isEmpty() ? QString() : tr("Chosen: %1").arg(reason));
}

// Adds notes below fields. They explain how layers are split, on which devices the run really
// executes, which arithmetic the devices use, and what happens if the λ of softsync does not divide
// the number of workers.
void Inspector::note_devices() {
  using experiment::Multiplies;
  const experiment::Experiment& drawn = document_.experiment();
  const auto emulated =
      drawn.run.emulate ? experiment::emulation_caveat(drawn.topology) : std::nullopt;
  QStringList of_kind;
  if (emulated) of_kind << tr("EMULATED: %1").arg(QString::fromStdString(*emulated));
  if (!split_text_.isEmpty()) of_kind << split_text_;
  forms_.at("strategy")->set_note("kind", of_kind.join('\n'));
  const auto softsync = experiment::softsync_line(drawn);
  forms_.at("strategy")
      ->set_note("servers.softsync", softsync ? QString::fromStdString(*softsync) : QString());
  const bool rounds = drawn.training.multiplies == Multiplies::automatic &&
                      experiment::factor_format_of(drawn) == Multiplies::bfloat16;
  const QString tf32 = QString::fromStdString(experiment::tf32_note(drawn).value_or(""));
  forms_.at("training")
      ->set_note("multiplies",
                 rounds ? tr("Chosen: bfloat16, the multiplication format of a TPU") : tf32);
}

}  // namespace trainyard::ui
