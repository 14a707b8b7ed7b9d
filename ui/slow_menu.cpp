// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/slow_menu.h"

#include <QCoreApplication>
#include <QMenu>

namespace trainyard::ui {
namespace {

constexpr double kFactors[] = {1, 2, 5, 10, 50};
constexpr double kJitter = 0.5;

QString text(const char* source) { return QCoreApplication::translate("slow_menu", source); }

void add_choice(QMenu& menu, const QString& name, const QString& words, bool ticked, const std::function<void()>& choose) {
  QAction* action = menu.addAction(words, choose);
  action->setObjectName(name);
  action->setCheckable(true);
  action->setChecked(ticked);
}

}  // namespace

void add_slow_menu(QMenu& menu, const session::Slow& now, const std::function<void(const session::Slow&)>& slow) {
  QMenu& choices = *menu.addMenu(text("Slow rank %1 down in this run").arg(now.rank));
  choices.setObjectName("slow");
  for (const double factor : kFactors)
    add_choice(choices, QString("slow_%1").arg(factor), factor == 1 ? text("Not slowed down") : text("%1 times slower").arg(factor), now.slow_down == factor,
               [=] {
                 slow({now.rank, factor, now.jitter});
               });
  choices.addSeparator();
  add_choice(choices, "jitter", text("With jitter, up to half as long again"), now.jitter > 0, [=] {
    slow({now.rank, now.slow_down, now.jitter > 0 ? 0 : kJitter});
  });
}

}  // namespace trainyard::ui
