// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/timeline/pipeline_text.h"

#include <QCoreApplication>

#include "core/base/units.h"
#include "ui/model/plan/stage_assignment.h"
#include "ui/model/text/count_text.h"

namespace trainyard::ui {
namespace {

using experiment::Pass;
using experiment::PipelineSchedule;

QString pipeline_text(const char* source, int n = -1) {
  return QCoreApplication::translate("pipeline", source, nullptr, n);
}
QString short_time(Nanoseconds time) {
  return QString::fromStdString(base::format_seconds(static_cast<double>(time) * 1e-9));
}
QString part(double share) { return QString::number(100 * share, 'f', 1) + " %"; }
QString points(double share) {
  const QString size = QString::number(std::abs(100 * share), 'f', 1);
  return size == "0.0" ? size : (share < 0 ? QStringLiteral("\u2212") : QStringLiteral("+")) + size;
}
QString chunk_letter(int chunk) { return QString(QChar(u'a' + chunk % 26)); }

// Returns the formula of the ideal bubble: "(p-1)/(m+p-1) = 3/11".
QString formula(const PipelineShape& shape, int micro_batches) {
  const int p = shape.mesh.pipeline, m = micro_batches, v = shape.chunks();
  const auto says = [p](const char* text, int below) {
    return QStringLiteral("%1 = %2/%3").arg(text).arg(p - 1).arg(below);
  };
  switch (shape.schedule) {
    case PipelineSchedule::naive: return says("(p-1)/p", p);
    case PipelineSchedule::interleaved_1f1b: return says("(p-1)/(vm+p-1)", v * m + p - 1);
    case PipelineSchedule::zb_h1: return says("(p-1)/(3m+p-1)", 3 * m + p - 1);
    default: return says("(p-1)/(m+p-1)", m + p - 1);
  }
}

QString step_text(const PipelinePicture& picture) {
  return pipeline_text("step %1").arg(grouped(picture.ran->step));
}

// Returns the difference between the measured bubble and the simulated one, and the formula if
// there is one.
QString difference_text(const PipelinePicture& picture, double measured) {
  const PlannedStep* planned = picture.planned();
  if (!picture.alike()) return pipeline_text("from another experiment");
  if (!planned) return {};
  const QString simulated =
      pipeline_text("%1 points vs. simulated").arg(points(measured - planned->cells.bubble()));
  return planned->ideal ? pipeline_text("%1, %2 vs. formula")
                              .arg(simulated, points(measured - *planned->ideal))
                        : simulated;
}

// Returns the cell of the same pass in the other block (planned or executed step). Returns null
// unless both blocks show the same experiment.
const PassCell* counterpart(const PipelinePicture& picture, const CellAddress& place,
                            const PassCell& cell) {
  const StepCells* other =
      picture.cells(place.block == CellBlock::plan ? CellBlock::run : CellBlock::plan);
  return other && picture.alike() ? other->find(place.rank, cell.of) : nullptr;
}

QString counterpart_text(const PipelinePicture& picture, const CellAddress& place,
                         const PassCell& cell, const PassCell& other) {
  const bool ran = place.block == CellBlock::run;
  const StepCells& step = *picture.cells(ran ? CellBlock::plan : CellBlock::run);
  return (ran ? pipeline_text("in the plan: begins at %1, takes %2")
              : pipeline_text("in the run: began at %1, took %2"))
             .arg(exact_time(other.range.begin - step.range.begin),
                  exact_time(other.range.width())) +
         (cell.range.width() > 0 && other.range.width() > 0
              ? pipeline_text(", %1× the time")
                    .arg(static_cast<double>(other.range.width()) /
                             static_cast<double>(cell.range.width()),
                         0, 'f', 2)
              : QString());
}

}  // namespace

QString pass_text(Pass pass) {
  switch (pass) {
    case Pass::forward: return pipeline_text("forward");
    case Pass::backward: return pipeline_text("backward");
    case Pass::backward_weight: return pipeline_text("weight gradients");
  }
  return {};
}

QString cell_label(const PipelineShape& shape, const experiment::Cell& cell) {
  return QString::number(cell.micro) +
         (shape.chunks() > 1 ? chunk_letter(shape.chunk(cell.stage)) : QString());
}

QString block_title(const PipelinePicture& picture, CellBlock block) {
  const StepCells* cells = picture.cells(block);
  const QString took = cells ? ": " + short_time(cells->range.width()) : QString();
  if (block == CellBlock::plan) {
    const QString tail = cells && picture.planned()->program != "train"
                             ? pipeline_text(", last (shorter) step of an epoch")
                             : QString();
    return (picture.plan_is_of_drawing ? pipeline_text("Plan of the drawing (simulated)")
                                       : pipeline_text("Plan (simulated)")) +
           tail + took;
  }
  if (!cells) return pipeline_text("Run (measured)");
  return pipeline_text("Run (measured), %1").arg(step_text(picture)) +
         (picture.alike() ? QString() : pipeline_text(", from another experiment")) + took;
}

QString why_block_is_empty(const PipelinePicture& picture, CellBlock block) {
  if (block == CellBlock::plan) {
    if (!picture.not_simulated.empty())
      return pipeline_text("Not simulated: %1.").arg(QString::fromStdString(picture.not_simulated));
    return picture.plan ? pipeline_text("The plan has no such step.")
                        : pipeline_text("Simulating the plan ...");
  }
  if (!picture.run)
    return pipeline_text("Press Run to see the measured step below the planned step.");
  return picture.ran
             ? pipeline_text(
                   "The ops of %1 are not in memory: they are too old or were not recorded.")
                   .arg(step_text(picture))
         : picture.reading ? pipeline_text("Reading the recording ...")
         : picture.over    ? pipeline_text("This run recorded no complete step.")
                           : pipeline_text("Waiting for the first complete step.");
}

SpanText span_text(const PipelinePicture& picture, const CellAddress& place) {
  const StepCells* step = picture.cells(place.block);
  if (!step || place.rank >= static_cast<int>(step->ranks.size()) ||
      place.number >= step->ranks[static_cast<std::size_t>(place.rank)].size())
    return {};
  const PipelineShape& shape = *picture.shape(place.block);
  const PassCell& cell = step->ranks[static_cast<std::size_t>(place.rank)][place.number];
  const bool called = shape.mesh.is_called(shape.mesh.place_of(place.rank));
  SpanText words{
      (called ? pipeline_text("micro-batch %1 remote %2") : pipeline_text("micro-batch %1 %2"))
          .arg(cell.of.micro)
          .arg(pass_text(cell.of.pass)),
      {}};
  words.title[0] = words.title[0].toUpper();
  words.lines << pipeline_text("stage %1 (%2) on rank %3")
                     .arg(cell.of.stage)
                     .arg(held_text(shape.layers[static_cast<std::size_t>(cell.of.stage)]))
                     .arg(place.rank)
              << (place.block == CellBlock::plan
                      ? pipeline_text("simulated")
                      : pipeline_text("measured in %1").arg(step_text(picture)))
              << pipeline_text("from %1 to %2 of the step")
                     .arg(exact_time(cell.range.begin - step->range.begin),
                          exact_time(cell.range.end - step->range.begin))
              << pipeline_text("takes %1").arg(exact_time(cell.range.width()));
  if (const PassCell* other = counterpart(picture, place, cell))
    words.lines << counterpart_text(picture, place, cell, *other);
  return words;
}

QString planned_text(const PipelinePicture& picture) {
  const PlannedStep* planned = picture.planned();
  if (!planned) return {};
  const double simulated = planned->cells.bubble();
  const QString took = short_time(planned->cells.range.width());
  if (!planned->ideal)
    return pipeline_text("Bubble: no formula for these stages \u00b7 simulated %1, in %2")
        .arg(part(simulated), took);
  return pipeline_text("Bubble: by formula %1 (%2) \u00b7 simulated %3 (%4 points), in %5")
      .arg(part(*planned->ideal), formula(picture.plan->shape, planned->cells.micro_batches()),
           part(simulated), points(simulated - *planned->ideal), took);
}

QString measured_text(const PipelinePicture& picture) {
  const StepCells *planned = picture.cells(CellBlock::plan), *ran = picture.cells(CellBlock::run);
  if (!ran) return {};
  if (!picture.whole())
    return pipeline_text(
               "Measured in %1: idle time unknown, because the events of %n op(s) are missing",
               plural(static_cast<std::int64_t>(picture.ran->lacking)))
        .arg(step_text(picture));
  const QString apart = difference_text(picture, ran->bubble()),
                took = short_time(ran->range.width());
  QString note = pipeline_text("Measured in %1: %2%3, in %4")
                     .arg(step_text(picture), part(ran->bubble()),
                          apart.isEmpty() ? apart : " (" + apart + ")", took);
  if (!planned || !picture.alike()) return note;
  return pipeline_text("%1, %2× the planned time")
      .arg(note)
      .arg(static_cast<double>(ran->range.width()) / static_cast<double>(planned->range.width()), 0,
           'f', 2);
}

QString bubble_help() {
  return pipeline_text(
      "Simulated and measured: 1 - busy / (p x makespan). Busy: total time of all p ranks in "
      "cells. Makespan: from the first begin to the last end of the cells of a step, without the "
      "update. By formula: equal stages and links without cost.");
}

QString pipeline_formulas() {
  return pipeline_text(
      "<p><b>Cell</b>: one pass of one micro-batch through one stage, from the first begin to the "
      "last end of its ops. The loss belongs to the backward pass of the last stage. Hatched gaps "
      "between cells are idle time: the bubble.</p><p><b>Measured</b> and <b>simulated</b>: 1 - "
      "busy / (p x makespan). Busy is the total time of all p ranks in cells. The makespan is the "
      "time from the first begin to the last end of the cells of a step, without the "
      "update.</p><p><b>By formula</b>: idle fraction for m micro-batches with equal stages and "
      "links without cost: (p-1)/p (naive), (p-1)/(m+p-1) (GPipe and 1F1B), (p-1)/(vm+p-1) "
      "(interleaved, with v stages per rank), (p-1)/(3m+p-1) (ZB-H1, with equal F, B and "
      "W).</p><p>Points are percentage points. Each block has its own time scale: both steps fill "
      "the width of the view.</p>");
}

}  // namespace trainyard::ui
