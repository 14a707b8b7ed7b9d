// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/stepper/stepper_panel.h"

#include <QAccessible>
#include <QAction>
#include <QApplication>
#include <QComboBox>
#include <QKeyEvent>
#include <QSplitter>
#include <QThreadPool>
#include <QToolButton>
#include <QVBoxLayout>

#include "core/base/fields.h"
#include "ui/model/topology/topology_edit.h"
#include "ui/stepper/step_text.h"
#include "ui/theme/side_column.h"
#include "ui/theme/theme.h"
#include "ui/theme/tinted_label.h"

namespace trainyard::ui {

StepperPanel::StepperPanel(Document& document, QWidget* parent)
    : QWidget(parent), document_(document) {
  auto* row = new QVBoxLayout(this);
  row->setContentsMargins(0, 0, 0, 0);
  auto* halves = new QSplitter(Qt::Horizontal, this);
  row->addWidget(halves);
  halves->addWidget(build_controls());
  halves->addWidget(build_views());
  halves->setChildrenCollapsible(false);
  halves->setStretchFactor(0, 0), halves->setStretchFactor(1, 1);
  halves->setSizes({1, 10'000});  // gives the controls their minimum width, and the views the rest
  setFocusProxy(table_);
  for (QWidget* widget : {static_cast<QWidget*>(table_), static_cast<QWidget*>(program_)})
    widget->installEventFilter(this);
  connect(&clock_, &QTimer::timeout, this, &StepperPanel::play_next);
  connect(bar_, &ExerciseBar::changed, this, [this] {
    stepper_.set_exercise(bar_->exercise(), bar_->recorded_values()), show_step();
    // After a choice from a list, the arrow keys step.
    if (qobject_cast<QComboBox*>(QApplication::focusWidget()) != nullptr) table_->setFocus();
  });
  connect(bar_, &ExerciseBar::seed_changed, &stepper_, &Stepper::set_seed);
  connect(&stepper_, &Stepper::exercise_changed, this, &StepperPanel::stop);
  connect(&stepper_, &Stepper::step_changed, this, [this] { on_canvas_ = seen_, show_step(); });
  connect(table_, &StepTable::rank_changed, this, [this] { show_program(table_->rank()); });
  stepper_.set_exercise(bar_->exercise());
  show_program(table_->rank());
}

QWidget* StepperPanel::build_controls() {
  auto* controls = new SideColumn(this);
  controls->column()->addWidget(build_transport());
  controls->add_indented()->addWidget(place_ = new TintedLabel(TextColor::dim, controls->inside()));
  controls->column()->addWidget(bar_ = new ExerciseBar(document_, controls->inside()));
  controls->column()->addStretch(1);
  controls->add_indented()->addWidget(footer_ = paragraph(TextColor::text, controls->inside()));
  controls->finish(1.25);
  return controls;
}

// Builds the views. The text about the step is above the table and the program, so that it is
// always visible.
QWidget* StepperPanel::build_views() {
  auto* views = new QWidget(this);
  auto* column = new QVBoxLayout(views);
  column->setContentsMargins(0, kGrid / 2, 0, 0);
  column->addWidget(sentence_ = new TintedLabel(TextColor::text, views, 1.25, true));
  sentence_->setWordWrap(true);
  sentence_->setTextFormat(Qt::PlainText);
  auto* halves = new QSplitter(Qt::Horizontal, views);
  column->addWidget(halves, 1);
  halves->addWidget(table_ = new StepTable(stepper_, halves));
  auto* side = new QWidget(halves);
  auto* beside = new QVBoxLayout(side);
  beside->setContentsMargins(0, 0, 0, 0);
  beside->addWidget(program_title_ = new TintedLabel(TextColor::text, side, 1, true));
  beside->addWidget(program_ = new ProgramView(stepper_, side), 1);
  halves->setChildrenCollapsible(false);
  // the table gets twice as much width as the program, so that four chunks fit
  halves->setStretchFactor(0, 2), halves->setStretchFactor(1, 1);
  return views;
}

QString StepperPanel::sentence() const { return sentence_->text(); }
QString StepperPanel::place() const { return place_->text(); }
QString StepperPanel::foot() const { return footer_->text(); }

void StepperPanel::set_run(Run* run) {
  if (run_) disconnect(run_, nullptr, this, nullptr), disconnect(run_, nullptr, bar_, nullptr);
  run_ = run;
  run_requested_ = false;
  bar_->set_run({}, {});
  if (!run) return;
  connect(run, &Run::updated, this, [this] { load_run(), bar_->history_grew(); });
  connect(run, &Run::single_step_requested, bar_, &ExerciseBar::await_next_step);
  connect(run, &QObject::destroyed, this, [this] { set_run(nullptr); });
  load_run();
}

// Loads the collectives of the run once, as soon as its recording contains the experiment. Runs in
// the background, because it creates a plan.
void StepperPanel::load_run() {
  if (run_requested_ || !run_) return;
  const auto recorded = base::value_at(run_->history().header(), "experiment");
  if (!recorded) return;
  run_requested_ = true;
  QThreadPool::globalInstance()->start([panel = QPointer<StepperPanel>(this),
                                        directory = run_->directory(), name = run_->name(),
                                        recorded = *recorded] {
    const auto reduced = run_collectives(recorded);
    QMetaObject::invokeMethod(qApp, [panel, directory, name, reduced] {
      if (panel && panel->run_ && panel->run_->directory() == directory && reduced)
        panel->bar_->set_run(name, *reduced, &panel->run_->history());
    });
  });
}

void StepperPanel::show_step() {
  const int step = stepper_.step(), count = stepper_.steps().count();
  for (QAction* action : {first_, round_back_, back_}) action->setEnabled(step > 0);
  for (QAction* action : {round_, step_, last_}) action->setEnabled(step < count);
  play_->setEnabled(count > 0);
  place_->setText(place_text(stepper_));
  sentence_->setText(ui::sentence(stepper_));
  sentence_->set_tint(stepper_.problem() || !verdict(stepper_).same ? TextColor::error
                                                                    : TextColor::text);
  footer_->setText(stepper_.problem() ? QString()
                                      : traffic_text(stepper_) + "\n" + bar_->source_text());
  QAccessibleEvent event(sentence_, QAccessible::NameChanged);
  QAccessible::updateAccessibility(&event);
  table_->reveal_step();
  follow_program();
  show_transit();
}

void StepperPanel::show_program(int rank) {
  const QString title = tr("Program of rank %1").arg(named_rank(stepper_, rank));
  program_title_->setText(rank == table_->rank() ? title : tr("%1 (receiver)").arg(title));
  program_->set_rank(rank);
}

// Chooses the rank whose program is shown: the selected rank if it takes part in the step,
// otherwise the receiver.
void StepperPanel::follow_program() {
  const collective::Move* move = stepper_.move();
  const int selected = table_->rank();
  show_program(!move || move->from == selected ? selected : move->to);
}

void StepperPanel::set_in_front(bool seen) {
  if (seen == seen_) return;
  seen_ = seen;
  if (!seen) return leave_canvas();
  on_canvas_ = true;
  show_transit();
}

void StepperPanel::leave_canvas() {
  stop();
  on_canvas_ = false;
  show_transit();
}

// Returns the drawing of the document if its ranks are those of the exercise; otherwise null.
const topology::Topology* StepperPanel::drawing() const {
  const topology::Topology& drawn = document_.experiment().topology;
  if (bar_->ranks() == ExerciseBar::Ranks::drawing) return &drawn;
  const bool same = bar_->ranks() == ExerciseBar::Ranks::run && run_ &&
                    without_positions(run_->drawing()) == without_positions(drawn);
  return same ? &drawn : nullptr;
}

void StepperPanel::show_transit() {
  const topology::Topology* drawn = on_canvas_ ? drawing() : nullptr;
  emit transit_changed(drawn ? transit_of_.step(stepper_, *drawn) : std::nullopt);
}

}  // namespace trainyard::ui
