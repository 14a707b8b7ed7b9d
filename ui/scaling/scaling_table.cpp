// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/scaling/scaling_table.h"

#include <QDir>
#include <QHeaderView>

#include "core/session/sweep/sweep_text.h"
#include "ui/model/topology/topology_text.h"
#include "ui/theme/theme.h"

namespace trainyard::ui {
namespace {

using session::SweepColumn;

}  // namespace

ScalingTable::ScalingTable(QWidget* parent) : QTreeWidget(parent) {
  setRootIsDecorated(false);
  setUniformRowHeights(true);
  setAllColumnsShowFocus(true);
  setAccessibleName(tr("Runs of the sweep"));
  setToolTip(tr("Press Enter or double-click to open a run in the workbench"));
  setColumnCount(session::kSweepColumns);
  for (int column = 0; column < session::kSweepColumns; ++column) {
    headerItem()->setText(column, as_text(session::heading(static_cast<SweepColumn>(column))));
    headerItem()->setToolTip(column,
                             as_text(session::explanation(static_cast<SweepColumn>(column))));
  }
  header()->setStretchLastSection(true);
  header()->setSectionResizeMode(QHeaderView::ResizeToContents);
  // Moves the column of states next to the column of algorithms, so that failures are visible
  // without scrolling.
  header()->moveSection(static_cast<int>(SweepColumn::state),
                        static_cast<int>(SweepColumn::algorithm) + 1);
  connect(this, &QTreeWidget::itemActivated, this, [this](const QTreeWidgetItem* item) {
    if (const QString run = item->data(0, Qt::UserRole).toString(); !run.isEmpty())
      emit open_requested(run);
  });
}

void ScalingTable::show_sweep(const session::Sweep* sweep, const QString& directory) {
  const std::size_t rows = sweep ? sweep->variants.size() : 0;
  while (topLevelItemCount() > static_cast<int>(rows))
    delete takeTopLevelItem(topLevelItemCount() - 1);
  while (topLevelItemCount() < static_cast<int>(rows)) new QTreeWidgetItem(this);
  if (!sweep) return;
  const auto figures = session::scaled(*sweep);
  for (std::size_t i = 0; i < rows; ++i)
    fill(*topLevelItem(static_cast<int>(i)), sweep->variants[i], figures[i], directory);
}

void ScalingTable::fill(QTreeWidgetItem& item, const session::SweepVariant& variant,
                        const std::optional<session::Scaled>& figures,
                        const QString& directory) const {
  const auto cells = session::row(variant, figures);
  for (int column = 0; column < session::kSweepColumns; ++column) {
    const QString cell = as_text(cells[static_cast<std::size_t>(column)]);
    const bool words = column == static_cast<int>(SweepColumn::algorithm) ||
                       column == static_cast<int>(SweepColumn::state);
    item.setText(column, cell);
    item.setToolTip(column, cell);
    item.setTextAlignment(column, (words ? Qt::AlignLeft : Qt::AlignRight) | Qt::AlignVCenter);
  }
  const Colors& colors = Theme::instance().colors();
  const bool bad = variant.state == session::VariantState::failed, dim = !figures && !bad;
  for (int column = 0; column < session::kSweepColumns; ++column)
    item.setForeground(column, bad ? colors.error : dim ? colors.dim : colors.text);
  item.setData(
      0, Qt::UserRole,
      variant.directory.empty() ? QString() : QDir(directory).filePath(as_text(variant.directory)));
}

}  // namespace trainyard::ui
