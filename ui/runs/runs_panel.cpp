// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/runs/runs_panel.h"

#include <QApplication>
#include <QEvent>
#include <QFile>
#include <QHeaderView>
#include <QLabel>
#include <QLineEdit>
#include <QMenu>
#include <QMessageBox>
#include <QPointer>
#include <QSplitter>
#include <QThreadPool>
#include <QTreeWidget>
#include <QVBoxLayout>
#include <algorithm>
#include <utility>

#include "ui/runs/comparison_table.h"
#include "ui/theme/theme.h"

namespace trainyard::ui {
namespace {

enum Column { kName, kStarted, kStrategy, kRanks, kAccuracy, kState };
constexpr int kDirectory = Qt::UserRole;
constexpr int kNameCharacters = 12;  // that are seen in any case

}  // namespace

RunsPanel::RunsPanel(const QString& runs_directory, QWidget* parent) : QWidget(parent), runs_directory_(runs_directory) {
  build();
  soon_.setSingleShot(true);
  soon_.setInterval(200);
  now_and_then_.setInterval(5000);
  connect(&soon_, &QTimer::timeout, this, &RunsPanel::refresh);
  connect(&now_and_then_, &QTimer::timeout, this, &RunsPanel::refresh);
  connect(&watcher_, &QFileSystemWatcher::directoryChanged, this, [this] { soon_.start(); });
  connect(&Theme::instance(), &Theme::changed, this, &RunsPanel::show_entries);
  now_and_then_.start();
  refresh();
}

void RunsPanel::build() {
  auto* column = new QVBoxLayout(this);
  column->setContentsMargins(0, 0, 0, 0);
  auto* splitter = new QSplitter(Qt::Vertical, this);
  column->addWidget(splitter);
  empty_ = new QLabel(tr("No runs yet. Press Run: every run is kept here, and opens again with the same charts."), this);
  empty_->setWordWrap(true);
  empty_->setAlignment(Qt::AlignCenter);
  empty_->setContentsMargins(2 * kGrid, 2 * kGrid, 2 * kGrid, 2 * kGrid);
  column->insertWidget(0, empty_);
  build_list(splitter);
  table_ = new ComparisonTable(splitter);
  connect(list_, &QTreeWidget::itemChanged, this, &RunsPanel::item_changed);
  connect(list_, &QTreeWidget::itemDoubleClicked, this, [this](QTreeWidgetItem* item) { emit open_requested(item->data(kName, kDirectory).toString()); });
  connect(list_, &QTreeWidget::customContextMenuRequested, this, &RunsPanel::show_menu);
  compare();
}

// The name has what the columns leave that stand beside it; its middle goes first, for names begin alike and end differently.
void RunsPanel::build_list(QWidget* parent) {
  list_ = new QTreeWidget(parent);
  list_->setRootIsDecorated(false);
  list_->setUniformRowHeights(true);
  list_->setHeaderLabels({tr("Run"), tr("Started"), tr("Strategy"), tr("Ranks"), tr("Accuracy"), tr("State")});
  list_->headerItem()->setToolTip(kAccuracy, tr("On samples that are not trained on, at the end of the run"));
  list_->setAccessibleName(tr("Runs"));
  list_->setToolTip(tr("Tick runs to lay them over each other on the charts; double click opens one"));
  list_->setTextElideMode(Qt::ElideMiddle);
  list_->setContextMenuPolicy(Qt::CustomContextMenu);
  list_->setEditTriggers(QAbstractItemView::EditKeyPressed);
  list_->header()->setStretchLastSection(false);
  list_->header()->setSectionResizeMode(QHeaderView::ResizeToContents);
  list_->header()->setSectionResizeMode(kName, QHeaderView::Stretch);
  list_->viewport()->installEventFilter(this);
}

bool RunsPanel::eventFilter(QObject* watched, QEvent* event) {
  if (event->type() == QEvent::Resize) fit_columns();
  return QWidget::eventFilter(watched, event);
}

// What came of a run stands before how it was made: a column that would leave no name is not shown, and neither are those that matter less.
void RunsPanel::fit_columns() {
  QHeaderView& header = *list_->header();
  int left = list_->viewport()->width() - list_->fontMetrics().averageCharWidth() * kNameCharacters;
  for (const int column : {kState, kAccuracy, kStarted, kRanks, kStrategy}) {
    header.setSectionHidden(column, false);  // which has no width
    left -= std::max(header.sectionSizeHint(column), static_cast<const QAbstractItemView&>(*list_).sizeHintForColumn(column));
    header.setSectionHidden(column, left < 0);
  }
}

// One reading at a time; what changes meanwhile is read right after.
void RunsPanel::refresh() {
  again_ = reading_;
  if (reading_) return;
  reading_ = true;
  if (watcher_.directories().isEmpty() && QFile::exists(runs_directory_)) watcher_.addPath(runs_directory_);
  QThreadPool::globalInstance()->start([panel = QPointer<RunsPanel>(this), runs = runs_directory_, current = current_] {
    auto entries = std::make_shared<std::vector<RunEntry>>();
    QStringList directories = run_directories(runs);
    if (QFile::exists(current) && !directories.contains(current)) directories << current;
    for (const QString& directory : directories) entries->push_back(read_run(directory));
    QMetaObject::invokeMethod(qApp, [panel, entries] {
      if (!panel) return;
      panel->reading_ = false;
      panel->entries_ = std::move(*entries);
      panel->show_entries();
      emit panel->refreshed();
      if (panel->again_) panel->refresh();
    });
  });
}

const RunEntry* RunsPanel::find(const QString& directory) const {
  const auto at = std::ranges::find(entries_, directory, &RunEntry::directory);
  return at == entries_.end() ? nullptr : &*at;
}

QTreeWidgetItem* RunsPanel::item_of(const QString& directory) const {
  for (int row = 0; row < list_->topLevelItemCount(); ++row)
    if (QTreeWidgetItem* item = list_->topLevelItem(row); item->data(kName, kDirectory).toString() == directory) return item;
  return nullptr;
}

void RunsPanel::fill(QTreeWidgetItem& item, const RunEntry& entry) const {
  const int colour = static_cast<int>(ticked_.indexOf(entry.directory));
  item.setText(kName, entry.name);
  item.setText(kStarted, entry.started);
  item.setText(kStrategy, entry.strategy);
  item.setText(kRanks, entry.ranks > 0 ? QString::number(entry.ranks) : "–");
  item.setText(kAccuracy, entry.accuracy ? QString::number(*entry.accuracy * 100, 'f', 2) + " %" : "–");
  item.setText(kState, live_.contains(entry.directory) ? tr("running") : entry.state);
  item.setTextAlignment(kRanks, Qt::AlignRight | Qt::AlignVCenter);
  item.setTextAlignment(kAccuracy, Qt::AlignRight | Qt::AlignVCenter);
  item.setData(kName, kDirectory, entry.directory);
  for (int column = 0; column < item.columnCount(); ++column) item.setToolTip(column, item.text(column));
  item.setToolTip(kName, entry.name + "\n" + entry.directory);
  item.setFlags(item.flags() | Qt::ItemIsUserCheckable | Qt::ItemIsEditable);
  item.setCheckState(kName, colour >= 0 ? Qt::Checked : Qt::Unchecked);
  item.setForeground(kName, colour >= 0 ? QBrush(Theme::instance().series_colour(colour)) : QBrush());
}

void RunsPanel::show_entries() {
  if (list_->viewport()->findChild<QLineEdit*>()) return;  // a label is being typed
  const QSignalBlocker quiet(list_);
  const QString current = list_->currentItem() ? list_->currentItem()->data(kName, kDirectory).toString() : QString();
  list_->clear();
  for (const RunEntry& entry : entries_) {
    auto* item = new QTreeWidgetItem(list_);
    fill(*item, entry);
    if (entry.directory == current) list_->setCurrentItem(item);
  }
  fit_columns();
  empty_->setVisible(entries_.empty());
  forget_gone();
  compare();
}

// One that has just begun may not have been read yet.
void RunsPanel::forget_gone() {
  QStringList present = ticked_;
  present.removeIf([this](const QString& directory) { return directory != current_ && find(directory) == nullptr; });
  if (present == ticked_) return;
  ticked_ = present;
  emit ticked_changed(ticked_);
}

QStringList RunsPanel::ticked() const { return ticked_; }

void RunsPanel::set_ticked(const QString& directory, bool ticked) {
  if (ticked == ticked_.contains(directory)) return;
  QStringList wanted = ticked_;
  const bool along = ticked && wanted.isEmpty() && !current_.isEmpty() && directory != current_;
  if (along) wanted << current_;
  if (ticked) wanted << directory;
  else wanted.removeAll(directory);
  ticked_along_ = along || (ticked_along_ && directory != current_);
  set_ticks(wanted);
}

void RunsPanel::set_ticks(const QStringList& directories) {
  if (directories == ticked_) return;
  ticked_ = directories;
  show_entries();
  emit ticked_changed(ticked_);
}

// In the place of the one before it: the others keep their colours.
void RunsPanel::set_current(const QString& directory) {
  const QString before = std::exchange(current_, directory);
  refresh();
  if (directory == before) return;
  QStringList wanted = ticked_;
  const qsizetype place = ticked_along_ ? wanted.indexOf(before) : wanted.size();
  if (ticked_along_) wanted.removeAll(before);
  ticked_along_ = !wanted.isEmpty() && !wanted.contains(directory);
  if (ticked_along_) wanted.insert(place, directory);
  set_ticks(wanted);
}

void RunsPanel::set_live(const QStringList& directories) {
  if (live_ == directories) return;
  live_ = directories;
  refresh();
}

void RunsPanel::item_changed(QTreeWidgetItem* item, int column) {
  if (column != kName) return;
  const QString directory = item->data(kName, kDirectory).toString();
  const RunEntry* entry = find(directory);
  if (entry && item->text(kName) != entry->name) return rename(directory, item->text(kName));
  // Not from within the view's own signal: the list is built anew.
  QMetaObject::invokeMethod(
      this, [this, directory, on = item->checkState(kName) == Qt::Checked] { set_ticked(directory, on); }, Qt::QueuedConnection);
}

void RunsPanel::rename(const QString& directory, const QString& label) {
  const auto saved = set_run_label(directory, label);
  if (!saved) QMessageBox::warning(this, tr("Rename run"), QString::fromStdString(base::to_string(saved.error())));
  soon_.start();
}

// While the menu stands the list may be built anew: what it offers is about a run, and never about a line.
void RunsPanel::show_menu(const QPoint& at) {
  const QTreeWidgetItem* item = list_->itemAt(at);
  if (!item) return;
  const QString directory = item->data(kName, kDirectory).toString();
  QMenu menu(this);
  menu.addAction(tr("Open"), this, [this, directory] { emit open_requested(directory); });
  menu.addAction(tr("Rename"), this, [this, directory] { edit_name(directory); });
  QAction* remove = menu.addAction(tr("Move to trash…"), this, [this, directory] { ask_delete(directory); });
  remove->setEnabled(!live_.contains(directory));
  menu.exec(list_->viewport()->mapToGlobal(at));
}

void RunsPanel::edit_name(const QString& directory) {
  if (QTreeWidgetItem* item = item_of(directory)) list_->editItem(item, kName);
}

void RunsPanel::ask_delete(const QString& directory) {
  const RunEntry* entry = find(directory);
  if (!entry || live_.contains(directory)) return;
  const auto answer = QMessageBox::question(this, tr("Move run to trash"), tr("Move “%1” of %2 to the trash?").arg(entry->name, entry->started),
                                            QMessageBox::Yes | QMessageBox::Cancel, QMessageBox::Cancel);
  if (answer != QMessageBox::Yes) return;
  if (!QFile::moveToTrash(directory))
    QMessageBox::warning(this, tr("Move run to trash"), tr("%1 could not be moved to the trash. Check that its folder can be written.").arg(directory));
  soon_.start();
}

void RunsPanel::compare() {
  std::vector<RunEntry> runs;
  for (const QString& directory : ticked_)
    if (const RunEntry* entry = find(directory)) runs.push_back(*entry);
  table_->show_runs(runs);
}

}  // namespace trainyard::ui
