// SPDX-License-Identifier: GPL-3.0-or-later
// Table of a run's log lines that pass a filter, in time order. A line that arrives late is
// inserted at its time. A log may have millions of lines, so they are filtered a few milliseconds
// at a time, in order of arrival.
#pragma once

#include <QAbstractTableModel>
#include <QPointer>
#include <QStringList>
#include <vector>

#include "ui/model/runs/run.h"

namespace trainyard::ui {

inline const QStringList kLogLevels{"debug", "info", "warning", "error"};

struct LogFilter {
  static constexpr int kAllRanks = -2;
  // `rank`: kAllRanks shows all ranks. `min_level`: index of the lowest shown level in kLogLevels;
  // lines of an unknown level are always shown.
  int rank = kAllRanks, min_level = 0;
  QString text{};  // text that a line must contain; case-insensitive

  bool passes(const telemetry::LogLine& line) const;
  bool operator==(const LogFilter&) const = default;
};

class LogModel : public QAbstractTableModel {
  Q_OBJECT
 public:
  enum Column { time_column, rank_column, level_column, text_column, column_count };
  explicit LogModel(QObject* parent = nullptr);

  void set_run(Run* run);  // may be null
  void set_filter(const LogFilter& filter);
  const telemetry::LogLine& line(int row) const {
    return run_->history().log()[static_cast<std::size_t>(shown_[static_cast<std::size_t>(row)])];
  }
  bool is_filtering() const {
    return filtered_lines_ < lines();
  }  // true if some lines are not filtered yet
  std::size_t lines() const { return run_ ? run_->history().log().size() : 0; }

  int rowCount(const QModelIndex& parent = {}) const override;
  int columnCount(const QModelIndex& parent = {}) const override;
  QVariant data(const QModelIndex& index, int role = Qt::DisplayRole) const override;
  QVariant headerData(int section, Qt::Orientation orientation,
                      int role = Qt::DisplayRole) const override;

 signals:
  void filtering_finished();  // all lines are filtered

 private:
  void restart();
  void look();
  void show(std::vector<std::uint32_t> passed);

  QPointer<Run> run_;
  LogFilter filter_;
  std::vector<std::uint32_t> shown_;  // indices of the shown lines in the log, in time order
  std::size_t filtered_lines_ = 0;    // number of filtered lines
};

QString source_name(int rank);  // "rank 2"; "coordinator" if rank < 0

}  // namespace trainyard::ui
