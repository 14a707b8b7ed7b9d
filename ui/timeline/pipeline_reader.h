// SPDX-License-Identifier: GPL-3.0-or-later
// Keeps the picture of a pipeline: of the run that is shown, whose plan is simulated aside, once,
// or of what is drawn, where no run trained that.
#pragma once

#include <QObject>
#include <QPointer>
#include <stop_token>

#include "ui/model/run.h"
#include "ui/timeline/pipeline_picture.h"

namespace trainyard::ui {

class PipelineReader : public QObject {
  Q_OBJECT
 public:
  explicit PipelineReader(QObject* parent);
  ~PipelineReader() override;

  void set_run(const Run* run);  // null: none; it must outlive this or be taken away
  void set_drawing(const KnownPipeline&
                       drawing);  // null: what is drawn is no pipeline, or no plan of it is known
  void set_frozen(bool frozen);   // the step that is shown stays
  void choose(std::optional<std::int32_t> step);  // nothing: the last full one
  void refresh(const StepTimes& steps);           // what the run recorded has grown

  bool any() const { return of_run_ || drawing_; }  // there is something to show
  const PipelinePicture& picture() const { return picture_; }
  std::optional<std::int32_t> shown_step() const {
    return picture_.ran ? std::optional(picture_.ran->step) : std::nullopt;
  }
  std::optional<std::int32_t> step_beside(const StepTimes& steps, int way)
      const;  // of the one that is shown: a whole one, before (-1) or after (1)

 signals:
  void changed();

 private:
  // Of the run: what it is, and its plan, or why that could not be simulated.
  struct OfRun {
    PipelineShape shape;
    plan::Schedule schedule;
    KnownPipeline plan;
    std::string problem;
  };
  static std::optional<OfRun> reckoned(const base::Json& recorded, const std::stop_token& stop);
  void reckon();
  std::optional<std::int32_t> wanted_step() const;
  bool look_at_run();
  void show_plan();

  const Run* run_ = nullptr;
  KnownPipeline drawing_;
  std::optional<OfRun> of_run_;
  bool asked_ = false, frozen_ = false;
  RecordedCells recorded_;
  std::optional<std::int32_t> chosen_;
  PipelinePicture picture_;
  std::stop_source stop_;
};

}  // namespace trainyard::ui
