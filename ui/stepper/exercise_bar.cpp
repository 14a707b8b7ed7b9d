// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/stepper/exercise_bar.h"

#include <QComboBox>
#include <QHBoxLayout>
#include <QLabel>
#include <QSpinBox>
#include <algorithm>

#include "core/experiment/fields.h"
#include "ui/stepper/step_text.h"
#include "ui/theme/flow_layout.h"
#include "ui/theme/theme.h"

namespace trainyard::ui {
namespace {

using collective::Algorithm;
using collective::Collective;

constexpr int kMaxExampleRanks = 16, kMaxSeed = 9999;

// Returns, for each rank, the index of its host in the drawing.
std::vector<int> drawn_hosts(const topology::Topology& topology) {
  std::vector<int> hosts;
  for (std::size_t h = 0; h < topology.hosts.size(); ++h)
    for (const topology::Device& device : topology.hosts[h].devices)
      if (topology::works(device)) hosts.push_back(static_cast<int>(h));
  return hosts;
}

// Returns the name of a bucket. It is used in the list of buckets and in sentences.
QString bucket_name(const RunCollectives& run, const RunBucket& one) {
  if (run.has_single_kind()) return QString::number(one.number);
  QString name = QString::fromStdString(one.token + " " + one.buffer);
  if (one.before_steps) name = ExerciseBar::tr("%1, before the first step").arg(name);
  if (one.ranks.size() == run.hosts.size()) return name;
  QStringList ranks;
  for (const int rank : one.ranks) ranks << QString::number(rank);
  return ExerciseBar::tr("%1, ranks %2").arg(name, ranks.join(", "));
}

QSpinBox* spin(int least, int most, int value) {
  auto* box = new QSpinBox;
  box->setRange(least, most);
  box->setValue(value);
  return box;
}

}  // namespace

ExerciseBar::ExerciseBar(Document& document, QWidget* parent)
    : QWidget(parent), document_(document) {
  new FlowLayout(this, kGrid);
  layout()->setContentsMargins(kGrid, kGrid / 2, kGrid, 0);
  build();
  connect(&document, &Document::changed, this, &ExerciseBar::document_changed);
  refill_algorithms();
  document_changed();
}

// Adds a label and its field as one widget, so that both wrap to the next row together.
template <class Widget>
Widget* ExerciseBar::add(Widget* widget, const QString& text, const QString& name) {
  auto* pair = new QWidget(this);
  auto* row = new QHBoxLayout(pair);
  row->setContentsMargins(0, 0, 0, 0);
  auto* label = new QLabel(text, pair);
  label->setBuddy(widget);
  row->addWidget(label);
  row->addWidget(widget);
  widget->setAccessibleName(text);
  widget->setObjectName(name);
  layout()->addWidget(pair);
  return widget;
}

void ExerciseBar::build() {
  collective_ = add(new QComboBox, tr("Collective"), "collective");
  for (const auto& [collective, name] : base::Names<Collective>::table)
    collective_->addItem(collective_text(collective), static_cast<int>(collective));
  algorithm_ = add(new QComboBox, tr("Algorithm"), "algorithm");
  root_ = add(spin(0, 0, 0), tr("Root"), "root");
  ranks_ = add(new QComboBox, tr("Ranks"), "ranks");
  ranks_->addItem(tr("from the drawing"), static_cast<int>(Ranks::drawing));
  ranks_->addItem(tr("from an example"), static_cast<int>(Ranks::example));
  members_ = add(spin(2, kMaxExampleRanks, 4), tr("Count"), "members");
  hosts_ = add(spin(1, kMaxExampleRanks, 1), tr("Hosts"), "hosts");
  bucket_ = add(new QComboBox, tr("Bucket"), "bucket");
  auto* step = add(new QComboBox, tr("Values"), "values_step");
  values_ = new ValuesPicker(step, add(new QComboBox, tr("Element"), "values_element"), this);
  seed_ = add(spin(1, kMaxSeed, 1), tr("Seed"), "seed");
  seed_->setToolTip(
      tr("Small integers generated from the seed. At the start you can also type values into the "
         "table."));
  for (QComboBox* combo : {collective_, algorithm_, ranks_, bucket_, step})
    combo->setSizeAdjustPolicy(QComboBox::AdjustToContents);
  // Sets a minimum width for the choice of ranks that does not depend on its entries, because names
  // of runs are long.
  ranks_->setSizeAdjustPolicy(QComboBox::AdjustToMinimumContentsLengthWithIcon);
  ranks_->setMinimumContentsLength(static_cast<int>(tr("from the drawing").size()));
  for (QComboBox* combo : {collective_, algorithm_})
    connect(combo, &QComboBox::activated, this, &ExerciseBar::settle);
  connect(bucket_, &QComboBox::activated, this, &ExerciseBar::bucket_chosen);
  connect(values_, &ValuesPicker::changed, this, &ExerciseBar::settle);
  connect(ranks_, &QComboBox::activated, this, &ExerciseBar::ranks_chosen);
  for (QSpinBox* box : {root_, members_, hosts_})
    connect(box, &QSpinBox::valueChanged, this, &ExerciseBar::settle);
  connect(seed_, &QSpinBox::valueChanged, this, &ExerciseBar::seed_changed);
}

void ExerciseBar::set_run(const QString& name, const std::optional<RunCollectives>& run,
                          const telemetry::History* history) {
  const bool was_chosen = ranks() == Ranks::run;
  run_name_ = name;
  run_ = run && !run->buckets.empty() ? run : std::nullopt;
  history_ = run_ ? history : nullptr;
  seen_values_ = history_ ? history_->chunk_values().size() : 0;
  const int at = ranks_->findData(static_cast<int>(Ranks::run));
  if (at >= 0) ranks_->removeItem(at);
  bucket_->clear();
  if (run_) {
    ranks_->addItem(tr("from run %1").arg(name), static_cast<int>(Ranks::run));
    for (const RunBucket& one : run_->buckets)
      bucket_->addItem(tr("%1 (%2)").arg(bucket_name(*run_, one),
                                         bytes_text(one.elements * base::size_of(one.dtype))));
    if (was_chosen) ranks_->setCurrentIndex(ranks_->count() - 1);
  }
  if (was_chosen) ranks_chosen();
}

// Updates the offered values if a live run has recorded new ones.
void ExerciseBar::history_grew() {
  if (!history_ || history_->chunk_values().size() == seen_values_) return;
  seen_values_ = history_->chunk_values().size();
  if (ranks() == Ranks::run) settle();
}

void ExerciseBar::await_next_step() { values_->await_next(); }

ExerciseBar::Ranks ExerciseBar::ranks() const {
  return static_cast<Ranks>(ranks_->currentData().toInt());
}

void ExerciseBar::ranks_chosen() {
  if (ranks() == Ranks::run && run_) return bucket_chosen();
  settle();
}

// Selects the collective and the algorithm that the run used for the bucket that the user chose.
void ExerciseBar::bucket_chosen() {
  if (const RunBucket* one = bucket()) {
    collective_->setCurrentIndex(collective_->findData(static_cast<int>(one->collective)));
    const QSignalBlocker quiet(root_);
    root_->setMaximum(static_cast<int>(one->ranks.size()) - 1);
    root_->setValue(one->root);
    choose_algorithm(run_->exercise(*one).algorithm);
  }
  settle();
}

void ExerciseBar::choose_algorithm(Algorithm algorithm) {
  refill_algorithms();
  if (const int at = algorithm_->findData(static_cast<int>(algorithm)); at >= 0)
    algorithm_->setCurrentIndex(at);
}

// Selects the algorithm of the document if that has changed. Otherwise, the algorithm that the user
// chose in this bar stays selected.
void ExerciseBar::document_changed() {
  const Algorithm now = document_.experiment().strategy.algorithm;
  if (now != documents_ && ranks() == Ranks::drawing) choose_algorithm(now);
  documents_ = now;
  settle();
}

void ExerciseBar::settle() {
  refill_algorithms();
  root_->setMaximum(std::max(0, static_cast<int>(hosts().size()) - 1));
  hosts_->setMaximum(members_->value());
  values_->look_at(history_, matches_run() ? bucket() : nullptr, exercise());
  update_visible_fields();
  emit changed();
}

bool ExerciseBar::matches_run() const {
  const RunBucket* one = bucket();
  return one != nullptr && run_->engine.empty() && exercise() == run_->exercise(*one);
}

void ExerciseBar::refill_algorithms() {
  const auto before = algorithm();
  std::vector<Algorithm> offered;
  if (const auto stand = hosts(); !stand.empty())
    offered = collective::choices(collective(), collective::formation(stand));
  algorithm_->clear();
  for (const Algorithm one : offered) {
    algorithm_->addItem(algorithm_text(collective(), one), static_cast<int>(one));
    const std::string_view description = collective::description(one);
    if (collective() == Collective::all_reduce)
      algorithm_->setItemData(
          algorithm_->count() - 1,
          QString::fromUtf8(description.data(), static_cast<qsizetype>(description.size())),
          Qt::ToolTipRole);
  }
  if (before)
    algorithm_->setCurrentIndex(std::max(0, algorithm_->findData(static_cast<int>(*before))));
}

void ExerciseBar::update_visible_fields() {
  const auto show = [](QWidget* field, bool shown) { field->parentWidget()->setVisible(shown); };
  show(root_, collective::has_root(collective()) && exercise().ranks.empty());
  show(members_, ranks() == Ranks::example);
  show(hosts_, ranks() == Ranks::example);
  show(bucket_, ranks() == Ranks::run);
  show(seed_, !recorded_values());
}

std::vector<int> ExerciseBar::hosts() const {
  if (const RunBucket* one = bucket()) return run_->exercise(*one).hosts;
  if (ranks() == Ranks::drawing) return drawn_hosts(document_.experiment().topology);
  std::vector<int> stand;
  stand.reserve(static_cast<std::size_t>(members_->value()));
  for (int position = 0; position < members_->value(); ++position)
    stand.push_back(position * std::min(hosts_->value(), members_->value()) / members_->value());
  return stand;
}

Collective ExerciseBar::collective() const {
  return static_cast<Collective>(collective_->currentData().toInt());
}

std::optional<Algorithm> ExerciseBar::algorithm() const {
  if (algorithm_->currentIndex() < 0) return {};
  return static_cast<Algorithm>(algorithm_->currentData().toInt());
}

const RunBucket* ExerciseBar::bucket() const {
  if (ranks() != Ranks::run || !run_) return nullptr;
  return &run_->buckets[static_cast<std::size_t>(std::max(0, bucket_->currentIndex()))];
}

collective::Exercise ExerciseBar::exercise() const {
  collective::Exercise exercise;
  const RunBucket* one = bucket();
  if (one) exercise = run_->exercise(*one);
  exercise.collective = collective();
  exercise.algorithm = algorithm().value_or(Algorithm::ring);
  exercise.hosts = hosts();
  exercise.root = collective::has_root(exercise.collective) ? root_->value() : 0;
  if (!one && !exercise.hosts.empty())
    exercise.elements = collective::chunks(exercise.collective, exercise.algorithm,
                                           collective::formation(exercise.hosts));
  return exercise;
}

QString ExerciseBar::drawn_engine() const {
  const auto& strategy = document_.experiment().strategy;
  if (ranks() != Ranks::drawing || strategy.engine == experiment::Engine::own ||
      strategy.kind == experiment::StrategyKind::one_device)
    return {};
  return " " + tr("In a run, %1 executes the collectives and reports no chunks.")
                   .arg(QString::fromUtf8(base::name_of(strategy.engine)));
}

QString ExerciseBar::source_text() const {
  const RunBucket* one = bucket();
  if (!one) return tr("Example values, one per chunk of 4 B.") + drawn_engine();
  if (!recorded_values()) return no_values_reason();
  return tr("Recorded values of bucket %1 of run %2: %3. Sums are rounded in %4, as on the ranks.")
      .arg(bucket_name(*run_, *one), run_name_, values_->sentence(),
           QString::fromUtf8(base::name_of(one->dtype)));
}

QString ExerciseBar::no_values_reason() const {
  const RunBucket& one = *bucket();
  const QString bytes = tr("Example values; byte counts of bucket %1 of run %2")
                            .arg(bucket_name(*run_, one), run_name_);
  if (!run_->engine.empty())
    return tr("%1. The engine %2 executed the collective and reports no chunks, so the run may "
              "have used other steps.")
        .arg(bytes, QString::fromStdString(run_->engine));
  if (!matches_run())
    return tr("%1. The run used %2, not the algorithm shown.")
        .arg(bytes, algorithm_text(one.collective, run_->exercise(one).algorithm));
  if (one.dtype == base::DType::byte)
    return tr("%1. The payload is compressed to bytes and has no values.").arg(bytes);
  return values_->any() ? bytes + "." : tr("%1. The run recorded no values.").arg(bytes);
}

}  // namespace trainyard::ui
