// SPDX-License-Identifier: GPL-3.0-or-later
// The directory of a run, as shown in a list of runs.
#pragma once

#include <QString>
#include <QStringList>
#include <filesystem>
#include <optional>

#include "core/base/json_fwd.h"
#include "core/experiment/document.h"

namespace trainyard::ui {

// file with the coordinator's control endpoint
inline constexpr const char* kControlFile = "control";
inline constexpr const char* kConsoleFile = "console.log";  // file with the coordinator's output
inline constexpr const char* kExperimentFile = "experiment.json";
inline constexpr const char* kLabelFile = "label";  // file with the name that the user gave the run

struct RunEntry {
  QString directory;
  // Label that the user gave; otherwise the name of the experiment; otherwise the name of the
  // directory without its time. "Untitled" if that is empty.
  QString name;
  QString started;  // local time, "2026-11-21 14:03:12"
  QString strategy;
  QString state;  // state in the result, such as "completed"; "no result" without one
  int ranks = 0;
  std::optional<double> accuracy;  // final accuracy on held-out samples
  base::SharedJson experiment;     // the resolved experiment; null if not recorded
  base::SharedJson result;         // null if not recorded
  base::SharedJson given;          // the experiment as given by the user; null if unreadable
};

QStringList run_directories(const QString& runs_directory);  // newest first
// Reads a run; opens only the first and last frames of its recording.
RunEntry read_run(const QString& directory);
// Returns the name and start time of a run, for legends. `recorded` is the experiment in the run's
// recording. If it is null, the experiment is read from the directory.
QString run_name(const QString& directory, const base::Json& recorded);
QString run_name(const QString& directory);
// Writes the user's label to its file. An empty label removes the file.
base::Result<void> set_run_label(const QString& directory, const QString& label);

// Returns the experiment as the user wrote it, for starting another run. It is not known from which
// directory its relative data paths start, so they are replaced by the absolute paths in
// `resolved`. Returns `resolved` if the run directory contains no such experiment, or if the
// experiment has another drawing.
experiment::Experiment given_experiment(const QString& directory,
                                        const experiment::Experiment& resolved);

// Returns the coordinator's output after its last progress report; may be empty.
std::string last_output(const std::filesystem::path& directory);
// Returns the last lines that a rank's process printed; nothing if there is no such file. Rank -1
// is the coordinator.
std::optional<std::string> printed_tail(const std::filesystem::path& directory, int rank,
                                        int lines);

}  // namespace trainyard::ui
