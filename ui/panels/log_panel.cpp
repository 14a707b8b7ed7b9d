// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/panels/log_panel.h"

#include <QCheckBox>
#include <QClipboard>
#include <QComboBox>
#include <QGuiApplication>
#include <QHeaderView>
#include <QKeyEvent>
#include <QLineEdit>
#include <QScrollBar>
#include <QTableView>
#include <QToolButton>
#include <QVBoxLayout>
#include <algorithm>

#include "ui/model/runs/run_directory.h"
#include "ui/model/text/count_text.h"
#include "ui/theme/icons.h"
#include "ui/theme/theme.h"
#include "ui/theme/tinted_label.h"

namespace trainyard::ui {
namespace {

constexpr int kInfo = 1;
// Maximum number of lines, and of characters, that are shown of the output of a rank's process.
constexpr int kPrintedLines = 12, kPrintedCharacters = 500;

}  // namespace

LogPanel::LogPanel(QWidget* parent) : QWidget(parent) {
  auto* column = new QVBoxLayout(this);
  column->setContentsMargins(0, 0, 0, 0);
  column->setSpacing(0);
  build_bar();
  build_table();
  note_ = paragraph(TextColor::dim, this);
  note_->setContentsMargins(2 * kGrid, kGrid, 2 * kGrid, kGrid);
  column->addWidget(note_);
  column->addWidget(table_, 1);
  column->addStretch();
  set_run(nullptr);
}

void LogPanel::build_bar() {
  auto* bar = new QWidget(this);
  auto* row = new QHBoxLayout(bar);
  row->setContentsMargins(kGrid, kGrid / 2, kGrid, kGrid / 2);
  rank_ = new QComboBox(bar);
  rank_->setAccessibleName(tr("Source filter"));
  level_ = new QComboBox(bar);
  level_->setAccessibleName(tr("Minimum level"));
  for (const QString& level : kLogLevels)
    level_->addItem(level == kLogLevels.last() ? tr("error only") : tr("%1 and above").arg(level));
  level_->setCurrentIndex(kInfo);
  find_ = new QLineEdit(bar);
  find_->setPlaceholderText(tr("Filter by text"));
  find_->setAccessibleName(tr("Filter by text"));
  find_->setClearButtonEnabled(true);
  follow_ = new QCheckBox(tr("Follow"), bar);
  follow_->setToolTip(tr("Scroll to the newest line"));
  follow_->setChecked(true);
  auto* copy_button = new QToolButton(bar);
  copy_button->setIcon(icon("copy"));
  copy_button->setToolTip(
      tr("Copy the selected lines, or all shown lines if none is selected; a large selection is "
         "cut to the newest lines"));
  copy_button->setAccessibleName(tr("Copy"));
  for (QWidget* widget : {static_cast<QWidget*>(rank_), static_cast<QWidget*>(level_)})
    row->addWidget(widget);
  row->addWidget(find_, 1);
  row->addWidget(follow_);
  row->addWidget(copy_button);
  layout()->addWidget(bar);
  connect(rank_, &QComboBox::currentIndexChanged, this, &LogPanel::filter);
  connect(level_, &QComboBox::currentIndexChanged, this, &LogPanel::filter);
  connect(find_, &QLineEdit::textChanged, this, &LogPanel::filter);
  connect(follow_, &QCheckBox::toggled, this, &LogPanel::follow);
  connect(copy_button, &QToolButton::clicked, this, &LogPanel::copy);
}

void LogPanel::build_table() {
  table_ = new QTableView(this);
  setFocusProxy(table_);
  table_->setModel(&model_);
  table_->setAccessibleName(tr("Log"));
  table_->setFrameShape(QFrame::NoFrame);
  table_->setShowGrid(false);
  table_->setSelectionBehavior(QAbstractItemView::SelectRows);
  table_->setWordWrap(false);
  table_->verticalHeader()->hide();
  table_->horizontalHeader()->setStretchLastSection(true);
  table_->horizontalHeader()->setDefaultAlignment(Qt::AlignLeft | Qt::AlignVCenter);
  const auto fit = [this] {
    // The table gets the theme's font later.
    const QFontMetrics metrics(Theme::instance().font(1));
    table_->verticalHeader()->setMinimumSectionSize(metrics.lineSpacing() + kGrid / 2);
    table_->verticalHeader()->setDefaultSectionSize(metrics.lineSpacing() + kGrid / 2);
    for (const auto& [section, characters] : {std::pair{LogModel::time_column, 10},
                                              {LogModel::rank_column, 13},
                                              {LogModel::level_column, 9}})
      table_->setColumnWidth(section, metrics.horizontalAdvance('0') * characters);
  };
  fit();
  connect(&Theme::instance(), &Theme::changed, this, fit);
  const auto show_if_hidden = [this] {
    if (table_->isHidden()) show_note();
  };
  connect(&model_, &LogModel::filtering_finished, this, show_if_hidden);
  connect(&model_, &QAbstractItemModel::rowsInserted, this, show_if_hidden);
  connect(&model_, &QAbstractItemModel::rowsInserted, this, &LogPanel::follow);
  // Scrolling up stops following; scrolling to the end resumes it.
  connect(table_->verticalScrollBar(), &QScrollBar::actionTriggered, this, [this] {
    const QScrollBar& bar = *table_->verticalScrollBar();
    const QSignalBlocker quiet(follow_);
    follow_->setChecked(bar.sliderPosition() >= bar.maximum());
  });
}

void LogPanel::set_run(Run* run) {
  if (run_) run_->disconnect(this);
  run_ = run;
  ranks_ = -1;
  model_.set_run(run);
  offer_ranks();
  if (!run) return;
  connect(run, &Run::updated, this, &LogPanel::offer_ranks);
  connect(run, &Run::ended, this, &LogPanel::show_note);
  connect(run, &QObject::destroyed, this, [this] { set_run(nullptr); });
}

void LogPanel::offer_ranks() {
  const int ranks = run_ ? run_->history().ranks() : 0;
  if (ranks != ranks_) {
    ranks_ = ranks;
    const QSignalBlocker quiet(rank_);
    const QVariant chosen = rank_->currentData();
    rank_->clear();
    rank_->addItem(tr("all sources"), LogFilter::kAllRanks);
    for (int rank = -1; rank < ranks; ++rank) rank_->addItem(source_name(rank), rank);
    rank_->setCurrentIndex(std::max(0, rank_->findData(chosen)));
    filter();
  } else if (table_->isHidden() != (model_.rowCount() == 0)) {
    show_note();
  }
}

void LogPanel::show_lines_of(std::optional<int> rank) {
  find_->clear();
  level_->setCurrentIndex(rank ? 0 : kInfo);
  rank_->setCurrentIndex(std::max(0, rank_->findData(rank.value_or(LogFilter::kAllRanks))));
  filter();
}

void LogPanel::filter() {
  model_.set_filter({rank_->currentData().toInt(), level_->currentIndex(), find_->text()});
  show_note();
  follow();
}

QString LogPanel::note() const { return note_->isHidden() ? QString() : note_->text(); }

void LogPanel::show_note() {
  const int rank = rank_->currentData().toInt();
  QStringList notes;
  const bool filtered = level_->currentIndex() > 0 || !find_->text().isEmpty(),
             none = model_.rowCount() == 0;
  if (model_.lines() == 0)
    notes << tr(
        "No log lines yet. Messages of the coordinator and the ranks appear here during a run.");
  else if (none && model_.is_filtering())
    notes << tr("Searching %n line(s) ...", nullptr, plural(static_cast<qint64>(model_.lines())));
  else if (none && filtered) notes << tr("No line matches the filter.");
  else if (none) notes << tr("Nothing was logged by %1.").arg(source_name(rank));
  if (rank != LogFilter::kAllRanks && run_) notes << printed(rank);
  notes.removeAll(QString());
  note_->setText(notes.join("\n"));
  note_->setVisible(!notes.isEmpty());
  table_->setVisible(!none);
}

// Returns the end of a process's output other than log lines, such as its last message before a
// crash.
QString LogPanel::printed(int rank) const {
  const auto tail = printed_tail(run_->directory().toStdString(), rank, kPrintedLines);
  if (!tail) return {};
  if (tail->empty()) return tr("The process printed nothing.");
  QStringList lines = QString::fromStdString(*tail).split('\n');
  for (QString& line : lines)
    if (line.size() > kPrintedCharacters) line = line.left(kPrintedCharacters) + "…";
  return tr("Output of the process:\n%1").arg(lines.join('\n'));
}

void LogPanel::follow() {
  if (follow_->isChecked()) table_->scrollToBottom();
}

// Returns the selected rows in order. If more rows are selected than can be copied at once, returns
// the last ones: one row more than the limit, so that the caller can tell.
QList<int> LogPanel::chosen_rows() const {
  const auto add = [](QList<int>& rows, int first, int last) {
    for (int row = std::max(first, last - kMaxCopied); row <= last; ++row) rows << row;
  };
  QList<int> rows;
  for (const QItemSelectionRange& range : table_->selectionModel()->selection())
    add(rows, range.top(), range.bottom());
  if (rows.isEmpty()) add(rows, 0, model_.rowCount() - 1);
  std::ranges::sort(rows);
  return rows;
}

QString LogPanel::text() const {
  const QList<int> rows = chosen_rows();
  QStringList newest;
  qsizetype characters = 0;
  for (auto row = rows.rbegin();
       row != rows.rend() && newest.size() < kMaxCopied && characters < kMaxCopiedCharacters;
       ++row) {
    newest << copied(*row);
    characters += newest.last().size();
  }
  if (newest.size() < rows.size())
    newest << tr("(only the newest %n line(s))", nullptr, plural(newest.size()));
  std::ranges::reverse(newest);
  return newest.join("\n");
}

QString LogPanel::copied(int row) const {
  QStringList cells;
  for (const int column : {LogModel::time_column, LogModel::rank_column, LogModel::level_column})
    cells << model_.index(row, column).data().toString();
  // copies the full text, even if the table shows only its beginning
  return (cells << QString::fromStdString(model_.line(row).text)).join("\t");
}

void LogPanel::copy() const { QGuiApplication::clipboard()->setText(text()); }

void LogPanel::keyPressEvent(QKeyEvent* event) {
  if (event->matches(QKeySequence::Copy)) return copy();
  QWidget::keyPressEvent(event);
}

}  // namespace trainyard::ui
