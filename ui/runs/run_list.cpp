// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/runs/run_list.h"

#include <QEvent>
#include <QHeaderView>
#include <QLineEdit>
#include <QMenu>
#include <algorithm>

#include "ui/theme/theme.h"

namespace trainyard::ui {
namespace {

enum Column { kName, kStarted, kStrategy, kRanks, kAccuracy, kState };
constexpr int kDirectory = Qt::UserRole, kGivenName = Qt::UserRole + 1;
constexpr int kNameCharacters = 12;  // minimum number of visible characters of a name

QString directory_of(const QTreeWidgetItem& item) {
  return item.data(kName, kDirectory).toString();
}

}  // namespace

RunList::RunList(QWidget* parent) : QTreeWidget(parent) {
  setRootIsDecorated(false);
  setUniformRowHeights(true);
  setAccessibleName(tr("Runs"));
  setToolTip(tr("Check runs to overlay them on the charts; double-click a run to open it"));
  setTextElideMode(Qt::ElideMiddle);
  setContextMenuPolicy(Qt::CustomContextMenu);
  setEditTriggers(QAbstractItemView::EditKeyPressed);
  build_header();
  connect(this, &QTreeWidget::itemChanged, this, &RunList::item_changed);
  connect(this, &QTreeWidget::itemDoubleClicked, this,
          [this](const QTreeWidgetItem* item) { emit open_requested(directory_of(*item)); });
  connect(this, &QTreeWidget::customContextMenuRequested, this, &RunList::show_menu);
}

// Configures the header. The column of names gets the width that the other columns leave. Names are
// elided in the middle, because they often differ only at their ends.
void RunList::build_header() {
  setHeaderLabels(
      {tr("Run"), tr("Started"), tr("Strategy"), tr("Ranks"), tr("Accuracy"), tr("State")});
  headerItem()->setToolTip(kAccuracy, tr("Accuracy on held-out samples at the end of the run"));
  header()->setStretchLastSection(false);
  header()->setSectionResizeMode(QHeaderView::ResizeToContents);
  header()->setSectionResizeMode(kName, QHeaderView::Stretch);
}

bool RunList::viewportEvent(QEvent* event) {
  if (event->type() == QEvent::Resize) fit_columns();
  return QTreeWidget::viewportEvent(event);
}

// Hides columns if the window is too narrow. Columns are shown in order of importance, results
// before settings. The first column that would leave too little room for the name is hidden, as are
// all less important columns.
void RunList::fit_columns() {
  int left = viewport()->width() - fontMetrics().averageCharWidth() * kNameCharacters;
  for (const int column : {kState, kAccuracy, kStarted, kRanks, kStrategy}) {
    // Shows the column first, because a hidden column has no width.
    header()->setSectionHidden(column, false);
    left -= std::max(header()->sectionSizeHint(column), sizeHintForColumn(column));
    header()->setSectionHidden(column, left < 0);
  }
}

bool RunList::is_editing() const { return viewport()->findChild<QLineEdit*>() != nullptr; }

void RunList::set_live(const QStringList& directories) { live_ = directories; }

void RunList::show_runs(const std::vector<RunEntry>& runs, const QStringList& ticked) {
  const QSignalBlocker quiet(this);
  const QString current = currentItem() ? directory_of(*currentItem()) : QString();
  clear();
  for (const RunEntry& run : runs) {
    auto* item = new QTreeWidgetItem(this);
    fill(*item, run, ticked);
    if (run.directory == current) setCurrentItem(item);
  }
  fit_columns();
}

void RunList::fill(QTreeWidgetItem& item, const RunEntry& run, const QStringList& ticked) const {
  const int color = static_cast<int>(ticked.indexOf(run.directory));
  item.setText(kName, run.name);
  item.setText(kStarted, run.started);
  item.setText(kStrategy, run.strategy);
  item.setText(kRanks, run.ranks > 0 ? QString::number(run.ranks) : "–");
  item.setText(kAccuracy, run.accuracy ? QString::number(*run.accuracy * 100, 'f', 2) + " %" : "–");
  item.setText(kState, live_.contains(run.directory)             ? tr("running")
                       : run.state == QLatin1String("cancelled") ? tr("canceled")
                                                                 : run.state);
  item.setTextAlignment(kRanks, Qt::AlignRight | Qt::AlignVCenter);
  item.setTextAlignment(kAccuracy, Qt::AlignRight | Qt::AlignVCenter);
  item.setData(kName, kDirectory, run.directory);
  item.setData(kName, kGivenName, run.name);
  for (int column = 0; column < item.columnCount(); ++column)
    item.setToolTip(column, item.text(column));
  item.setToolTip(kName, run.name + "\n" + run.directory);
  item.setFlags(item.flags() | Qt::ItemIsUserCheckable | Qt::ItemIsEditable);
  item.setCheckState(kName, color >= 0 ? Qt::Checked : Qt::Unchecked);
  item.setForeground(kName, color >= 0 ? QBrush(Theme::instance().series_color(color)) : QBrush());
}

void RunList::item_changed(QTreeWidgetItem* item, int column) {
  if (column != kName) return;
  const QString directory = directory_of(*item);
  if (const QString name = item->text(kName); name != item->data(kName, kGivenName).toString()) {
    emit rename_requested(directory, name);
    return;
  }
  // The request is queued, because it rebuilds the list. The list must not be rebuilt inside a
  // signal of the view.
  QMetaObject::invokeMethod(
      this,
      [this, directory, on = item->checkState(kName) == Qt::Checked] {
        emit tick_requested(directory, on);
      },
      Qt::QueuedConnection);
}

// Shows the menu of a run. The menu remembers the run's directory, not its row, because the list
// may be rebuilt while the menu is open.
void RunList::show_menu(const QPoint& at) {
  const QTreeWidgetItem* item = itemAt(at);
  if (!item) return;
  const QString directory = directory_of(*item);
  QMenu menu(this);
  menu.addAction(tr("Open"), this, [this, directory] { emit open_requested(directory); });
  menu.addAction(tr("Rename"), this, [this, directory] { edit_name(directory); });
  QAction* remove = menu.addAction(tr("Move to trash…"), this,
                                   [this, directory] { emit delete_requested(directory); });
  remove->setEnabled(!live_.contains(directory));
  menu.exec(viewport()->mapToGlobal(at));
}

void RunList::edit_name(const QString& directory) {
  for (int row = 0; row < topLevelItemCount(); ++row)
    if (directory_of(*topLevelItem(row)) == directory) return editItem(topLevelItem(row), kName);
}

}  // namespace trainyard::ui
