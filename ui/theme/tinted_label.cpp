// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/theme/tinted_label.h"

#include <QPainter>

#include "ui/theme/theme.h"

namespace trainyard::ui {

TintedLabel::TintedLabel(TextColor tint, QWidget* parent, double relative_size, bool strong)
    : QLabel(parent), tint_(tint), relative_size_(relative_size), strong_(strong) {
  connect(&Theme::instance(), &Theme::changed, this, &TintedLabel::follow_theme);
  follow_theme();
}

void TintedLabel::set_tint(TextColor tint) {
  if (tint == tint_) return;
  tint_ = tint;
  follow_theme();
}

void TintedLabel::set_elided() {
  elided_ = true;
  setTextFormat(Qt::PlainText);
  setSizePolicy(QSizePolicy::Maximum, QSizePolicy::Preferred);
}

void TintedLabel::set_help(const QString& help) {
  help_ = help;
  setAccessibleDescription(help);
  setToolTip(help);
}

QSize TintedLabel::minimumSizeHint() const {
  return elided_ ? QSize(fontMetrics().averageCharWidth() * 4, fontMetrics().height())
                 : QLabel::minimumSizeHint();
}

void TintedLabel::paintEvent(QPaintEvent* event) {
  if (!elided_) return QLabel::paintEvent(event);
  const QString shown = fontMetrics().elidedText(text(), Qt::ElideRight, width());
  QStringList tip;
  if (shown != text()) tip << text();
  if (!help_.isEmpty()) tip << help_;
  setToolTip(tip.join('\n'));
  QPainter painter(this);
  painter.drawText(rect(), static_cast<int>(alignment()), shown);
}

void TintedLabel::follow_theme() {
  const Colors& c = Theme::instance().colors();
  const QColor colors[] = {c.text, c.dim, c.ok, c.warning, c.error};
  QPalette tinted = palette();
  tinted.setColor(QPalette::WindowText, colors[static_cast<int>(tint_)]);
  setPalette(tinted);
  setFont(Theme::instance().font(relative_size_, strong_));
}

TintedLabel* paragraph(TextColor tint, QWidget* parent, const QString& text) {
  auto* label = new TintedLabel(tint, parent);
  label->setTextFormat(Qt::PlainText);
  label->setWordWrap(true);
  label->setTextInteractionFlags(Qt::TextSelectableByMouse);
  label->setText(text);
  return label;
}

}  // namespace trainyard::ui
