// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/panels/plan_panel.h"

#include <QApplication>
#include <QComboBox>
#include <QLabel>
#include <QLineEdit>
#include <QPlainTextEdit>
#include <QPointer>
#include <QRegularExpression>
#include <QScrollBar>
#include <QShortcut>
#include <QTextBlock>
#include <QThreadPool>
#include <QVBoxLayout>
#include <utility>

#include "core/plan/text.h"
#include "core/strategy/strategy.h"
#include "ui/theme/theme.h"

namespace trainyard::ui {
namespace {

constexpr int kAskAfterMilliseconds = 250;

QComboBox* labeled(QWidget* bar, QLabel*& label, const QString& text) {
  label = new QLabel(text, bar);
  auto* combo = new QComboBox(bar);
  combo->setSizeAdjustPolicy(QComboBox::AdjustToContents);
  combo->setAccessibleName(QString(text).remove('&'));
  label->setBuddy(combo);
  bar->layout()->addWidget(label);
  bar->layout()->addWidget(combo);
  return combo;
}

void refill(QComboBox& combo, const QStringList& texts) {
  const QSignalBlocker quiet(&combo);
  const QString current = combo.currentText();
  combo.clear();
  combo.addItems(texts);
  combo.setCurrentIndex(std::max(0, combo.findText(current)));
}

bool part_of_token(QChar c) {
  return c.isLetterOrNumber() || c == '.' || c == '>' || c == '<' || c == '_';
}

}  // namespace

PlanPanel::PlanPanel(Document& document, QWidget* parent) : QWidget(parent), document_(document) {
  auto* column = new QVBoxLayout(this);
  column->setContentsMargins(0, 0, 0, 0);
  column->setSpacing(0);
  build_bar();
  build_view();
  delay_timer_.setSingleShot(true);
  delay_timer_.setInterval(kAskAfterMilliseconds);
  connect(&delay_timer_, &QTimer::timeout, this, &PlanPanel::ask);
  connect(&document, &Document::changed, this, &PlanPanel::document_changed);
  connect(&document, &Document::file_changed, this, &PlanPanel::document_changed);
}

void PlanPanel::document_changed() {
  shown_.reset();
  delay_timer_.start();
}

void PlanPanel::build_bar() {
  auto* bar = new QWidget(this);
  auto* row = new QHBoxLayout(bar);
  row->setContentsMargins(kGrid, kGrid / 2, kGrid, kGrid / 2);
  QLabel* unused = nullptr;
  form_ = labeled(bar, unused, tr("&Plan as"));
  form_->addItems({tr("grid: rank by time"), tr("text: one line per op")});
  detail_ = labeled(bar, unused, tr("&Detail"));
  detail_->addItems({tr("coarse"), tr("expanded to chunks")});
  detail_->setToolTip(
      tr("Coarse: an all-reduce is one op. Expanded: the sends and receives that ranks execute."));
  program_ = labeled(bar, program_label_, tr("P&rogram"));
  program_->setToolTip(
      tr("Each step runs one program. train: a training step; tail: the shorter last step of an "
         "epoch; evaluate: a pass over held-out samples"));
  rank_ = labeled(bar, rank_label_, tr("R&ank"));
  row->addStretch(1);
  find_ = new QLineEdit(bar);
  find_->setPlaceholderText(tr("Find (Enter, Shift+Enter)"));
  find_->setAccessibleName(tr("Find in the plan"));
  find_->setClearButtonEnabled(true);
  find_->setMaximumWidth(fontMetrics().averageCharWidth() * 32);
  row->addWidget(find_, 2);
  layout()->addWidget(bar);
  for (QComboBox* combo : {form_, detail_, program_, rank_})
    connect(combo, &QComboBox::currentIndexChanged, this, &PlanPanel::ask);
  connect(find_, &QLineEdit::returnPressed, this,
          [this] { find(QApplication::keyboardModifiers() & Qt::ShiftModifier); });
  auto* shortcut = new QShortcut(QKeySequence::Find, this);
  shortcut->setContext(Qt::WidgetWithChildrenShortcut);
  connect(shortcut, &QShortcut::activated, find_,
          [this] { find_->setFocus(), find_->selectAll(); });
}

void PlanPanel::build_view() {
  view_ = new QPlainTextEdit(this);
  view_->setReadOnly(true);
  view_->setTextInteractionFlags(Qt::TextSelectableByMouse | Qt::TextSelectableByKeyboard);
  view_->setLineWrapMode(QPlainTextEdit::NoWrap);
  view_->setFrameShape(QFrame::NoFrame);
  view_->setAccessibleName(tr("Plan"));
  layout()->addWidget(view_);
  setFocusProxy(view_);
  const auto fit = [this] {
    view_->setFont(Theme::instance().fixed_font());
    mark(marked_);
  };
  fit();
  connect(&Theme::instance(), &Theme::changed, this, fit);
  connect(view_, &QPlainTextEdit::cursorPositionChanged, this, &PlanPanel::mark_at_cursor);
}

void PlanPanel::set_grid(bool grid) { form_->setCurrentIndex(grid ? 0 : 1); }
void PlanPanel::set_expanded(bool expanded) { detail_->setCurrentIndex(expanded ? 1 : 0); }
void PlanPanel::set_rank(int rank) { rank_->setCurrentIndex(rank); }

void PlanPanel::show_op(int rank, const QString& program, const QString& token) {
  wanted_ = Wanted{rank, program, token};
  const QSignalBlocker quiet_form(form_), quiet_detail(detail_), quiet_rank(rank_);
  set_grid(false);
  const auto op = plan::parse_token(token.toStdString());
  set_expanded(!op || !plan::coarse(op->kind));
  set_rank(rank);
  if (shown_ == asked() && isVisible()) go_to_wanted();
  else ask();
}

void PlanPanel::showEvent(QShowEvent* event) {
  QWidget::showEvent(event);
  if (stale_) ask();
}

PlanPanel::Asked PlanPanel::asked() const {
  Asked asked{.grid = form_->currentIndex() == 0, .expanded = detail_->currentIndex() == 1};
  if (asked.grid) asked.program = program_->currentText().toStdString();
  else asked.rank = wanted_ ? wanted_->rank : std::max(0, rank_->currentIndex());
  return asked;
}

// Requests the plan if the panel is visible. A hidden panel requests none, because plans may be
// long.
void PlanPanel::ask() {
  stale_ = true;
  if (!isVisible()) return;
  stale_ = false;
  shown_.reset();
  const bool grid = form_->currentIndex() == 0;
  for (QWidget* widget : {static_cast<QWidget*>(rank_), static_cast<QWidget*>(rank_label_)})
    widget->setVisible(!grid);
  for (QWidget* widget : {static_cast<QWidget*>(program_), static_cast<QWidget*>(program_label_)})
    widget->setVisible(grid);
  QThreadPool::globalInstance()->start(
      [panel = QPointer<PlanPanel>(this), version = ++version_, experiment = document_.experiment(),
       directory = document_.directory().toStdString(), asked = asked()] {
        const Shown shown = make(experiment, directory, asked);
        QMetaObject::invokeMethod(qApp, [panel, version, shown] {
          if (panel) panel->show_plan(version, shown);
        });
      });
}

PlanPanel::Shown PlanPanel::make(const experiment::Experiment& experiment,
                                 const std::string& directory, const Asked& asked) {
  const auto plan = experiment::resolve(experiment, directory)
                        .and_then(asked.expanded ? strategy::make_plan : strategy::coarse_plan);
  if (!plan)
    return {asked,
            tr("No plan yet.\n\n%1").arg(QString::fromStdString(base::to_string(plan.error()))),
            0,
            {},
            true};
  Shown shown{.of = asked};
  shown.ranks = plan->ranks;
  const plan::RankPlan rank = plan->rank_plan(std::min(asked.rank, plan->ranks - 1));
  for (const plan::Program& program : rank.programs)
    shown.programs << QString::fromStdString(program.name);
  const std::string program = rank.program(asked.program) >= 0 ? asked.program : "train";
  shown.text =
      QString::fromStdString(asked.grid ? plan::grid(*plan, program) : plan::to_text(rank));
  return shown;
}

void PlanPanel::show_plan(int version, const Shown& shown) {
  if (version != version_) return;
  shown_ = shown.failed ? std::nullopt : std::optional(shown.of);
  if (!shown.failed) {
    QStringList ranks;
    for (int rank = 0; rank < shown.ranks; ++rank) ranks << QString::number(rank);
    refill(*rank_, ranks);
    refill(*program_, shown.programs);
  }
  if (shown.text != view_->toPlainText()) {
    const int x = view_->horizontalScrollBar()->value(), y = view_->verticalScrollBar()->value();
    view_->setPlainText(shown.text);
    view_->horizontalScrollBar()->setValue(x);
    view_->verticalScrollBar()->setValue(y);
    mark(marked_);
  }
  if (wanted_ && !shown.failed) go_to_wanted();
  emit settled();
}

// Selects the requested op. The search starts at the first line of the op's program, because ops of
// different programs may have equal names.
void PlanPanel::go_to_wanted() {
  const Wanted wanted = *std::exchange(wanted_, std::nullopt);
  const QSignalBlocker quiet(rank_);
  set_rank(wanted.rank);
  QTextBlock block = view_->document()->begin();
  while (block.isValid() && !block.text().startsWith("program " + wanted.program + " "))
    block = block.next();
  while (block.isValid() && !block.text().startsWith(wanted.token + " ")) block = block.next();
  mark(block.isValid() ? wanted.token : QString());
  if (!block.isValid()) return;
  QTextCursor line(block);
  line.movePosition(QTextCursor::EndOfBlock, QTextCursor::KeepAnchor);
  view_->setTextCursor(line);
  view_->centerCursor();
  view_->horizontalScrollBar()->setValue(0);
}

void PlanPanel::mark_at_cursor() {
  if (!view_->hasFocus() && !view_->viewport()->underMouse()) return;
  const QTextCursor cursor = view_->textCursor();
  const QString line = cursor.block().text();
  int begin = cursor.positionInBlock(), end = begin;
  while (begin > 0 && part_of_token(line[begin - 1])) --begin;
  while (end < line.size() && part_of_token(line[end])) ++end;
  const QString token = line.mid(begin, end - begin);
  mark(plan::parse_token(token.toStdString()) ? token : QString());
}

void PlanPanel::mark(const QString& token) {
  marked_ = token;
  QList<QTextEdit::ExtraSelection> marks;
  QTextEdit::ExtraSelection mark;
  mark.format.setBackground(Theme::instance().colors().selection);
  mark.format.setForeground(Theme::instance().colors().text);
  const QRegularExpression whole("(?<![\\w.])" + QRegularExpression::escape(token) +
                                 "(?![\\w.<>])");
  for (QTextCursor at(view_->document()); !token.isEmpty();) {
    at = view_->document()->find(whole, at);
    if (at.isNull()) break;
    mark.cursor = at;
    marks << mark;
  }
  view_->setExtraSelections(marks);
}

void PlanPanel::find(bool backwards) {
  const auto way = backwards ? QTextDocument::FindBackward : QTextDocument::FindFlags();
  if (view_->find(find_->text(), way)) return;
  // if the text is not found up to the end, searches once more from the start
  const QTextCursor before = view_->textCursor();
  view_->moveCursor(backwards ? QTextCursor::End : QTextCursor::Start);
  if (!view_->find(find_->text(), way)) view_->setTextCursor(before);
}

}  // namespace trainyard::ui
