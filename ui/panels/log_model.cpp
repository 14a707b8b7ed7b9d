// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/panels/log_model.h"

#include <QBrush>
#include <QElapsedTimer>
#include <algorithm>

#include "ui/model/runs/work_scheduler.h"
#include "ui/theme/theme.h"

namespace trainyard::ui {
namespace {

// number of lines that are filtered between two checks of the time limit
constexpr std::size_t kLinesUntimed = 64;
constexpr qint64 kLookNanoseconds = 6'000'000;
// maximum number of shown characters per line; longer lines are slow to paint, and would not fit in
// any window
constexpr int kShownCharacters = 400;

QString beginning(const QString& text) {
  return text.size() <= kShownCharacters ? text : text.left(kShownCharacters) + "…";
}

}  // namespace

QString source_name(int rank) {
  return rank < 0 ? LogModel::tr("coordinator") : LogModel::tr("rank %1").arg(rank);
}

bool LogFilter::passes(const telemetry::LogLine& line) const {
  if (rank != kAllRanks && line.rank != rank) return false;
  const auto level = kLogLevels.indexOf(
      QLatin1String(line.level.data(), static_cast<qsizetype>(line.level.size())));
  return (level < 0 || level >= min_level) &&
         (text.isEmpty() || QString::fromStdString(line.text).contains(text, Qt::CaseInsensitive));
}

LogModel::LogModel(QObject* parent) : QAbstractTableModel(parent) {}

void LogModel::set_run(Run* run) {
  if (run_) run_->disconnect(this);
  run_ = run;
  restart();
  if (!run) return;
  connect(run, &Run::updated, this, &LogModel::look);
  connect(run, &QObject::destroyed, this, [this] { set_run(nullptr); });
}

void LogModel::set_filter(const LogFilter& filter) {
  if (filter == filter_) return;
  filter_ = filter;
  restart();
}

void LogModel::restart() {
  beginResetModel();
  shown_.clear();
  filtered_lines_ = 0;
  endResetModel();
  look();
}

// Filters lines for a few milliseconds. If lines remain, schedules another call in the event loop.
void LogModel::look() {
  if (!is_filtering()) return;
  QElapsedTimer clock;
  clock.start();
  const auto& log = run_->history().log();
  std::vector<std::uint32_t> passed;
  for (; filtered_lines_ < log.size(); ++filtered_lines_) {
    if (filtered_lines_ % kLinesUntimed == 0 && clock.nsecsElapsed() > kLookNanoseconds) break;
    if (filter_.passes(log[filtered_lines_]))
      passed.push_back(static_cast<std::uint32_t>(filtered_lines_));
  }
  show(std::move(passed));
  if (is_filtering()) WorkScheduler::instance().ask(this, Work::reading, [this] { look(); });
  else emit filtering_finished();
}

// Inserts lines that passed the filter, in time order. Nearly always, all of them are later than
// the shown lines and are appended at once. Only the first lines of the ranks can be out of order,
// because all ranks log them at nearly the same time.
void LogModel::show(std::vector<std::uint32_t> passed) {
  const auto seconds = [&log = run_->history().log()](std::uint32_t number) {
    return log[number].seconds;
  };
  if (!std::ranges::is_sorted(passed, {}, seconds)) std::ranges::stable_sort(passed, {}, seconds);
  for (auto first = passed.begin(); first != passed.end();) {
    const auto next = std::ranges::upper_bound(shown_, seconds(*first), {}, seconds);
    const auto last = next == shown_.end() ? passed.end()
                                           : std::ranges::lower_bound(first, passed.end(),
                                                                      seconds(*next), {}, seconds);
    const int row = static_cast<int>(next - shown_.begin());
    beginInsertRows({}, row, row + static_cast<int>(last - first) - 1);
    shown_.insert(next, first, last);
    endInsertRows();
    first = last;
  }
}

int LogModel::rowCount(const QModelIndex& parent) const {
  return parent.isValid() ? 0 : static_cast<int>(shown_.size());
}
int LogModel::columnCount(const QModelIndex&) const { return column_count; }

QVariant LogModel::data(const QModelIndex& index, int role) const {
  if (!run_ || !index.isValid()) return {};
  const telemetry::LogLine& log = line(index.row());
  const Colors& colors = Theme::instance().colors();
  if (role == Qt::ForegroundRole && log.level == "error") return QBrush(colors.error);
  if (role == Qt::ForegroundRole && log.level == "warning") return QBrush(colors.warning);
  if (role == Qt::ForegroundRole && index.column() == rank_column && log.rank >= 0)
    return QBrush(Theme::instance().series_color(log.rank));
  if (role == Qt::ToolTipRole && index.column() == text_column)
    return QString::fromStdString(log.text);
  if (role != Qt::DisplayRole) return {};
  switch (index.column()) {
    case time_column: return QString::number(log.seconds, 'f', 3);
    case rank_column: return source_name(log.rank);
    case level_column: return QString::fromStdString(log.level);
    default: return beginning(QString::fromStdString(log.text));
  }
}

QVariant LogModel::headerData(int section, Qt::Orientation orientation, int role) const {
  if (orientation != Qt::Horizontal || role != Qt::DisplayRole) return {};
  return QStringList{tr("Time (s)"), tr("Source"), tr("Level"), tr("Text")}.value(section);
}

}  // namespace trainyard::ui
