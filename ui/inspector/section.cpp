// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/inspector/section.h"

#include <QVBoxLayout>

#include "ui/theme/icons.h"
#include "ui/theme/theme.h"

namespace trainyard::ui {

Section::Section(const QString& title, const QString& icon_name, QWidget* content, QWidget* parent)
    : QWidget(parent), heading_(new QToolButton(this)) {
  auto* column = new QVBoxLayout(this);
  column->setContentsMargins(0, 0, 0, kGrid);
  column->setSpacing(kGrid / 2);
  heading_->setText(title);
  heading_->setIcon(icon(icon_name));
  heading_->setToolButtonStyle(Qt::ToolButtonTextBesideIcon);
  heading_->setAutoRaise(true);
  heading_->setCheckable(true);
  heading_->setChecked(true);
  heading_->setFocusPolicy(Qt::StrongFocus);
  heading_->setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Fixed);
  heading_->setToolTip(tr("Collapse or expand %1").arg(title));
  // The heading does not look pressed while the section is open, because this would distract. Only
  // its text shows the state.
  set_sheet(heading_, [](const Colors& c) {
    return QString(
               "QToolButton { border: none; text-align: left; padding: 4px 0; color: %1; } "
               "QToolButton:focus { text-decoration: underline; }")
        .arg(c.text.name());
  });
  column->addWidget(heading_);
  column->addWidget(content);
  connect(heading_, &QToolButton::toggled, content, &QWidget::setVisible);
  connect(&Theme::instance(), &Theme::changed, this, &Section::follow_theme);
  follow_theme();
}

void Section::follow_theme() {
  heading_->setFont(Theme::instance().font(1.1, true));
  const int size = Theme::instance().pixels(18);
  heading_->setIconSize({size, size});
}

}  // namespace trainyard::ui
