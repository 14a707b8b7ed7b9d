// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/runs/comparison_table.h"

#include <QHeaderView>
#include <algorithm>

#include "ui/runs/run_comparison.h"
#include "ui/theme/theme.h"

namespace trainyard::ui {
namespace {

constexpr int kCharacters = 26;  // maximum width of a column in characters

QTableWidgetItem* cell(const QString& text, const QString& help = {}) {
  auto* item = new QTableWidgetItem(text);
  item->setToolTip(help.isEmpty() ? text : help);
  return item;
}

}  // namespace

ComparisonTable::ComparisonTable(QWidget* parent) : QTableWidget(parent) {
  setAccessibleName(tr("Comparison of the checked runs"));
  setEditTriggers(QAbstractItemView::NoEditTriggers);
  setTextElideMode(Qt::ElideMiddle);
  setWordWrap(false);
  verticalHeader()->hide();
  horizontalHeader()->setDefaultAlignment(Qt::AlignLeft | Qt::AlignVCenter);
}

void ComparisonTable::show_runs(const std::vector<RunEntry>& runs) {
  setVisible(!runs.empty());
  setColumnCount(static_cast<int>(runs.size()) + 1);
  fill(runs);
  head(runs);
  fit();
}

void ComparisonTable::fill(const std::vector<RunEntry>& runs) {
  const auto rows = compare_runs(runs);
  setRowCount(static_cast<int>(rows.size()));
  for (int row = 0; row < rowCount(); ++row) {
    const ComparisonRow& one = rows[static_cast<std::size_t>(row)];
    setItem(row, 0, cell(one.what, one.help));
    item(row, 0)->setFont(Theme::instance().font(1, one.result));
    for (int run = 0; run < one.values.size(); ++run)
      setItem(row, run + 1, cell(one.values[run], one.help));
  }
}

// Sets the headers. The header of a run contains its name and start time, in the color of the run's
// lines on the charts. Names are elided in the middle, because they often differ only at their
// ends.
void ComparisonTable::head(const std::vector<RunEntry>& runs) {
  const QFontMetrics metrics = horizontalHeader()->fontMetrics();
  setHorizontalHeaderItem(0, cell(tr("Setting or result")));
  for (int run = 0; run < static_cast<int>(runs.size()); ++run) {
    const RunEntry& entry = runs[static_cast<std::size_t>(run)];
    const QString name =
        metrics.elidedText(entry.name, Qt::ElideMiddle, metrics.averageCharWidth() * kCharacters);
    setHorizontalHeaderItem(run + 1,
                            cell(name + "\n" + entry.started, entry.name + "\n" + entry.directory));
    horizontalHeaderItem(run + 1)->setForeground(Theme::instance().series_color(run));
  }
}

// Fits columns to their content; long lists of layers are elided.
void ComparisonTable::fit() {
  const int most = fontMetrics().averageCharWidth() * (kCharacters + 4);
  resizeColumnsToContents();
  for (int column = 0; column < columnCount(); ++column)
    setColumnWidth(column, std::min(columnWidth(column), most));
  resizeRowsToContents();
}

}  // namespace trainyard::ui
