// SPDX-License-Identifier: GPL-3.0-or-later
// Rows of the table that compares runs: settings that differ, and results. Pure.
#pragma once

#include <QString>
#include <QStringList>
#include <vector>

#include "ui/model/runs/run_directory.h"

namespace trainyard::ui {

struct ComparisonRow {
  // Path of a setting in the experiment, or of a list element that some run lacks; or the name of a
  // figure of the result.
  QString what;
  QStringList values;  // one value per run; "–" if the run has none
  bool result = false;
  QString help{};  // for a figure: its meaning and how it is computed
};

// Returns first the resolved settings that differ between the runs, then the results. Only settings
// that users chose differently are included, without values that follow from others and without
// descriptive fields. For a single run, there are only results.
std::vector<ComparisonRow> compare_runs(const std::vector<RunEntry>& runs);

// Caveats of a run's figures.
struct RunCaveats {
  QString run;
  QStringList caveats;
};
// Merges the caveats of runs on the same charts. A caveat of all runs is listed once; others begin
// with the name of their run.
QStringList merge_caveats(const std::vector<RunCaveats>& runs);

}  // namespace trainyard::ui
