// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/model/runs/sweep_list.h"

#include <QDir>
#include <QObject>

#include "core/base/names.h"
#include "core/session/sweep/sweep_file.h"

namespace trainyard::ui {
namespace {

QString title_of(const session::Sweep& sweep, bool live) {
  const QString name =
      sweep.name.empty() ? QObject::tr("Untitled") : QString::fromStdString(sweep.name);
  const bool unfinished = sweep.state == session::SweepState::running && !live;
  const QString state = unfinished
                            ? QObject::tr("interrupted")
                            : QString::fromStdString(std::string(base::name_of(sweep.state)));
  return QObject::tr("%1, %2, %3").arg(name, QString::fromStdString(sweep.started), state);
}

}  // namespace

std::vector<SweepEntry> list_sweeps(const QString& sweeps_directory) {
  const QDir all(sweeps_directory);
  std::vector<SweepEntry> entries;
  for (const QString& name :
       all.entryList(QDir::Dirs | QDir::NoDotAndDotDot, QDir::Name | QDir::Reversed)) {
    const QString directory = all.filePath(name);
    if (!QDir(directory).exists(session::kSweepFile)) continue;
    const bool live = session::sweeping_process(directory.toStdString()).has_value();
    const auto sweep = session::read_sweep(directory.toStdString());
    entries.push_back({directory,
                       sweep ? title_of(*sweep, live) : QObject::tr("%1, unreadable").arg(name),
                       live});
  }
  return entries;
}

}  // namespace trainyard::ui
