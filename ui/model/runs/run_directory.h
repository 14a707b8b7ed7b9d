// SPDX-License-Identifier: GPL-3.0-or-later
// The directory of a run, as shown in a list of runs.
#pragma once

#include <QString>
#include <QStringList>
#include <filesystem>
#include <optional>

#include "core/base/json.h"
#include "core/experiment/document.h"

namespace trainyard::ui {

inline constexpr const char* kControlFile = "control";      // the coordinator's control endpoint
inline constexpr const char* kConsoleFile = "console.log";  // the coordinator's output
inline constexpr const char* kExperimentFile = "experiment.json";
inline constexpr const char* kLabelFile = "label";  // name given by the user

struct RunEntry {
  QString directory;
  // the label, else the experiment's name, else the directory's; "Untitled" if that is only a time
  QString name;
  QString started;  // local time, "2026-11-21 14:03:12"
  QString strategy;
  QString state;  // from the result: "completed", ...; else "no result"
  int ranks = 0;
  std::optional<double> accuracy;  // held-out, final
  base::Json experiment, result;   // resolved; null if not recorded
  base::Json given;                // the experiment as given by the user; null if unreadable
};

QStringList run_directories(const QString& runs_directory);  // newest first
// opens only the first and last frames of the recording
RunEntry read_run(const QString& directory);
// Returns name and time, for legends. `recorded` is the experiment in the recording; null if
// unknown.
QString run_name(const QString& directory, const base::Json& recorded = {});
// empty: removes the label
base::Result<void> set_run_label(const QString& directory, const QString& label);

// Returns the experiment as the user gave it, for another run. Its data paths, which were relative
// to an unknown directory, are replaced by the absolute paths of `resolved`. Returns `resolved` if
// the directory contains no experiment or one with another drawing.
experiment::Experiment given_experiment(const QString& directory,
                                        const experiment::Experiment& resolved);

// Returns the coordinator's output after its last progress report; may be empty.
std::string last_output(const std::filesystem::path& directory);
// Returns the last lines that a rank's process printed; nothing if there is no such file. Rank -1
// is the coordinator.
std::optional<std::string> printed_tail(const std::filesystem::path& directory, int rank,
                                        int lines);

}  // namespace trainyard::ui
