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
      act_(new QPushButton(this)),
      copy_(tool(this, "copy", tr("Copy"))) {
  auto* row = new QHBoxLayout(this);
  row->setContentsMargins(2 * kGrid, kGrid, kGrid, kGrid);
  auto* words = new QVBoxLayout;
  words->setSpacing(2);
  title_->setTextFormat(Qt::PlainText);
  title_->setWordWrap(true);
  words->addWidget(title_);
  words->addWidget(text_);
  row->addLayout(words, 1);
  row->addWidget(act_, 0, Qt::AlignTop);
  row->addWidget(copy_, 0, Qt::AlignTop);
  QToolButton* close = tool(this, "close", tr("Close this message"));
  row->addWidget(close, 0, Qt::AlignTop);
  connect(copy_, &QToolButton::clicked, this, [this] { QGuiApplication::clipboard()->setText(text()); });
  connect(close, &QToolButton::clicked, this, [this] { hide(), emit closed(); });
  connect(&Theme::instance(), &Theme::changed, this, qOverload<>(&QWidget::update));
  hide();
}

void Banner::show_text(Kind kind, const QString& title, const QString& text) {
  kind_ = kind;
  title_->set_tint(kind == Kind::error ? Tint::error : kind == Kind::warning ? Tint::warning : Tint::text);
  title_->setText(title);
  text_->setText(text.trimmed());
  text_->setVisible(!text.trimmed().isEmpty());
  act_->hide();
  setAccessibleName(title);
  setAccessibleDescription(text);
  show();
  update();
}

void Banner::show_problem(const QString& title, const base::Problem& problem) {
  QString text = QString::fromStdString(problem.what);
  if (!problem.where.empty()) text = QString::fromStdString(problem.where) + ": " + text;
  if (!problem.accepted.empty()) text += "\n" + tr("Accepted: %1").arg(QString::fromStdString(problem.accepted));
  if (!problem.advice.empty()) text += "\n" + tr("What to do: %1").arg(QString::fromStdString(problem.advice));
  show_text(Kind::error, title, text);
}

void Banner::offer(const QString& label, const std::function<void()>& act) {
  act_->setText(label);
  act_->show();
  act_->disconnect();
  connect(act_, &QPushButton::clicked, this, [this, act] { hide(), act(); });
}

QString Banner::text() const { return title_->text() + (text_->text().isEmpty() ? QString() : "\n" + text_->text()); }

void Banner::paintEvent(QPaintEvent*) {
  const Colours& c = Theme::instance().colours();
  QPainter painter(this);
  painter.fillRect(rect(), c.card);
  painter.fillRect(QRect(0, 0, kGrid / 2, height()), kind_ == Kind::error ? c.error : kind_ == Kind::warning ? c.warning : c.accent);
  painter.fillRect(QRect(0, height() - 1, width(), 1), c.border);
}

}  // namespace trainyard::ui
