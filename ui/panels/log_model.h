// SPDX-License-Identifier: GPL-3.0-or-later
// The log lines of a run that pass a filter, as a table in order of time: a line that arrives late
// goes where it belongs. A log may have millions of lines: they are looked through a few
// milliseconds at a time, in order of arrival.
#pragma once

#include <QAbstractTableModel>
#include <QPointer>
#include <QStringList>
#include <vector>

#include "ui/model/run.h"

namespace trainyard::ui {

inline const QStringList kLogLevels{"debug", "info", "warning", "error"};

struct LogFilter {
  static constexpr int kEverybody = -2;
  int rank = kEverybody, least_level = 0;  // of kLogLevels; an unknown level is never hidden
  QString text{};                          // in any case of letters

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
  bool looking() const { return looked_ < lines(); }  // not all lines have been looked at
  std::size_t lines() const { return run_ ? run_->history().log().size() : 0; }

  int rowCount(const QModelIndex& parent = {}) const override;
  int columnCount(const QModelIndex& parent = {}) const override;
  QVariant data(const QModelIndex& index, int role = Qt::DisplayRole) const override;
  QVariant headerData(int section, Qt::Orientation orientation,
                      int role = Qt::DisplayRole) const override;

 signals:
  void looked_through();  // to the last line that there is

 private:
  void restart();
  void look();
  void show(std::vector<std::uint32_t> passed);

  QPointer<Run> run_;
  LogFilter filter_;
  std::vector<std::uint32_t> shown_;  // numbers of lines, by their time
  std::size_t looked_ = 0;            // lines
};

QString who(int rank);  // "rank 2"; "coordinator" below 0

}  // namespace trainyard::ui
