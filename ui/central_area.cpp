// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/central_area.h"

#include <QShortcut>
#include <QStackedWidget>
#include <QVBoxLayout>

#include "ui/theme/manual_topic.h"
#include "ui/theme/theme.h"

namespace trainyard::ui {

CentralArea::CentralArea(Document& document, Selection& selection, RecentFiles& recent,
                         const QString& examples_directory, QWidget* parent)
    : QWidget(parent),
      errors_(new Banner(this)),
      recovery_banner_(new Banner(this)),
      offers_(new Banner(this)),
      pages_(new QStackedWidget(this)),
      state_bar_(new RunStateBar(this)),
      welcome_(new WelcomePage(examples_directory, recent, pages_)),
      canvas_(new TopologyView(document, selection, pages_)),
      leave_welcome_(
          new QShortcut(QKeySequence(Qt::Key_Escape), this, [this] { show_welcome(false); })) {
  auto* column = new QVBoxLayout(this);
  column->setContentsMargins(0, 0, 0, 0);
  column->setSpacing(0);
  for (Banner* banner : {errors_, recovery_banner_, offers_}) column->addWidget(banner);
  column->addWidget(pages_, 1);
  column->addWidget(state_bar_);
  pages_->addWidget(welcome_);
  pages_->addWidget(canvas_);
  set_manual_topic(canvas_, "canvas");
  set_manual_topic(welcome_, "getting_started");
  // The welcome page can scroll. Its minimum height is low, because the canvas would otherwise be
  // at least as high.
  welcome_->setMinimumHeight(kGrid);
}

bool CentralArea::shows_welcome() const { return pages_->currentWidget() == welcome_; }

void CentralArea::show_welcome(bool shown) {
  pages_->setCurrentIndex(shown ? 0 : 1);
  leave_welcome_->setEnabled(shown);
  emit welcome_shown(shown);
}

}  // namespace trainyard::ui
