// SPDX-License-Identifier: GPL-3.0-or-later
// Maintains the picture of a pipeline. It shows the displayed run, whose plan is simulated once in
// the background. If the displayed run did not train the current drawing, it shows the plan of the
// drawing.
#pragma once

#include <QObject>
#include <QPointer>
#include <stop_token>

#include "ui/model/runs/run.h"
#include "ui/timeline/pipeline_picture.h"

namespace trainyard::ui {

class PipelineReader : public QObject {
  Q_OBJECT
 public:
  explicit PipelineReader(QObject* parent);
  ~PipelineReader() override;

  // Sets the displayed run; null: none. The run must outlive this object, or another run must be
  // set before.
  void set_run(const Run* run);
  void set_drawing(
      const PipelinePlanPtr& drawing);  // null: the drawing is no pipeline, or its plan is unknown
  void set_frozen(bool frozen);         // while frozen, the displayed step stays
  // Chooses the step of the run to show. Without a value, the last step with the full number of
  // samples is shown.
  void choose(std::optional<std::int32_t> step);
  void refresh(const StepTimes& steps);  // reads what the run recorded since the last call

  bool any() const { return of_run_ || drawing_; }  // true if there is something to show
  const PipelinePicture& picture() const { return picture_; }
  std::optional<std::int32_t> shown_step() const {
    return picture_.ran ? std::optional(picture_.ran->step) : std::nullopt;
  }
  std::optional<std::int32_t> step_beside(const StepTimes& steps, int way)
      const;  // complete step before (-1) or after (1) the displayed one

 signals:
  void changed();

 private:
  // Pipeline of the displayed run: its shape and simulated plan. `problem`: reason why the plan
  // could not be simulated.
  struct RunPlan {
    PipelineShape shape;
    plan::Schedule schedule;
    PipelinePlanPtr plan;
    std::string problem;
  };
  static std::optional<RunPlan> computed(const base::Json& recorded, const std::stop_token& stop);
  void start_computation();
  std::optional<std::int32_t> wanted_step() const;
  bool update_run();
  void show_plan();

  const Run* run_ = nullptr;
  PipelinePlanPtr drawing_;
  std::optional<RunPlan> of_run_;
  bool asked_ = false, frozen_ = false;
  RecordedCells recorded_;
  std::optional<std::int32_t> chosen_;
  PipelinePicture picture_;
  std::stop_source stop_;
};

}  // namespace trainyard::ui
