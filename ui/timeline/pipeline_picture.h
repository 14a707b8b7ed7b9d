// SPDX-License-Identifier: GPL-3.0-or-later
// Content of the pipeline view: the cells of a planned step above those of an executed step. Also
// the geometry of the cells. Pure.
#pragma once

#include <QFont>
#include <QPointF>
#include <QRectF>
#include <array>

#include "ui/timeline/pipeline_run.h"

namespace trainyard::ui {

enum class CellBlock { plan, run };  // blocks from top to bottom
inline constexpr std::array kCellBlocks{CellBlock::plan, CellBlock::run};

struct PipelinePicture {
  PipelinePlanPtr plan;  // simulated plan; null if there is none, or not yet
  // True if `plan` is of the current drawing, because the displayed run used another experiment.
  bool plan_is_of_drawing = false;
  std::string not_simulated;         // reason why the run's plan could not be simulated
  std::optional<PipelineShape> run;  // shape of the displayed run, if it has a pipeline
  std::optional<ExecutedStep> ran;   // executed step of the run; nothing until a step is complete
  bool reading = false;              // true if a step is complete, but its ops are not read yet
  bool over = false;                 // true if the run is over

  const PlannedStep* planned()
      const;  // planned step with the same program as the run's step; null if there is none
  const PipelineShape* shape(CellBlock block) const;  // null if the block is empty
  const StepCells* cells(CellBlock block) const;      // null if the block is empty
  // True if no op of the executed step is missing. The measured bubble is then exact.
  bool whole() const { return ran && ran->lacking == 0; }
  // True if the planned and the executed step belong to the same experiment, so that they can be
  // compared.
  bool alike() const { return run && !plan_is_of_drawing; }
};

struct CellAddress {
  CellBlock block = CellBlock::plan;
  int rank = 0;
  std::size_t number = 0;  // index of the cell on its rank
  bool operator==(const CellAddress&) const = default;
};

// Length of a visible range that shows a full step. Visible ranges are in fractions of a step and
// apply to both steps, even if one step takes longer than the other.
inline constexpr Nanoseconds kStepNanoseconds = 1'000'000'000;

// Geometry in pixels of the widget. A block shows one step: a title, a row for each rank, and a
// ruler. A block without a step has one line that says why.
struct PipelineScene {
  const PipelinePicture* picture = nullptr;
  TimeRange view{0, kStepNanoseconds};
  QSize size;
  int gutter = 0, line = 0;  // width of the ranks' names, height of a line of text
  int scroll = 0;            // pixels that the content is scrolled up
  QFont font;

  int rows(CellBlock block) const;  // 1 if the block is empty
  int row_height() const;           // fills the available height, within limits
  // Height of both blocks together. If it exceeds the height of the widget, the widget scrolls.
  int height() const;
  QRect title(CellBlock block) const;
  QRect body(CellBlock block) const;  // area of the block's rows, right of the names
  QRect ruler(CellBlock block) const;
  QRect row(CellBlock block, int rank) const;
  double x_of(CellBlock block, Nanoseconds time) const;
  Nanoseconds time_at(CellBlock block, double x) const;
  const PassCell* cell(const CellAddress& place) const;  // null if there is no such cell
  // Returns the rectangle of a cell, at least one pixel wide; empty if there is no such cell.
  QRectF rect_of(const CellAddress& place) const;
  std::optional<CellAddress> place_at(const QPointF& at) const;
};

// Returns a neighbor of a cell. `previous`, `next`, `first` and `last` are cells of the same rank
// and block. `up` and `down` are the cells nearest in time on the rank above or below; that rank
// may be in the other block.
enum class CellStep { previous, next, first, last, up, down };
std::optional<CellAddress> neighbor_cell(const PipelinePicture& picture, const CellAddress& place,
                                         CellStep way);
std::optional<CellAddress> first_cell(const PipelinePicture& picture);

}  // namespace trainyard::ui
