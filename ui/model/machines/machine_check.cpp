// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/model/machines/machine_check.h"

#include <QTemporaryDir>

#include "core/experiment/document.h"
#include "ui/model/topology/topology_text.h"

namespace trainyard::ui {

MachineCheck::MachineCheck(QObject* parent) : QObject(parent) {
  connect(&process_, &HostsProcess::line_read, this, [this](const HostsLine& line) {
    if (line.type != "check") return;
    std::optional<base::Problem> problem;
    if (!line.passed) {
      failed_.push_back(rows_.size());
      problem = base::Problem{"", base::ProblemCode::failed, line.host, line.text, "", ""};
    }
    rows_.push_back({as_text(line.host), as_text(line.check), as_text(line.text), problem});
  });
  connect(&process_, &HostsProcess::ended, this, &MachineCheck::finish);
}

MachineCheck::~MachineCheck() = default;

void MachineCheck::start(const Services& services, const experiment::Experiment& experiment,
                         const QString& data_directory) {
  rows_.clear(), failed_.clear(), problems_.clear();
  finished_ = false;
  directory_ = std::make_unique<QTemporaryDir>();
  const QString file = directory_->filePath("experiment.json");
  if (const auto saved = experiment::save(experiment, file.toStdString()); !saved)
    return finish({saved.error()});
  QStringList arguments{"check", file, "--json"};
  if (!data_directory.isEmpty()) arguments << "--data-directory" << data_directory;
  process_.start(services, arguments);
  emit changed();
}

void MachineCheck::cancel() {
  process_.cancel();
  rows_.clear(), failed_.clear();
  directory_.reset();
  emit changed();
}

// The result line has one problem for each row that failed, in the order of the rows.
void MachineCheck::finish(base::Problems problems) {
  if (problems.size() == failed_.size())
    for (std::size_t i = 0; i < problems.size(); ++i) rows_[failed_[i]].problem = problems[i];
  else problems_ = std::move(problems);
  finished_ = true;
  directory_.reset();
  emit changed();
}

}  // namespace trainyard::ui
