// SPDX-License-Identifier: GPL-3.0-or-later
// The table of what differs between runs, and what came of them. Pure.
#pragma once

#include <QString>
#include <QStringList>
#include <vector>

#include "ui/model/run_directory.h"

namespace trainyard::ui {

struct ComparisonRow {
  QString what;        // a path of the experiment (of a value, or of a part that a run lacks), or a
                       // figure of the result
  QStringList values;  // one a run; "–" where there is none
  bool result = false;
  QString help{};  // what a figure is, and how it is reckoned
};

// First the settings that are not the same in all, as they were run: what people chose otherwise,
// not what follows from it, and not what only people read. Then the results. One run alone has
// results only.
std::vector<ComparisonRow> compare_runs(const std::vector<RunEntry>& runs);

// What must be said beside the figures of a run.
struct RunTruths {
  QString run;
  QStringList truths;
};
// Of runs on the same charts: once what holds of all, with the run's name before it what does not.
QStringList told_apart(const std::vector<RunTruths>& runs);

}  // namespace trainyard::ui
