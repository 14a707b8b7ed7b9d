// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/panels/banner.h"

#include <QClipboard>
#include <QGuiApplication>
#include <QHBoxLayout>
#include <QPainter>
#include <QPushButton>
#include <QToolButton>

#include "ui/theme/icons.h"
#include "ui/theme/theme.h"

namespace trainyard::ui {
namespace {

constexpr int kLines = 4;  // of the text; the rest is shown when asked for

QToolButton* tool(QWidget* parent, const QString& icon_name, const QString& text) {
  auto* button = new QToolButton(parent);
  button->setIcon(icon(icon_name));
  button->setToolTip(text);
  button->setAccessibleName(text);
  button->setAutoRaise(true);
  return button;
}

}  // namespace

Banner::Banner(QWidget* parent)
    : QFrame(parent),
      title_(new TintedLabel(Tint::text, this, 1, true)),
      text_(paragraph(Tint::text, this)),
      words_(new QBoxLayout(QBoxLayout::TopToBottom)),
      act_(new QPushButton(this)),
      more_(new QToolButton(this)),
      copy_(tool(this, "copy", tr("Copy"))),
      close_(tool(this, "close", tr("Close this message"))) {
  build();
  connect(more_, &QToolButton::toggled, this, &Banner::show_lines);
  connect(copy_, &QToolButton::clicked, this, [this] { QGuiApplication::clipboard()->setText(text()); });
  connect(close_, &QToolButton::clicked, this, [this] { hide(), emit closed(); });
  connect(&Theme::instance(), &Theme::changed, this, &Banner::fit, Qt::QueuedConnection);  // its labels first
  hide();
}

void Banner::build() {
  auto* row = new QHBoxLayout(this);
  row->setContentsMargins(2 * kGrid, kGrid / 2, kGrid, kGrid / 2);
  title_->setTextFormat(Qt::PlainText);
  title_->setMinimumWidth(1);  // it wraps when the window shrinks
  more_->setText(tr("More"));
  more_->setCheckable(true);
  more_->setAutoRaise(true);
  words_->addWidget(title_);
  words_->addWidget(text_, 1);
  row->addLayout(words_, 1);
  for (QWidget* button : {static_cast<QWidget*>(more_), static_cast<QWidget*>(act_), static_cast<QWidget*>(copy_), static_cast<QWidget*>(close_)})
    row->addWidget(button, 0, Qt::AlignTop);
}

void Banner::show_text(Kind kind, const QString& title, const QString& text) {
  kind_ = kind;
  over_ = {};
  title_->set_tint(kind == Kind::error ? Tint::error : kind == Kind::warning ? Tint::warning : Tint::text);
  title_->setText(title);
  whole_ = text.trimmed();
  more_->setVisible(whole_.count('\n') >= kLines);
  more_->setChecked(false);
  show_lines(false);
  text_->setVisible(!whole_.isEmpty());
  act_->hide();
  setAccessibleName(title);
  setAccessibleDescription(text);
  fit();
  show();
  update();
}

void Banner::show_lines(bool all) {
  const QStringList lines = whole_.split('\n');
  text_->setText(all || lines.size() <= kLines ? whole_ : lines.first(kLines).join('\n') + " …");
}

bool Banner::in_one_line() const { return words_->direction() == QBoxLayout::LeftToRight; }

// Title and text side by side where they fit.
void Banner::fit() {
  int room = width() - 5 * kGrid;
  for (const QWidget* button : {static_cast<QWidget*>(more_), static_cast<QWidget*>(act_), static_cast<QWidget*>(copy_), static_cast<QWidget*>(close_)})
    if (!button->isHidden()) room -= button->sizeHint().width() + kGrid;
  const int needed = title_->fontMetrics().horizontalAdvance(title_->text()) + 2 * kGrid + text_->fontMetrics().horizontalAdvance(whole_);
  const bool one_line = needed <= room && !whole_.contains('\n');
  title_->setWordWrap(!one_line);
  words_->setSpacing(one_line ? 2 * kGrid : 2);
  words_->setDirection(one_line ? QBoxLayout::LeftToRight : QBoxLayout::TopToBottom);
}

void Banner::resizeEvent(QResizeEvent* event) {
  QFrame::resizeEvent(event);
  fit();
}

void Banner::look_again() {
  if (over_ && over_()) hide();
}

void Banner::show_problem(const QString& title, const base::Problem& problem) {
  QString text = QString::fromStdString(problem.what);
  if (!problem.where.empty()) text = QString::fromStdString(problem.where) + ": " + text;
  if (!problem.accepted.empty()) text += "\n" + tr("Accepted: %1").arg(QString::fromStdString(problem.accepted));
  if (!problem.advice.empty()) text += "\n" + tr("What to do: %1").arg(QString::fromStdString(problem.advice));
  show_text(Kind::error, title, text);
}

void Banner::offer(const QString& label, const std::function<void()>& act, Pressed pressed) {
  act_->setText(label);
  act_->show();
  act_->disconnect();
  connect(act_, &QPushButton::clicked, this, [this, act, pressed] {
    if (pressed == Pressed::closes) hide();
    act();
  });
  fit();
}

QString Banner::text() const { return title_->text() + (whole_.isEmpty() ? QString() : "\n" + whole_); }

void Banner::paintEvent(QPaintEvent*) {
  const Colours& c = Theme::instance().colours();
  QPainter painter(this);
  painter.fillRect(rect(), c.card);
  painter.fillRect(QRect(0, 0, kGrid / 2, height()), kind_ == Kind::error ? c.error : kind_ == Kind::warning ? c.warning : c.accent);
  painter.fillRect(QRect(0, height() - 1, width(), 1), c.border);
}

}  // namespace trainyard::ui
