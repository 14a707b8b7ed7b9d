// SPDX-License-Identifier: GPL-3.0-or-later
// Check of the other machines of an experiment before a run, by `trainyard-cli hosts check`.
#pragma once

#include <QObject>
#include <memory>
#include <optional>
#include <vector>

#include "core/experiment/experiment.h"
#include "ui/model/machines/hosts_process.h"

class QTemporaryDir;

namespace trainyard::ui {

// Result of one check of one host.
struct MachineCheckRow {
  QString host;   // name of the drawn host
  QString check;  // "connection", "machine", "cores", "memory" or "clock"
  QString found;
  std::optional<base::Problem> problem;  // if the check failed
};

class MachineCheck : public QObject {
  Q_OBJECT
 public:
  explicit MachineCheck(QObject* parent = nullptr);
  ~MachineCheck() override;

  // Starts a check, which later emits `changed`. Discards the previous results.
  void start(const Services& services, const experiment::Experiment& experiment,
             const QString& data_directory);
  void cancel();
  bool running() const { return process_.running(); }
  bool finished() const { return finished_; }  // true if there are results
  const std::vector<MachineCheckRow>& rows() const { return rows_; }
  // Problems that are not those of a row, such as an experiment that cannot be read.
  const base::Problems& problems() const { return problems_; }

 signals:
  void changed();

 private:
  void finish(base::Problems problems);

  HostsProcess process_;
  std::unique_ptr<QTemporaryDir> directory_;  // with a copy of the experiment
  std::vector<MachineCheckRow> rows_;
  std::vector<std::size_t> failed_;  // indices of the rows that failed
  base::Problems problems_;
  bool finished_ = false;
};

}  // namespace trainyard::ui
