// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/theme/side_column.h"

#include <QScrollBar>

#include "ui/theme/theme.h"

namespace trainyard::ui {

SideColumn::SideColumn(QWidget* parent)
    : QScrollArea(parent), inside_(new QWidget(this)), column_(new QVBoxLayout(inside_)) {
  setWidgetResizable(true);
  setFrameShape(QFrame::NoFrame);
  setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
  setFocusPolicy(Qt::NoFocus);
  column_->setContentsMargins(0, kGrid / 2, 0, kGrid / 2);
}

QVBoxLayout* SideColumn::add_indented() {
  auto* words = new QVBoxLayout;
  words->setContentsMargins(kGrid, 0, kGrid, 0);
  column_->addLayout(words);
  return words;
}

void SideColumn::finish(double times_minimum_width) {
  setWidget(inside_);
  const auto fit = [this, times_minimum_width] {
    setMinimumWidth(static_cast<int>(inside_->minimumSizeHint().width() * times_minimum_width) +
                    verticalScrollBar()->sizeHint().width());
  };
  connect(&Theme::instance(), &Theme::changed, this, fit,
          Qt::QueuedConnection);  // queued, so that the fields get the new font first
  fit();
}

}  // namespace trainyard::ui
