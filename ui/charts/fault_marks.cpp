// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/charts/fault_marks.h"

#include <algorithm>

#include "core/base/units.h"
#include "ui/charts/chart_text.h"
#include "ui/model/text/count_text.h"

namespace trainyard::ui {
namespace {

// Maximum number of steps by which a fault may be ahead of the last step that all ranks have
// reported. A fault further ahead has no mark yet, because the charts have not reached it. If ranks
// run asynchronously, a stalled rank holds back that last step; faults of other ranks have a mark
// as long as they are at most this number of steps ahead.
constexpr double kAhead = 300;

Marker glyph_of(const std::string& kind) {
  if (kind == "killed" || kind == "lost") return Marker::cross;
  if (kind == "stalled") return Marker::square;
  if (kind == "awake" || kind == "back" || kind == "link_restored") return Marker::triangle;
  if (kind == "link_cut") return Marker::circle;
  return kind == "slow" || kind == "link_slowed" ? Marker::diamond : Marker::circle;
}

// Returns, for example, "rank 2 failed at 12.3 s, step 1,234: ended by signal 9 (Killed); training
// goes on with 3 workers".
QString words_of(const telemetry::Fault& fault, const std::optional<RunStyle>& run) {
  const QString who = run ? run->name + " · " : QString();
  const QString time = QString::fromStdString(base::format_seconds(fault.seconds));
  if (fault.link >= 0)
    return chart_text("%1at %2, step %3: %4")
        .arg(who, time, grouped(fault.step), QString::fromStdString(fault.text));
  return chart_text("%1rank %2 %3 at %4, step %5: %6")
      .arg(who, QString::number(fault.rank), QString::fromStdString(fault.kind), time,
           grouped(fault.step), QString::fromStdString(fault.text));
}

}  // namespace

std::vector<PlotMark> fault_marks(const telemetry::History& history,
                                  const ProgressCounter& progress,
                                  const std::optional<RunStyle>& run) {
  std::vector<PlotMark> marks;
  for (const telemetry::Fault& fault : history.faults()) {
    const auto step = static_cast<double>(fault.step);
    if (!progress.knows(std::max(0.0, step - kAhead))) continue;
    SeriesPoint at{step, 0, fault.seconds, 0};
    progress.at(step).put_into(at);
    marks.push_back(
        {at, glyph_of(fault.kind), run ? run->color : fault.rank, words_of(fault, run)});
  }
  return marks;
}

}  // namespace trainyard::ui
