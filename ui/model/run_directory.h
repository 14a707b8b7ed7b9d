// SPDX-License-Identifier: GPL-3.0-or-later
// The directory of a run, as a list of runs shows it.
#pragma once

#include <QString>
#include <QStringList>
#include <filesystem>
#include <optional>

#include "core/base/json.h"
#include "core/experiment/document.h"

namespace trainyard::ui {

inline constexpr const char* kControlFile = "control";      // the coordinator's endpoint
inline constexpr const char* kConsoleFile = "console.log";  // what the coordinator printed
inline constexpr const char* kExperimentFile = "experiment.json";
inline constexpr const char* kLabelFile = "label";  // a name given by a person

struct RunEntry {
  QString directory;
  QString name;     // the label, else the experiment's name, else the directory's; "Untitled" where
                    // that is but its time
  QString started;  // local time, "2026-11-21 14:03:12"
  QString strategy;
  QString state;  // of the result: "completed", ...; else "no result"
  int ranks = 0;
  std::optional<double> accuracy;  // held out, at the end
  base::Json experiment, result;   // resolved; null when not recorded
  base::Json given;  // the experiment as a person gave it; null when it cannot be read
};

QStringList run_directories(const QString& runs_directory);  // newest first
RunEntry read_run(const QString& directory);  // opens the recording's first and last frames only
// For legends: name and time. `recorded` is the experiment that its recording holds; null when that
// is not known.
QString run_name(const QString& directory, const base::Json& recorded = {});
base::Result<void> set_run_label(const QString& directory, const QString& label);  // empty: none

// The experiment as a person gave it to the run, for another run; its data paths, which were
// relative to a file that may be anywhere, are those of `resolved`, absolute. `resolved` itself
// where the directory holds no experiment, or that of another drawing.
experiment::Experiment given_experiment(const QString& directory,
                                        const experiment::Experiment& resolved);

// What the coordinator printed last, after it had told how far it was; empty: nothing.
std::string last_words(const std::filesystem::path& directory);
// Of what a rank's process printed; nothing when there is no such file. The coordinator is rank -1.
std::optional<std::string> printed_tail(const std::filesystem::path& directory, int rank,
                                        int lines);

}  // namespace trainyard::ui
