// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/stepper/program_view.h"

#include <QScrollBar>
#include <QTextBlock>
#include <algorithm>

#include "ui/stepper/step_text.h"
#include "ui/theme/theme.h"

namespace trainyard::ui {
namespace {

constexpr int kMarkWidth = 2;  // width of the mark before each line, in characters

QString line_text(const collective::Line& line, std::size_t width, int step) {
  const QString mark = step > line.last_step ? "✓ " : step >= line.first_step ? "▶ " : "  ";
  const QString token = QString::fromStdString(line.token);
  return mark + token.leftJustified(static_cast<int>(width) + 2) + program_line_text(token);
}

}  // namespace

ProgramView::ProgramView(Stepper& stepper, QWidget* parent)
    : QPlainTextEdit(parent), stepper_(stepper) {
  setReadOnly(true);
  setTextInteractionFlags(Qt::TextSelectableByMouse | Qt::TextSelectableByKeyboard);
  setLineWrapMode(QPlainTextEdit::NoWrap);
  setFrameShape(QFrame::NoFrame);
  fit();
  connect(&Theme::instance(), &Theme::changed, this, &ProgramView::fit);
}

void ProgramView::fit() {
  setFont(Theme::instance().fixed_font());
  mark(current_);
}

void ProgramView::set_rank(int rank) {
  rank_ = rank;
  show_program();
}

void ProgramView::show_program() {
  setAccessibleName(tr("Program of rank %1").arg(named_rank(stepper_, rank_)));
  current_ = -1;
  QStringList lines;
  if (rank_ < stepper_.steps().members()) {
    const auto& program = stepper_.steps().program[static_cast<std::size_t>(rank_)];
    std::size_t width = 0;
    for (const collective::Line& line : program) width = std::max(width, line.token.size());
    for (const collective::Line& line : program) {
      if (line.first_step <= stepper_.step() && stepper_.step() <= line.last_step)
        current_ = static_cast<int>(lines.size());
      lines << line_text(line, width, stepper_.step());
    }
  }
  if (const QString text = lines.join('\n'); text != toPlainText()) {
    const int x = horizontalScrollBar()->value(), y = verticalScrollBar()->value();
    setPlainText(text);
    horizontalScrollBar()->setValue(x), verticalScrollBar()->setValue(y);
  }
  mark(current_);
}

QString ProgramView::current_line() const {
  return current_ < 0 ? QString() : document()->findBlockByNumber(current_).text().mid(kMarkWidth);
}

void ProgramView::mark(int line) {
  if (line < 0) return setExtraSelections({});
  QTextEdit::ExtraSelection mark;
  mark.cursor = QTextCursor(document()->findBlockByNumber(line));
  mark.format.setBackground(Theme::instance().colors().selection);
  mark.format.setForeground(Theme::instance().colors().text);
  mark.format.setProperty(QTextFormat::FullWidthSelection, true);
  setExtraSelections({mark});
  setTextCursor(mark.cursor);
  ensureCursorVisible();
}

}  // namespace trainyard::ui
