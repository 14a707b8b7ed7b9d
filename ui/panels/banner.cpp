// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/panels/banner.h"

#include <QClipboard>
#include <QGuiApplication>
#include <QHBoxLayout>
#include <QPainter>
#include <QPushButton>
#include <QTextLayout>
#include <QToolButton>
#include <algorithm>

#include "ui/theme/icons.h"
#include "ui/theme/theme.h"

namespace trainyard::ui {
namespace {

constexpr int kLines = 4;  // maximum number of lines of text; more are shown on request
constexpr std::size_t kProblemsShown = 3;
// Minimum width, in characters, of the banner's text beside its buttons. With less room, the
// buttons go below the text.
constexpr int kFewLetters = 30;

QToolButton* tool(QWidget* parent, const QString& icon_name, const QString& text) {
  auto* button = new QToolButton(parent);
  button->setIcon(icon(icon_name));
  button->setToolTip(text);
  button->setAccessibleName(text);
  button->setAutoRaise(true);
  return button;
}

// Returns the lines of a text after wrapping it to the given width.
QStringList wrapped(const QString& text, const QFont& font, int width) {
  QStringList lines;
  for (const QString& paragraph : text.split('\n')) {
    QTextLayout layout(paragraph, font);
    layout.beginLayout();
    for (QTextLine line = layout.createLine(); line.isValid(); line = layout.createLine()) {
      line.setLineWidth(width);
      lines << paragraph.mid(line.textStart(), line.textLength());
    }
    layout.endLayout();
  }
  return lines;
}

// Returns the first lines of a text, ending in "…".
QString beginning(const QStringList& lines, const QFontMetrics& metrics, int width) {
  const QString last =
      metrics.elidedText(lines[kLines - 1].trimmed() + " …", Qt::ElideRight, width);
  return lines.first(kLines - 1).join('\n') + '\n' + last;
}

}  // namespace

Banner::Banner(QWidget* parent)
    : QFrame(parent),
      title_(new TintedLabel(TextColor::text, this, 1, true)),
      text_(paragraph(TextColor::text, this)),
      row_(new QBoxLayout(QBoxLayout::LeftToRight, this)),
      words_(new QBoxLayout(QBoxLayout::TopToBottom)),
      first_button_(new QPushButton(this)),
      second_button_(new QPushButton(this)),
      more_(new QToolButton(this)),
      copy_(tool(this, "copy", tr("Copy"))),
      close_(tool(this, "close", tr("Close this message"))) {
  build();
  connect(more_, &QToolButton::toggled, this, &Banner::fit);
  connect(copy_, &QToolButton::clicked, this,
          [this] { QGuiApplication::clipboard()->setText(text()); });
  connect(close_, &QToolButton::clicked, this, [this] { hide(), emit closed(); });
  connect(&Theme::instance(), &Theme::changed, this, &Banner::fit,
          Qt::QueuedConnection);  // queued, so that the labels get the new theme first
  hide();
}

void Banner::build() {
  row_->setContentsMargins(2 * kGrid, kGrid / 2, kGrid, kGrid / 2);
  title_->setTextFormat(Qt::PlainText);
  title_->setMinimumWidth(1);  // allows the title to wrap when the window shrinks
  more_->setText(tr("More"));
  more_->setCheckable(true);
  more_->setAutoRaise(true);
  words_->addWidget(title_);
  words_->addWidget(text_, 1);
  row_->addLayout(words_, 1);
  auto* row = new QHBoxLayout;
  row->addStretch(0);
  for (QWidget* button : buttons()) row->addWidget(button, 0, Qt::AlignTop);
  row_->addLayout(row);
}

std::array<QWidget*, 5> Banner::buttons() const {
  return {more_, second_button_, first_button_, copy_, close_};
}

void Banner::show_text(Kind kind, const QString& title, const QString& text) {
  kind_ = kind;
  ++texts_;
  over_ = {};
  title_->set_tint(kind == Kind::error     ? TextColor::error
                   : kind == Kind::warning ? TextColor::warning
                                           : TextColor::text);
  title_->setText(title);
  whole_ = text.trimmed();
  more_->setChecked(false);
  text_->setVisible(!whole_.isEmpty());
  second_button_->hide();
  first_button_->hide();
  setAccessibleName(title);
  setAccessibleDescription(text);
  fit();
  show();
  update();
}

bool Banner::in_one_line() const { return words_->direction() == QBoxLayout::LeftToRight; }

// Returns the width available for title and text, whether the buttons are beside or below them.
// `with_more`: true if the button "More" is shown.
int Banner::room(bool with_more) const {
  const QMargins margins = layout()->contentsMargins();
  return row_->direction() == QBoxLayout::LeftToRight ? room_beside(with_more)
                                                      : width() - margins.left() - margins.right();
}

int Banner::room_beside(bool with_more) const {
  const QMargins margins = layout()->contentsMargins();
  int room = width() - margins.left() - margins.right();
  for (const QWidget* button : buttons())
    if (button == more_ ? with_more : !button->isHidden())
      room -= button->sizeHint().width() + layout()->spacing();
  return room;
}

// Puts title and text side by side if there is room for both.
void Banner::fit() {
  const bool beside = room_beside(true) >= kFewLetters * text_->fontMetrics().averageCharWidth();
  row_->setDirection(beside ? QBoxLayout::LeftToRight : QBoxLayout::TopToBottom);
  const int needed = title_->fontMetrics().horizontalAdvance(title_->text()) + 2 * kGrid +
                     text_->fontMetrics().horizontalAdvance(whole_);
  const bool one_line = needed + kGrid < room(false) && !whole_.contains('\n');
  title_->setWordWrap(!one_line);
  words_->setSpacing(one_line ? 2 * kGrid : 2);
  words_->setDirection(one_line ? QBoxLayout::LeftToRight : QBoxLayout::TopToBottom);
  fit_text();
}

// Shortens a text that would wrap into too many lines.
void Banner::fit_text() {
  const bool is_long =
      !in_one_line() && wrapped(whole_, text_->font(), room(false)).size() > kLines;
  more_->setVisible(is_long);
  const QStringList lines =
      is_long && !more_->isChecked() ? wrapped(whole_, text_->font(), room(true)) : QStringList();
  const QString shown =
      lines.size() > kLines ? beginning(lines, text_->fontMetrics(), room(true)) : whole_;
  if (shown != text_->text()) text_->setText(shown);
}

void Banner::resizeEvent(QResizeEvent* event) {
  QFrame::resizeEvent(event);
  fit();
}

void Banner::recheck() {
  if (over_ && over_()) hide();
}

void Banner::show_problem(const QString& title, const base::Problem& problem) {
  QString text = QString::fromStdString(problem.what);
  if (!problem.where.empty()) text = QString::fromStdString(problem.where) + ": " + text;
  if (!problem.accepted.empty())
    text += "\n" + tr("Accepted: %1").arg(QString::fromStdString(problem.accepted));
  if (!problem.advice.empty())
    text += "\n" + tr("What to do: %1").arg(QString::fromStdString(problem.advice));
  show_text(Kind::error, title, text);
}

void Banner::show_problems(const QString& title, const base::Problems& problems) {
  if (problems.size() == 1) return show_problem(title, problems.front());
  const base::Problems first(
      problems.begin(),
      problems.begin() + static_cast<std::ptrdiff_t>(std::min(problems.size(), kProblemsShown)));
  QString text = QString::fromStdString(base::to_string(first));
  if (problems.size() > first.size())
    text += "\n" + tr("and %1 more").arg(problems.size() - first.size());
  show_text(Kind::error, title, text);
}

void Banner::offer(const QString& label, const std::function<bool()>& act) {
  show_offer(*first_button_, label, act);
}
void Banner::offer_second(const QString& label, const std::function<bool()>& act) {
  show_offer(*second_button_, label, act);
}

void Banner::show_offer(QPushButton& button, const QString& label,
                        const std::function<bool()>& act) {
  button.setText(label);
  button.show();
  button.disconnect();
  connect(&button, &QPushButton::clicked, this, [this, act, note = texts_] {
    if (act() && note == texts_) hide();
  });
  fit();
}

QString Banner::text() const {
  return title_->text() + (whole_.isEmpty() ? QString() : "\n" + whole_);
}

void Banner::paintEvent(QPaintEvent*) {
  const Colors& c = Theme::instance().colors();
  QPainter painter(this);
  painter.fillRect(rect(), c.card);
  painter.fillRect(QRect(0, 0, kGrid / 2, height()), kind_ == Kind::error     ? c.error
                                                     : kind_ == Kind::warning ? c.warning
                                                                              : c.accent);
  painter.fillRect(QRect(0, height() - 1, width(), 1), c.border);
}

}  // namespace trainyard::ui
