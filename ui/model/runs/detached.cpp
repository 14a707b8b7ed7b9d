// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/model/runs/detached.h"

#include <QDir>
#include <QProcess>

#include "core/experiment/document.h"
#include "core/session/system/run_directory.h"
#include "ui/model/runs/run_directory.h"
#include "ui/model/runs/services.h"

namespace trainyard::ui {

base::Result<Detached> start_detached(const Services& services, const QString& verb,
                                      const QString& place, const QString& name,
                                      const experiment::Experiment& experiment,
                                      const QStringList& arguments) {
  const auto made = session::make_new_run_directory(place.toStdString(), name.toStdString());
  if (!made) return base::fail(made.error());
  Detached started{QString::fromStdString(made->string())};
  const QString document = QDir(started.directory).filePath(kExperimentFile),
                console = QDir(started.directory).filePath(kConsoleFile);
  if (const auto saved = experiment::save(experiment, document.toStdString()); !saved)
    return base::fail(saved.error());
  QProcess process;
  process.setProgram(services.command_line_program);
  process.setArguments(QStringList{verb, document, "--out", started.directory} + arguments);
  process.setStandardOutputFile(console, QIODevice::Append);
  process.setStandardErrorFile(console, QIODevice::Append);
  process.setStandardInputFile(QProcess::nullDevice());
  if (!process.startDetached(&started.process))
    return base::fail({"program_not_started", base::ProblemCode::unavailable,
                       services.command_line_program.toStdString(),
                       "the program cannot be started: " + process.errorString().toStdString(), "",
                       "Check that it is installed next to the workbench."});
  return started;
}

}  // namespace trainyard::ui
