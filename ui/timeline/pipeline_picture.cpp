// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/timeline/pipeline_picture.h"

#include <algorithm>
#include <cmath>

namespace trainyard::ui {
namespace {

constexpr double kLowest = 1.15, kHighest = 2.4;  // heights of rows, in lines of text
// Margin to the right of a step, and distance between the planned and the executed step, in pixels.
constexpr int kEdge = 8;

// Returns the time of the middle of a cell, as a fraction of the duration of its step.
double middle_of(const StepCells& cells, const PassCell& cell) {
  const TimeRange range = cells.range;
  return static_cast<double>(cell.range.begin + cell.range.end - 2 * range.begin) /
         (2 * static_cast<double>(std::max<Nanoseconds>(range.width(), 1)));
}

struct RowPlace {
  CellBlock block;
  int rank;
  bool operator==(const RowPlace&) const = default;
};

// Returns the ranks whose rows contain cells, in both blocks (planned and executed step), from top
// to bottom.
std::vector<RowPlace> rows_of(const PipelinePicture& picture) {
  std::vector<RowPlace> rows;
  for (const CellBlock block : kCellBlocks)
    if (const StepCells* cells = picture.cells(block))
      for (std::size_t rank = 0; rank < cells->ranks.size(); ++rank)
        if (!cells->ranks[rank].empty()) rows.push_back({block, static_cast<int>(rank)});
  return rows;
}

const std::vector<PassCell>& cells_of(const PipelinePicture& picture, const RowPlace& row) {
  return picture.cells(row.block)->ranks[static_cast<std::size_t>(row.rank)];
}

CellAddress nearest(const PipelinePicture& picture, const RowPlace& row, double middle) {
  const StepCells& step = *picture.cells(row.block);
  const auto& cells = cells_of(picture, row);
  const auto distance = [&](const PassCell& cell) {
    return std::abs(middle_of(step, cell) - middle);
  };
  return {row.block, row.rank,
          static_cast<std::size_t>(std::ranges::min_element(cells, {}, distance) - cells.begin())};
}

}  // namespace

const PlannedStep* PipelinePicture::planned() const {
  if (!plan || plan->steps.empty()) return nullptr;
  if (ran && !ran->program.empty() && alike()) return plan->find(ran->program);
  const PlannedStep* full = plan->find("train");
  return full ? full : &plan->steps.front();
}

const PipelineShape* PipelinePicture::shape(CellBlock block) const {
  if (!cells(block)) return nullptr;
  return block == CellBlock::plan ? &plan->shape : &*run;
}

const StepCells* PipelinePicture::cells(CellBlock block) const {
  if (block == CellBlock::plan) return planned() ? &planned()->cells : nullptr;
  return run && ran && ran->cells.range.width() > 0 ? &ran->cells : nullptr;
}

int PipelineScene::rows(CellBlock block) const {
  const StepCells* cells = picture->cells(block);
  return cells ? static_cast<int>(cells->ranks.size()) : 1;
}

int PipelineScene::row_height() const {
  const int all = rows(CellBlock::plan) + rows(CellBlock::run), others = 4 * line + kEdge;
  return std::clamp((size.height() - others) / all, static_cast<int>(kLowest * line),
                    static_cast<int>(kHighest * line));
}

int PipelineScene::height() const {
  return 4 * line + kEdge + (rows(CellBlock::plan) + rows(CellBlock::run)) * row_height();
}

QRect PipelineScene::title(CellBlock block) const {
  const int above =
      block == CellBlock::plan ? 0 : 2 * line + kEdge + rows(CellBlock::plan) * row_height();
  return {kEdge, above - scroll, std::max(size.width() - 2 * kEdge, 1), line};
}

QRect PipelineScene::body(CellBlock block) const {
  return {gutter, title(block).bottom() + 1, std::max(size.width() - gutter - kEdge, 1),
          rows(block) * row_height()};
}

QRect PipelineScene::ruler(CellBlock block) const {
  const QRect above = body(block);
  return {above.left(), above.bottom() + 1, above.width() + kEdge, line};
}

QRect PipelineScene::row(CellBlock block, int rank) const {
  const QRect all = body(block);
  return {all.left(), all.top() + rank * row_height(), all.width(), row_height()};
}

double PipelineScene::x_of(CellBlock block, Nanoseconds time) const {
  const TimeRange range = picture->cells(block)->range;
  const double part = static_cast<double>(time - range.begin) / static_cast<double>(range.width()) *
                      static_cast<double>(kStepNanoseconds);
  const QRect all = body(block);
  return all.left() +
         (part - static_cast<double>(view.begin)) / static_cast<double>(view.width()) * all.width();
}

Nanoseconds PipelineScene::time_at(CellBlock block, double x) const {
  const TimeRange range = picture->cells(block)->range;
  const QRect all = body(block);
  const double part = static_cast<double>(view.begin) +
                      (x - all.left()) / all.width() * static_cast<double>(view.width());
  return range.begin +
         static_cast<Nanoseconds>(std::llround(part / static_cast<double>(kStepNanoseconds) *
                                               static_cast<double>(range.width())));
}

const PassCell* PipelineScene::cell(const CellAddress& place) const {
  const StepCells* cells = picture->cells(place.block);
  if (!cells || place.rank < 0 || place.rank >= static_cast<int>(cells->ranks.size()))
    return nullptr;
  const auto& own = cells->ranks[static_cast<std::size_t>(place.rank)];
  return place.number < own.size() ? &own[place.number] : nullptr;
}

QRectF PipelineScene::rect_of(const CellAddress& place) const {
  const PassCell* of = cell(place);
  if (!of) return {};
  const QRect box = row(place.block, place.rank);
  const double left = x_of(place.block, of->range.begin), right = x_of(place.block, of->range.end);
  return QRectF(left, box.top() + 1, std::max(right - left, 1.0), box.height() - 2);
}

std::optional<CellAddress> PipelineScene::place_at(const QPointF& at) const {
  for (const CellBlock block : kCellBlocks) {
    const StepCells* cells = picture->cells(block);
    if (!cells || !QRectF(body(block)).contains(at)) continue;
    const int rank = std::clamp((static_cast<int>(at.y()) - body(block).top()) / row_height(), 0,
                                rows(block) - 1);
    const auto& own = cells->ranks[static_cast<std::size_t>(rank)];
    const auto next = std::ranges::upper_bound(
        own, time_at(block, at.x()), {}, [](const PassCell& cell) { return cell.range.begin; });
    if (next == own.begin()) return {};
    const CellAddress place{block, rank, static_cast<std::size_t>(next - own.begin()) - 1};
    return rect_of(place).contains(QPointF(at.x(), rect_of(place).center().y()))
               ? std::optional(place)
               : std::nullopt;
  }
  return {};
}

std::optional<CellAddress> first_cell(const PipelinePicture& picture) {
  const auto rows = rows_of(picture);
  return rows.empty() ? std::nullopt
                      : std::optional(CellAddress{rows.front().block, rows.front().rank, 0});
}

std::optional<CellAddress> neighbor_cell(const PipelinePicture& picture, const CellAddress& place,
                                         CellStep way) {
  const auto rows = rows_of(picture);
  const auto own = std::ranges::find(rows, RowPlace{place.block, place.rank});
  if (own == rows.end() || place.number >= cells_of(picture, *own).size())
    return first_cell(picture);
  const std::size_t count = cells_of(picture, *own).size();
  CellAddress to = place;
  switch (way) {
    case CellStep::previous:
      return place.number > 0 ? (--to.number, std::optional(to)) : std::nullopt;
    case CellStep::next:
      return place.number + 1 < count ? (++to.number, std::optional(to)) : std::nullopt;
    case CellStep::first: return to.number = 0, to;
    case CellStep::last: return to.number = count - 1, to;
    case CellStep::up:
      if (own == rows.begin()) return {};
      break;
    case CellStep::down:
      if (own + 1 == rows.end()) return {};
      break;
  }
  const double middle =
      middle_of(*picture.cells(place.block), cells_of(picture, *own)[place.number]);
  return nearest(picture, way == CellStep::up ? *(own - 1) : *(own + 1), middle);
}

}  // namespace trainyard::ui
