// SPDX-License-Identifier: GPL-3.0-or-later
// Rows of the table that compares runs: settings that differ, then results. Pure.
#pragma once

#include <QString>
#include <QStringList>
#include <vector>

#include "ui/model/runs/run_directory.h"

namespace trainyard::ui {

struct ComparisonRow {
  // Name of the row: the path of a setting, the path of a list element that some run lacks, or the
  // name of a result.
  QString what;
  QStringList values;  // one value per run; "–" if the run has none
  bool result = false;
  QString help{};  // for a result: its meaning and how it is computed
};

// Returns first the resolved settings that differ between the runs, then the results. Settings are
// included only if users chose different values. Values that follow from other settings, and
// descriptive fields, are omitted. For a single run, there are only results.
std::vector<ComparisonRow> compare_runs(const std::vector<RunEntry>& runs);

// A run, and the caveats that apply to its results.
struct RunCaveats {
  QString run;
  QStringList caveats;
};
// Merges the caveats of runs on the same charts. A caveat that applies to all runs is listed once.
// Other caveats begin with the name of their run.
QStringList merge_caveats(const std::vector<RunCaveats>& runs);

}  // namespace trainyard::ui
