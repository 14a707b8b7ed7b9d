// SPDX-License-Identifier: GPL-3.0-or-later
// Table of the differences between runs, and of their results. Pure.
#pragma once

#include <QString>
#include <QStringList>
#include <vector>

#include "ui/model/runs/run_directory.h"

namespace trainyard::ui {

struct ComparisonRow {
  // path in the experiment (of a value, or of an element that a run lacks), or a figure of the
  // result
  QString what;
  QStringList values;  // one per run; "–" if there is none
  bool result = false;
  QString help{};  // meaning of a figure and how it is computed
};

// Returns first the resolved settings that differ: values that users chose differently, without
// derived values and descriptive fields. Then the results. A single run has only results.
std::vector<ComparisonRow> compare_runs(const std::vector<RunEntry>& runs);

// Caveats of a run's figures.
struct RunCaveats {
  QString run;
  QStringList caveats;
};
// Merges the caveats of runs on the same charts: common ones once, others with the run's name in
// front.
QStringList merge_caveats(const std::vector<RunCaveats>& runs);

}  // namespace trainyard::ui
