// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/toolbars.h"

#include <QAction>
#include <QLayout>
#include <QMainWindow>
#include <QToolBar>
#include <QToolButton>
#include <algorithm>

#include "ui/theme/theme.h"

namespace trainyard::ui {

Toolbars::Toolbars(QMainWindow& window, FileActions& files, Workspace& workspace,
                   RunControls& controls, QAction& freeze)
    : QObject(&window),
      window_(window),
      controls_(controls),
      freeze_(freeze),
      tools_(add("tools", tr("Tools"))),
      run_tools_(add("run_tools", tr("Run"))) {
  files.fill_toolbar(*tools_);
  tools_->addSeparator();
  for (const char* name : {"undo", "redo"}) tools_->addAction(window.findChild<QAction*>(name));
  tools_->addSeparator();
  workspace.fill_toolbar(*tools_);
  tools_->addSeparator();
  controls.fill_toolbar(*run_tools_);
  run_tools_->addAction(&freeze);
  fit();
}

QToolBar* Toolbars::add(const char* name, const QString& title) {
  QToolBar* bar = window_.addToolBar(title);
  bar->setObjectName(name);
  bar->setMovable(false);
  return bar;
}

// Shows the first `actions` of the toolbar's optional actions as icons only, without text.
void Toolbars::hide_button_text(int actions) {
  QAction *run = &controls_.run_action(), *pause = &controls_.pause_action(),
          *step = &controls_.step_action(), *stop = &controls_.stop_action();
  for (QAction* action : {&freeze_, step, stop, pause, run}) {
    auto* button = qobject_cast<QToolButton*>(run_tools_->widgetForAction(action));
    button->setToolButtonStyle(actions-- > 0 ? Qt::ToolButtonIconOnly
                                             : Qt::ToolButtonTextBesideIcon);
    button->setMinimumWidth(0);
  }
  for (const QToolBar* bar : {tools_, run_tools_})
    bar->layout()->invalidate();  // needed because a hidden bar keeps its old size
  // Fixes the width of the Pause button, so that the buttons beside it do not move when its text
  // changes.
  auto* steady = qobject_cast<QToolButton*>(run_tools_->widgetForAction(pause));
  if (steady->toolButtonStyle() == Qt::ToolButtonIconOnly) return;
  const auto words = [&](const QString& text) {
    return steady->fontMetrics().horizontalAdvance(text);
  };
  steady->setMinimumWidth(
      steady->sizeHint().width() +
      std::max(0, words(tr("Resume training")) - words(QString(pause->text()).remove('&'))));
}

// Adapts the toolbars to the window so that the controls of a run are never in the overflow menu.
void Toolbars::fit() {
  const int size = Theme::instance().pixels(20);
  for (QToolBar* bar : {tools_, run_tools_}) bar->setIconSize({size, size});
  constexpr int kSpared[] = {0, 2, 4};
  bool two_lines = false, fits = false;
  for (const bool two : {false, true})
    for (const int spared : kSpared) {
      if (fits) break;
      hide_button_text(spared);
      const int first = tools_->sizeHint().width(), second = run_tools_->sizeHint().width();
      fits = (two ? std::max(first, second) : first + second) <= window_.width();
      two_lines = two;
    }
  if (!fits) hide_button_text(5);
  if (window_.toolBarBreak(run_tools_) == two_lines) return;
  if (two_lines) window_.insertToolBarBreak(run_tools_);
  else window_.removeToolBarBreak(run_tools_);
}

}  // namespace trainyard::ui
