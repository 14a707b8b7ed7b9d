// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/slow_menu.h"

#include <QCoreApplication>
#include <QDoubleSpinBox>
#include <QHBoxLayout>
#include <QLabel>
#include <QMenu>
#include <QWidgetAction>
#include <algorithm>
#include <memory>

#include "core/base/fields.h"
#include "core/topology/topology.h"
#include "ui/theme/theme.h"

namespace trainyard::ui {
namespace {

constexpr double kFactors[] = {1, 2, 5, 10};
constexpr double kJitters[] = {0, 0.5};

QString text(const char* source) { return QCoreApplication::translate("slow_menu", source); }

void add_choice(QMenu& menu, const QString& name, const QString& words, bool ticked, const std::function<void()>& choose) {
  QAction* action = menu.addAction(words, choose);
  action->setObjectName(name);
  action->setCheckable(true);
  action->setChecked(ticked);
}

// As the drawing takes it.
base::Range range_of(std::string_view field) {
  const auto fields = base::describe(topology::Device{});
  return std::ranges::find(fields, field, &base::FieldDescription::name)->range;
}

// For what no choice is: taken at each click of its arrows, or with Enter.
void add_number(QMenu& menu, const QString& name, const QString& words, const base::Range& range, double step, double now,
                const std::function<void(double)>& choose) {
  auto* row = new QWidget(&menu);
  auto* columns = new QHBoxLayout(row);
  columns->setContentsMargins(3 * kGrid, kGrid / 2, kGrid, kGrid / 2);
  auto* number = new QDoubleSpinBox(row);
  columns->addWidget(new QLabel(words, row), 1);
  columns->addWidget(number);
  number->setObjectName(name);
  number->setAccessibleName(words);
  number->setDecimals(2);
  number->setRange(range.low, range.high);
  number->setSingleStep(step);
  number->setKeyboardTracking(false);
  number->setValue(now);
  QObject::connect(number, &QDoubleSpinBox::valueChanged, number, choose);
  auto* action = new QWidgetAction(&menu);
  action->setDefaultWidget(row);
  menu.addAction(action);
}

}  // namespace

void add_slow_menu(QMenu& menu, const session::Slow& now, const std::function<void(const session::Slow&)>& slow) {
  QMenu& choices = *menu.addMenu(text("Slow rank %1 down in this run").arg(now.rank));
  choices.setObjectName("slow");
  const auto asked = std::make_shared<session::Slow>(now);  // what was asked for last: the numbers are, one after the other, while the menu is open
  const auto factor = [asked, slow](double times) { asked->slow_down = times, slow(*asked); };
  const auto jitter = [asked, slow](double share) { asked->jitter = share, slow(*asked); };
  for (const double times : kFactors)
    add_choice(choices, QString("slow_%1").arg(times), times == 1 ? text("Not slowed down") : text("%1 times slower").arg(times), now.slow_down == times,
               [=] { factor(times); });
  add_number(choices, "factor", text("Times slower"), range_of("slow_down"), 0.5, now.slow_down, factor);
  choices.addSeparator();
  for (const double share : kJitters)
    add_choice(choices, QString("jitter_%1").arg(share), share == 0 ? text("Without jitter") : text("Each step up to %1 of that longer, at random").arg(share),
               now.jitter == share, [=] { jitter(share); });
  add_number(choices, "jitter", text("Jitter"), range_of("jitter"), 0.1, now.jitter, jitter);
}

}  // namespace trainyard::ui
