// SPDX-License-Identifier: GPL-3.0-or-later
// The log lines of a run as a table, which grows at its end.
#pragma once

#include <QAbstractTableModel>
#include <QPointer>
#include <set>

#include "ui/model/run.h"

namespace trainyard::ui {

class LogModel : public QAbstractTableModel {
  Q_OBJECT
 public:
  enum Column { time_column, rank_column, level_column, text_column, column_count };
  using QAbstractTableModel::QAbstractTableModel;

  void set_run(Run* run);  // may be null
  const telemetry::LogLine& line(int row) const { return run_->history().log()[static_cast<std::size_t>(row)]; }

  int rowCount(const QModelIndex& parent = {}) const override;
  int columnCount(const QModelIndex& parent = {}) const override;
  QVariant data(const QModelIndex& index, int role = Qt::DisplayRole) const override;
  QVariant headerData(int section, Qt::Orientation orientation, int role = Qt::DisplayRole) const override;

 private:
  void grow();
  QPointer<Run> run_;
  int rows_ = 0;  // that views know of
};

QString who(int rank);                         // "rank 2"; "coordinator" below 0
std::set<int> ranks_in(const QString& where);  // that the place of a problem names: 2 of "rank 2 (cpu2 on host0)"

}  // namespace trainyard::ui
