// SPDX-License-Identifier: GPL-3.0-or-later
// Visible state of a pipeline: a step as planned above a step as executed, and the geometry of
// their cells. Pure.
#pragma once

#include <QFont>
#include <QPointF>
#include <QRectF>
#include <array>

#include "ui/timeline/pipeline_run.h"

namespace trainyard::ui {

enum class CellBlock { plan, run };  // from top to bottom
inline constexpr std::array kCellBlocks{CellBlock::plan, CellBlock::run};

struct PipelinePicture {
  PipelinePlanPtr plan;  // simulated; null: none, or not yet
  // the plan is that of the current drawing, which no displayed run trained
  bool plan_is_of_drawing = false;
  std::string not_simulated;         // reason why it could not be simulated
  std::optional<PipelineShape> run;  // shape of the displayed run, if it has a pipeline
  std::optional<ExecutedStep> ran;   // a step of the run; nothing before one is complete
  bool reading = false;              // a step is complete, but its ops are not read yet
  bool over = false;                 // the run is over

  const PlannedStep* planned()
      const;  // the planned step that corresponds to the run's step; null if there is none
  const PipelineShape* shape(CellBlock block) const;       // null if the block is empty
  const StepCells* cells(CellBlock block) const;           // null if the block is empty
  bool whole() const { return ran && ran->lacking == 0; }  // no op is missing, so figures are exact
  bool alike() const { return run && !plan_is_of_drawing; }  // both blocks are of one experiment
};

struct CellAddress {
  CellBlock block = CellBlock::plan;
  int rank = 0;
  std::size_t number = 0;  // index of the rank's cell
  bool operator==(const CellAddress&) const = default;
};

// The visible part of a step's time, in fractions of kStepNanoseconds. It is the same for both
// blocks, even if one takes longer.
inline constexpr Nanoseconds kStepNanoseconds = 1'000'000'000;

// Geometry in pixels of the widget. A block is a title, a row for each rank, and a ruler; if it is
// empty, one line with the reason.
struct PipelineScene {
  const PipelinePicture* picture = nullptr;
  TimeRange view{0, kStepNanoseconds};
  QSize size;
  int gutter = 0, line = 0;  // width of the ranks' names, height of a line of text
  int scroll = 0;            // pixels that the content is scrolled up
  QFont font;

  int rows(CellBlock block) const;  // 1 if the block is empty
  int row_height() const;           // fills the available height, within limits
  int height() const;               // height of the content, before scrolling
  QRect title(CellBlock block) const;
  QRect body(CellBlock block) const;  // the rows, right of the names
  QRect ruler(CellBlock block) const;
  QRect row(CellBlock block, int rank) const;
  double x_of(CellBlock block, Nanoseconds time) const;
  Nanoseconds time_at(CellBlock block, double x) const;
  const PassCell* cell(const CellAddress& place) const;  // null if there is none
  // at least one pixel wide; empty if there is no cell
  QRectF rect_of(const CellAddress& place) const;
  std::optional<CellAddress> place_at(const QPointF& at) const;
};

// Returns the neighboring cell on the same rank and block, or the cell nearest in time on the rank
// below or above, which may be in the other block.
enum class CellStep { previous, next, first, last, up, down };
std::optional<CellAddress> neighbor_cell(const PipelinePicture& picture, const CellAddress& place,
                                         CellStep way);
std::optional<CellAddress> first_cell(const PipelinePicture& picture);

}  // namespace trainyard::ui
