// SPDX-License-Identifier: GPL-3.0-or-later
// What a person sees of a pipeline: a step as it should go and a step as it went, one above the
// other, and where their cells stand. Pure.
#pragma once

#include <QFont>
#include <QPointF>
#include <QRectF>
#include <array>

#include "ui/timeline/pipeline_run.h"

namespace trainyard::ui {

enum class CellBlock { plan, run };  // from above
inline constexpr std::array kCellBlocks{CellBlock::plan, CellBlock::run};

struct PipelinePicture {
  KnownPipeline plan;         // simulated; null: nothing is, or not yet
  bool of_drawing = false;    // the plan is that of what is drawn now, which no run here trained
  std::string not_simulated;  // why, where that is so
  std::optional<PipelineShape> run;  // of the run that is shown, where it had a pipeline
  std::optional<RanStep> ran;        // a step of it; nothing before one is whole
  bool reading = false;              // one is, but its ops are not read yet
  bool over = false;                 // and no more will come

  const PlannedStep* planned()
      const;  // that which the step of the run should be; null: there is none
  const PipelineShape* shape(CellBlock block) const;  // null where the block has nothing to show
  const StepCells* cells(CellBlock block) const;      // likewise
  bool whole() const { return ran && ran->lacking == 0; }  // so that figures can be told of it
  bool alike() const { return run && !of_drawing; }        // both blocks are of one experiment
};

struct CellPlace {
  CellBlock block = CellBlock::plan;
  int rank = 0;
  std::size_t number = 0;  // of the rank's cells
  bool operator==(const CellPlace&) const = default;
};

// Of a step's time so much is seen, in both blocks alike, however long each takes: parts of
// kWholeStep.
inline constexpr Nanoseconds kWholeStep = 1'000'000'000;

// Pixels of a widget. A block is a line of words, a row for each rank, and a ruler; where it has
// nothing to show, a line that says why.
struct PipelineScene {
  const PipelinePicture* picture = nullptr;
  TimeRange view{0, kWholeStep};
  QSize size;
  int gutter = 0, line = 0;  // width of the ranks' names, height of a line of text
  int scroll = 0;            // pixels that all is scrolled up
  QFont font;

  int rows(CellBlock block) const;  // 1 where there is nothing
  int row_height() const;           // as high as there is room for, within limits
  int height() const;               // of all, before it is scrolled
  QRect title(CellBlock block) const;
  QRect body(CellBlock block) const;  // the rows, right of the names
  QRect ruler(CellBlock block) const;
  QRect row(CellBlock block, int rank) const;
  double x_of(CellBlock block, Nanoseconds time) const;
  Nanoseconds time_at(CellBlock block, double x) const;
  const PassCell* cell(const CellPlace& place) const;  // null where there is none
  QRectF rect_of(const CellPlace& place) const;  // at least a pixel wide; empty where there is none
  std::optional<CellPlace> place_at(const QPointF& at) const;
};

// On the same rank and block the cell beside it, or on the rank below or above, on into the other
// block, that which is nearest in the step's time.
enum class CellStep { previous, next, first, last, up, down };
std::optional<CellPlace> cell_beside(const PipelinePicture& picture, const CellPlace& place,
                                     CellStep way);
std::optional<CellPlace> first_cell(const PipelinePicture& picture);

}  // namespace trainyard::ui
