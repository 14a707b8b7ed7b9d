// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/timeline/pipeline_reader.h"

#include <QApplication>
#include <QThreadPool>
#include <algorithm>
#include <utility>

#include "core/base/fields.h"
#include "core/strategy/strategy.h"

namespace trainyard::ui {

PipelineReader::PipelineReader(QObject* parent) : QObject(parent) {}
PipelineReader::~PipelineReader() { stop_.request_stop(); }

void PipelineReader::set_run(const Run* run) {
  stop_.request_stop();
  stop_ = {};
  run_ = run;
  asked_ = false;
  of_run_.reset();
  recorded_.clear();
  chosen_.reset();
  picture_ = {};
  show_plan();
}

void PipelineReader::set_drawing(const PipelinePlanPtr& drawing) {
  if (drawing_ == drawing) return;
  drawing_ = drawing;
  show_plan();
}

void PipelineReader::set_frozen(bool frozen) { frozen_ = frozen; }

void PipelineReader::choose(std::optional<std::int32_t> step) { chosen_ = step; }

// Updates the displayed plan. If the displayed run trained another experiment than that of the
// drawing, shows the plan of the drawing.
void PipelineReader::show_plan() {
  const bool other = drawing_ && !(of_run_ && of_run_->plan && *of_run_->plan == *drawing_);
  picture_.plan_is_of_drawing = other || !of_run_;
  picture_.plan = picture_.plan_is_of_drawing ? drawing_ : of_run_->plan;
  picture_.not_simulated =
      of_run_ && !picture_.plan_is_of_drawing ? of_run_->problem : std::string();
  picture_.run = of_run_ ? std::optional(of_run_->shape) : std::nullopt;
  update_run();
  emit changed();
}

std::optional<PipelineReader::RunPlan> PipelineReader::computed(const base::Json& recorded,
                                                                const std::stop_token& stop) {
  const auto resolved = experiment::resolved_from_json(recorded);
  const auto shape = resolved ? pipeline_shape(*resolved) : std::nullopt;
  if (!shape) return {};
  const auto plan = strategy::make_plan(*resolved);
  const auto planned = plan.and_then(
      [&](const plan::Plan& known) { return pipeline_plan(*resolved, *shape, known, stop); });
  const plan::Schedule schedule = plan ? plan->schedule : plan::Schedule();
  if (!planned) return RunPlan{*shape, schedule, nullptr, planned.error().what};
  return RunPlan{*shape, schedule, std::make_shared<const PipelinePlan>(*planned), {}};
}

// Simulates the run's plan in the background, once per run.
void PipelineReader::start_computation() {
  const auto recorded = base::value_at(run_->history().header(), "experiment");
  asked_ = recorded.has_value();
  if (!asked_) return;
  QThreadPool::globalInstance()->start(
      [reader = QPointer<PipelineReader>(this), recorded = *recorded, stop = stop_.get_token()] {
        const auto known = computed(recorded, stop);
        QMetaObject::invokeMethod(qApp, [reader, stop, known] {
          if (!reader || stop.stop_requested() || !known) return;
          reader->of_run_ = known;
          reader->show_plan();
        });
      });
}

// Returns the step of the run to show: the chosen step; while frozen, the displayed step; otherwise
// the last step with the full number of samples.
std::optional<std::int32_t> PipelineReader::wanted_step() const {
  if (chosen_) return chosen_;
  if (frozen_ && picture_.ran) return picture_.ran->step;
  const auto last = last_complete_step(run_->history());
  return last ? std::optional(last_full_step(*last, of_run_->schedule)) : std::nullopt;
}

// Updates what the picture shows of the run: its executed step. Returns true if that changed.
bool PipelineReader::update_run() {
  const bool known = run_ && of_run_, over = run_ && run_->complete();
  if (known && recorded_.empty()) recorded_ = recorded_cells(run_->spans(), of_run_->shape);
  const bool reading =
      known && !picture_.ran && last_complete_step(run_->history()) && !(over && recorded_.empty());
  return std::exchange(picture_.over, over) != over ||
         std::exchange(picture_.reading, reading) != reading;
}

void PipelineReader::refresh(const StepTimes& steps) {
  if (!run_) return;
  if (!asked_ && run_->history().ranks() > 1) start_computation();
  if (!of_run_) return;
  if (update_run()) emit changed();
  const auto wanted = wanted_step();
  const StepTime* step = wanted && !recorded_.empty() ? steps.find(*wanted) : nullptr;
  if (!step || (picture_.ran && picture_.ran->step == step->step && picture_.whole())) return;
  ExecutedStep ran = ran_step(run_->spans(), recorded_, *step);
  if (picture_.ran && picture_.ran->step == ran.step && picture_.ran->cells == ran.cells &&
      picture_.ran->lacking == ran.lacking)
    return;
  picture_.ran = std::move(ran);
  emit changed();
}

std::optional<std::int32_t> PipelineReader::step_beside(const StepTimes& steps, int way) const {
  const auto last = run_ ? last_complete_step(run_->history()) : std::nullopt;
  if (!last || !picture_.ran) return {};
  const auto& all = steps.steps();
  const auto own = std::ranges::lower_bound(all, picture_.ran->step, {}, &StepTime::step);
  if (way < 0) return own == all.begin() ? std::nullopt : std::optional((own - 1)->step);
  return own == all.end() || own + 1 == all.end() || (own + 1)->step > *last
             ? std::nullopt
             : std::optional((own + 1)->step);
}

}  // namespace trainyard::ui
