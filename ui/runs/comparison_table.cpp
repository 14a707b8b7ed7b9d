// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/runs/comparison_table.h"

#include <QHeaderView>
#include <QStyle>
#include <algorithm>

#include "ui/runs/run_comparison.h"
#include "ui/theme/theme.h"

namespace trainyard::ui {
namespace {

// Columns are not narrowed below this width, in characters.
constexpr int kCharacters = 20;

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
// lines on the charts.
void ComparisonTable::head(const std::vector<RunEntry>& runs) {
  titles_.clear();
  setHorizontalHeaderItem(0, cell(tr("Setting or result")));
  for (int run = 0; run < static_cast<int>(runs.size()); ++run) {
    const RunEntry& entry = runs[static_cast<std::size_t>(run)];
    titles_.push_back({entry.name, entry.started});
    setHorizontalHeaderItem(run + 1, cell("", entry.name + "\n" + entry.directory));
    horizontalHeaderItem(run + 1)->setForeground(Theme::instance().series_color(run));
  }
}

// Sets the text of the headers. A name is elided in the middle to at most `widest` pixels, because
// names often differ only at their ends.
void ComparisonTable::set_titles(const std::function<int(int column)>& widest) {
  const QFontMetrics metrics = horizontalHeader()->fontMetrics();
  for (int run = 0; run < static_cast<int>(titles_.size()); ++run) {
    const Title& title = titles_[static_cast<std::size_t>(run)];
    horizontalHeaderItem(run + 1)->setText(
        metrics.elidedText(title.name, Qt::ElideMiddle, widest(run + 1)) + "\n" + title.started);
  }
}

// Fits columns to their content. If they need more width than the table has, the widest columns are
// narrowed and their texts elided.
void ComparisonTable::fit() {
  if (columnCount() == 0) return;
  set_titles([](int) { return QWIDGETSIZE_MAX; });
  resizeColumnsToContents();
  std::vector<int> natural;
  for (int column = 0; column < columnCount(); ++column) natural.push_back(columnWidth(column));
  const auto fits = [&](int most) {
    int width = 0;
    for (const int one : natural) width += std::min(one, most);
    return width <= viewport()->width();
  };
  const int least = fontMetrics().averageCharWidth() * kCharacters;
  int most = *std::ranges::max_element(natural);
  while (most > least && !fits(most)) --most;
  for (int column = 0; column < columnCount(); ++column)
    setColumnWidth(column, std::min(columnWidth(column), most));
  const int margins = 4 * style()->pixelMetric(QStyle::PM_HeaderMargin, nullptr, this);
  set_titles([&](int column) { return columnWidth(column) - margins; });
  resizeRowsToContents();
}

void ComparisonTable::resizeEvent(QResizeEvent* event) {
  QTableWidget::resizeEvent(event);
  fit();
}

}  // namespace trainyard::ui
