// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/panels/log_model.h"

#include <QBrush>
#include <QRegularExpression>

#include "ui/theme/theme.h"

namespace trainyard::ui {

QString who(int rank) { return rank < 0 ? LogModel::tr("coordinator") : LogModel::tr("rank %1").arg(rank); }

std::set<int> ranks_in(const QString& where) {
  static const QRegularExpression named(QStringLiteral(R"(\brank (\d+))"));
  std::set<int> ranks;
  for (auto found = named.globalMatch(where); found.hasNext();) ranks.insert(found.next().captured(1).toInt());
  return ranks;
}

void LogModel::set_run(Run* run) {
  beginResetModel();
  if (run_) run_->disconnect(this);
  run_ = run;
  rows_ = run ? static_cast<int>(run->history().log().size()) : 0;
  endResetModel();
  if (!run) return;
  connect(run, &Run::updated, this, &LogModel::grow);
  connect(run, &QObject::destroyed, this, [this] { set_run(nullptr); });
}

void LogModel::grow() {
  const int rows = static_cast<int>(run_->history().log().size());
  if (rows == rows_) return;
  beginInsertRows({}, rows_, rows - 1);
  rows_ = rows;
  endInsertRows();
}

int LogModel::rowCount(const QModelIndex& parent) const { return parent.isValid() ? 0 : rows_; }
int LogModel::columnCount(const QModelIndex&) const { return column_count; }

QVariant LogModel::data(const QModelIndex& index, int role) const {
  if (!run_ || !index.isValid()) return {};
  const telemetry::LogLine& log = line(index.row());
  const Colours& colours = Theme::instance().colours();
  if (role == Qt::ForegroundRole && log.level == "error") return QBrush(colours.error);
  if (role == Qt::ForegroundRole && log.level == "warning") return QBrush(colours.warning);
  if (role == Qt::ForegroundRole && index.column() == rank_column && log.rank >= 0) return QBrush(Theme::instance().series_colour(log.rank));
  if (role == Qt::ToolTipRole && index.column() == text_column) return QString::fromStdString(log.text);
  if (role != Qt::DisplayRole) return {};
  switch (index.column()) {
    case time_column: return QString::number(log.seconds, 'f', 3);
    case rank_column: return who(log.rank);
    case level_column: return QString::fromStdString(log.level);
    default: return QString::fromStdString(log.text);
  }
}

QVariant LogModel::headerData(int section, Qt::Orientation orientation, int role) const {
  if (orientation != Qt::Horizontal || role != Qt::DisplayRole) return {};
  return QStringList{tr("Time (s)"), tr("Who"), tr("Level"), tr("Text")}.value(section);
}

}  // namespace trainyard::ui
