// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/inspector/cost_line.h"

#include <QApplication>
#include <QPointer>
#include <QVBoxLayout>
#include <utility>

#include "core/base/clock.h"
#include "core/experiment/vertical.h"
#include "core/session/advice/memory_problems.h"
#include "core/strategy/strategy.h"
#include "ui/model/topology/topology_edit.h"
#include "ui/theme/theme.h"

namespace trainyard::ui {
namespace {

constexpr int kComputeDelayMilliseconds = 200;

}  // namespace

// One background computation of costs: its input, and the widget that receives its results.
struct CostLine::CostComputation {
  QPointer<CostLine> line;
  std::stop_token stop;
  experiment::Experiment experiment;
  std::string directory;
  Judge judge;

  void run() const;

 private:
  std::function<void(double)> progress_reporter() const;
  AlgorithmOffersPtr offers(const base::Result<experiment::Resolved>& resolved) const;
  PipelinePlanPtr pipeline(const experiment::Resolved& resolved, const plan::Plan& plan) const;
  // Calls `show` on the GUI thread, unless the computation was canceled or the CostLine was
  // destroyed.
  template <class Show>
  void post(Show show) const {
    QMetaObject::invokeMethod(qApp, [to = line, freed = stop, show] {
      if (to && !freed.stop_requested()) show(*to);
    });
  }
};

// Returns a function that shows the progress of a simulation, a few times a second, once it has
// taken a second.
std::function<void(double)> CostLine::CostComputation::progress_reporter() const {
  constexpr double kDelay = 1, kPeriod = 0.2;
  return [this, begun = base::now_nanoseconds(), shown = 0.0](double fraction) mutable {
    const double elapsed = base::seconds(base::now_nanoseconds() - begun);
    if (elapsed < kDelay || elapsed - shown < kPeriod) return;
    shown = elapsed;
    post([fraction, elapsed](CostLine& to) { to.show_progress(fraction, elapsed); });
  };
}

// Returns the costs of the algorithms. If the algorithm that the experiment chooses cannot be used
// on the drawing, the costs are computed as if it chose `auto`.
AlgorithmOffersPtr CostLine::CostComputation::offers(
    const base::Result<experiment::Resolved>& resolved) const {
  if (resolved || resolved.error().where != "strategy.algorithm")
    return compare_algorithms(resolved, stop);
  experiment::Experiment other = experiment;
  other.strategy.algorithm = collective::Algorithm::automatic;
  return compare_algorithms(experiment::resolve(other, directory), stop);
}

PipelinePlanPtr CostLine::CostComputation::pipeline(const experiment::Resolved& resolved,
                                                    const plan::Plan& plan) const {
  const auto shape = pipeline_shape(resolved);
  const auto planned =
      shape ? std::optional(pipeline_plan(resolved, *shape, plan, stop)) : std::nullopt;
  return planned && *planned ? std::make_shared<const PipelinePlan>(**planned) : nullptr;
}

void CostLine::CostComputation::run() const {
  const auto resolved = experiment::resolve(experiment, directory);
  post([known = resolved ? data_assignment(*resolved) : DataAssignment()](CostLine& to) {
    emit to.assignment_known(known);
  });
  if (stop.stop_requested()) return;
  post([known = offers(resolved)](CostLine& to) { emit to.algorithms_known(known); });
  const auto plan = resolved.and_then(
      [](const experiment::Resolved& known) { return strategy::make_plan(known); });
  if (stop.stop_requested()) return;
  post([shards = plan ? kept_shards(*resolved) : std::vector<KeptShard>()](CostLine& to) {
    emit to.shards_known(shards);
  });
  post([stages = plan ? stage_assignment(*resolved, *plan) : StageAssignment()](CostLine& to) {
    emit to.stages_known(stages);
  });
  const auto cost =
      plan.map([&](const plan::Plan& known) { return cost_of(*resolved, known, stop); });
  if (stop.stop_requested()) return;
  post([cost](CostLine& to) { to.show_cost(cost); });
  const base::Problems memory_problems =
      plan ? session::find_memory_problems(
                 *resolved, *plan,
                 [this](const experiment::Resolved& other) { return cost_of_step(other, stop); })
           : base::Problems();
  post([displayed = display_problems(experiment, memory_problems)](CostLine& to) {
    to.show_memory_problems(displayed);
  });
  if (stop.stop_requested()) return;
  post([known = plan ? pipeline(*resolved, *plan) : nullptr](CostLine& to) {
    emit to.pipeline_known(known);
  });
  const auto judged = plan ? judge(*resolved, *plan, {stop, progress_reporter()})
                           : base::Result<QString>(QString());
  const QString verdict =
      judged ? *judged
             : CostLine::tr("Not predicted: %1.").arg(QString::fromStdString(judged.error().what));
  post([verdict](CostLine& to) { to.show_verdict(verdict); });
}

CostLine::CostLine(Document& document, QWidget* parent, Judge judge)
    : QWidget(parent),
      document_(document),
      judge_(std::move(judge)),
      cost_(paragraph(TextColor::text, this)),
      verdict_(paragraph(TextColor::dim, this)) {
  auto* column = new QVBoxLayout(this);
  column->setContentsMargins(kGrid, kGrid, kGrid, kGrid);
  column->setSpacing(kGrid / 2);
  column->addWidget(cost_);
  column->addWidget(verdict_);
  cost_->setAccessibleName(tr("Cost of the plan"));
  verdict_->setAccessibleName(tr("Simulator verdict"));
  verdict_->hide();
  connect(verdict_, &QLabel::linkActivated, this, &CostLine::cancel);
  pool_.setMaxThreadCount(1);
  delay_timer_.setSingleShot(true);
  delay_timer_.setInterval(kComputeDelayMilliseconds);
  connect(&delay_timer_, &QTimer::timeout, this, &CostLine::start_computation);
  for (const auto signal : {&Document::changed, &Document::file_changed})
    connect(&document, signal, this, &CostLine::follow);
  connect(&document, &Document::problems_changed, this, &CostLine::follow_refused);
  delay_timer_.start();
}

CostLine::~CostLine() { give_up(); }

// Returns the experiment without positions on the canvas, so that moving an object does not start a
// new computation.
experiment::Experiment CostLine::drawn() const {
  experiment::Experiment now = document_.experiment();
  now.topology = without_positions(std::move(now.topology));
  return now;
}

void CostLine::follow() {
  if (computed_ &&
      (document_.refused() || directory_ != document_.directory() || *computed_ != drawn()))
    give_up();
  delay_timer_.start();
}

void CostLine::follow_refused() {
  if (document_.refused() != refused_) follow();
}

void CostLine::give_up() {
  stop_.request_stop();
  stop_ = std::stop_source();
  pool_.clear();
  computed_.reset();
  memory_problems_.clear();
}

void CostLine::start_computation() {
  if (computed_) return;  // only positions have changed since
  refused_ = document_.refused();
  if (refused_ && document_.has_devices())
    return refuse(*refused_);  // the document has another value than the form shows
  computed_ = drawn();
  directory_ = document_.directory();
  if (!document_.has_devices()) return invite();
  pool_.start(
      [computation = CostComputation{this, stop_.get_token(), *computed_, directory_.toStdString(),
                                     judge_}] { computation.run(); });
}

void CostLine::refuse(const base::Problem& problem) {
  show_cost(base::fail(problem));
  emit algorithms_known(compare_algorithms(base::fail(problem)));
  emit stages_known({});
  emit shards_known({});
  show_memory_problems({});
  emit pipeline_known(nullptr);
  show_verdict({});
}

void CostLine::invite() {
  cost_->set_tint(TextColor::dim);
  cost_->setText(tr("Place a device to see the cost of training here."));
  cost_->setToolTip({});
  verdict_->clear();
  verdict_->hide();
  emit assignment_known({});
  emit stages_known({});
  emit shards_known({});
  show_memory_problems({});
  emit pipeline_known(nullptr);
  emit algorithms_known(nullptr);
  emit settled();
}

void CostLine::show_memory_problems(const DisplayProblems& problems) {
  memory_problems_ = problems;
  emit memory_problems_known(problems);
}

// Returns the memory problems. Empty if the last results are not those of the current drawing and
// directory.
const DisplayProblems& CostLine::memory_problems() const {
  static const DisplayProblems none;
  return computed_ && *computed_ == drawn() && directory_ == document_.directory()
             ? memory_problems_
             : none;
}

// Returns the text that explains why there is no cost: the location and description of a problem.
QString CostLine::why_not(const base::Problem& problem) const {
  const base::Problem displayed =
      display_problems(document_.experiment(), {problem}).front().displayed;
  return QString::fromStdString(displayed.where.empty() ? displayed.what
                                                        : displayed.where + ": " + displayed.what);
}

void CostLine::show_cost(const base::Result<Cost>& cost) {
  cost_->set_tint(cost ? TextColor::text : TextColor::warning);
  cost_->setText(cost ? cost_line(*cost) : tr("Not ready to run: %1").arg(why_not(cost.error())));
  cost_->setToolTip(cost ? tr("Computed from the plan before the run. Memory: parameters, "
                              "gradients, optimizer state and activations.")
                         : QString());
  verdict_->setText(tr("Simulating ..."));  // the shown verdict is about another experiment
  verdict_->setVisible(cost.has_value());
}

void CostLine::show_progress(double fraction, double elapsed_seconds) {
  verdict_->setText(QStringLiteral("%1 <a href=\"cancel\">%2</a>")
                        .arg(simulation_progress_text(fraction, elapsed_seconds), tr("Cancel")));
}

void CostLine::cancel() {
  stop_.request_stop();
  show_verdict(tr("Not predicted: the simulation was canceled. It starts again after an edit."));
}

void CostLine::show_verdict(const QString& verdict) {
  verdict_->set_tint(memory_problems_.empty() ? TextColor::dim : TextColor::warning);
  verdict_->setText(verdict);
  verdict_->setVisible(!verdict.isEmpty());
  emit settled();
}

}  // namespace trainyard::ui
