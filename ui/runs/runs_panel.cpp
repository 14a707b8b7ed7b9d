// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/runs/runs_panel.h"

#include <QApplication>
#include <QFile>
#include <QLabel>
#include <QMessageBox>
#include <QPointer>
#include <QSplitter>
#include <QThreadPool>
#include <QVBoxLayout>
#include <algorithm>
#include <utility>

#include "ui/runs/comparison_table.h"
#include "ui/runs/run_list.h"
#include "ui/theme/theme.h"

namespace trainyard::ui {

RunsPanel::RunsPanel(const QString& runs_directory, QWidget* parent)
    : QWidget(parent), runs_directory_(runs_directory) {
  build();
  delay_timer_.setSingleShot(true);
  delay_timer_.setInterval(200);
  poll_timer_.setInterval(5000);
  connect(&delay_timer_, &QTimer::timeout, this, &RunsPanel::refresh);
  connect(&poll_timer_, &QTimer::timeout, this, &RunsPanel::refresh);
  connect(&watcher_, &QFileSystemWatcher::directoryChanged, this, [this] { delay_timer_.start(); });
  connect(&Theme::instance(), &Theme::changed, this, &RunsPanel::show_entries);
  poll_timer_.start();
  refresh();
}

void RunsPanel::build() {
  auto* column = new QVBoxLayout(this);
  column->setContentsMargins(0, 0, 0, 0);
  auto* splitter = new QSplitter(Qt::Vertical, this);
  column->addWidget(splitter);
  empty_ = new QLabel(tr("No runs yet. Press Run: every run is kept here and can be reopened with "
                         "the same charts."),
                      this);
  empty_->setWordWrap(true);
  empty_->setAlignment(Qt::AlignCenter);
  empty_->setContentsMargins(2 * kGrid, 2 * kGrid, 2 * kGrid, 2 * kGrid);
  column->insertWidget(0, empty_);
  list_ = new RunList(splitter);
  setFocusProxy(list_);
  table_ = new ComparisonTable(splitter);
  connect(list_, &RunList::open_requested, this, &RunsPanel::open_requested);
  connect(list_, &RunList::tick_requested, this, &RunsPanel::set_ticked);
  connect(list_, &RunList::rename_requested, this, &RunsPanel::rename);
  connect(list_, &RunList::delete_requested, this, &RunsPanel::ask_delete);
  compare();
}

// Reads the runs on a pool thread. If this is called while runs are being read, they are read once
// more afterwards.
void RunsPanel::refresh() {
  again_ = reading_;
  if (reading_) return;
  reading_ = true;
  if (watcher_.directories().isEmpty() && QFile::exists(runs_directory_))
    watcher_.addPath(runs_directory_);
  QThreadPool::globalInstance()->start(
      [panel = QPointer<RunsPanel>(this), runs = runs_directory_, current = current_] {
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

void RunsPanel::show_entries() {
  if (list_->is_editing()) return;
  list_->show_runs(entries_, ticked_);
  empty_->setVisible(entries_.empty());
  untick_deleted();
  compare();
}

// Unticks runs that were deleted. The current run stays ticked even if it is not in the list: a new
// run may not have been read yet.
void RunsPanel::untick_deleted() {
  QStringList present = ticked_;
  present.removeIf([this](const QString& directory) {
    return directory != current_ && find(directory) == nullptr;
  });
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
  auto_ticked_ = along || (auto_ticked_ && directory != current_);
  set_ticks(wanted);
}

void RunsPanel::set_ticks(const QStringList& directories) {
  if (directories == ticked_) return;
  ticked_ = directories;
  show_entries();
  emit ticked_changed(ticked_);
}

// Puts the new current run at the position of the previous one in the list of ticked runs, so that
// other runs keep their colors.
void RunsPanel::set_current(const QString& directory) {
  const QString before = std::exchange(current_, directory);
  refresh();
  if (directory == before) return;
  QStringList wanted = ticked_;
  const qsizetype place = auto_ticked_ ? wanted.indexOf(before) : wanted.size();
  if (auto_ticked_) wanted.removeAll(before);
  auto_ticked_ = !wanted.isEmpty() && !wanted.contains(directory);
  if (auto_ticked_) wanted.insert(place, directory);
  set_ticks(wanted);
}

void RunsPanel::set_live(const QStringList& directories) {
  if (live_ == directories) return;
  live_ = directories;
  list_->set_live(live_);
  refresh();
}

void RunsPanel::rename(const QString& directory, const QString& label) {
  const auto saved = set_run_label(directory, label);
  if (!saved)
    QMessageBox::warning(this, tr("Rename run"),
                         QString::fromStdString(base::to_string(saved.error())));
  delay_timer_.start();
}

void RunsPanel::ask_delete(const QString& directory) {
  const RunEntry* entry = find(directory);
  if (!entry || live_.contains(directory)) return;
  const auto answer =
      QMessageBox::question(this, tr("Move run to trash"),
                            tr("Move “%1” of %2 to the trash?").arg(entry->name, entry->started),
                            QMessageBox::Yes | QMessageBox::Cancel, QMessageBox::Cancel);
  if (answer != QMessageBox::Yes) return;
  if (!QFile::moveToTrash(directory))
    QMessageBox::warning(
        this, tr("Move run to trash"),
        tr("%1 could not be moved to the trash. Check that its folder is writable.")
            .arg(directory));
  delay_timer_.start();
}

void RunsPanel::compare() {
  std::vector<RunEntry> runs;
  for (const QString& directory : ticked_)
    if (const RunEntry* entry = find(directory)) runs.push_back(*entry);
  table_->show_runs(runs);
}

}  // namespace trainyard::ui
