// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/slow_menu.h"

#include <QCoreApplication>
#include <QDoubleSpinBox>
#include <QHBoxLayout>
#include <QKeyEvent>
#include <QLabel>
#include <QMenu>
#include <QWidgetAction>
#include <algorithm>
#include <memory>
#include <vector>

#include "core/experiment/field_templates.h"
#include "core/topology/topology.h"
#include "ui/theme/theme.h"

namespace trainyard::ui {
namespace {

constexpr double kFactors[] = {1, 2, 5, 10};
constexpr double kJitters[] = {0, 0.5};

QString slow_text(const char* source) { return QCoreApplication::translate("slow_menu", source); }

QAction* add_choice(QMenu& menu, const QString& name, const QString& words,
                    const std::function<void()>& choose) {
  QAction* action = menu.addAction(words, choose);
  action->setObjectName(name);
  action->setCheckable(true);
  return action;
}

// Number field in a menu. The keys Up and Down go to the neighboring menu entries instead of
// changing the number.
class MenuNumber : public QDoubleSpinBox {
 public:
  MenuNumber(QMenu& menu, QWidget* parent) : QDoubleSpinBox(parent), menu_(menu) {}

 protected:
  void keyPressEvent(QKeyEvent* event) override {
    const bool leaves = event->key() == Qt::Key_Up || event->key() == Qt::Key_Down ||
                        event->key() == Qt::Key_Escape;
    if (!leaves) return QDoubleSpinBox::keyPressEvent(event);
    interpretText();
    QCoreApplication::sendEvent(&menu_, event);
  }

 private:
  QMenu& menu_;
};

// Returns the range of values that the drawing format allows for the device field `field`.
base::Range range_of(std::string_view field) {
  const auto fields = base::describe(topology::Device{});
  return std::ranges::find(fields, field, &base::FieldDescription::name)->range;
}

// Adds a number field for values that are not in the menu. A value is applied when the user clicks
// an arrow of the field, or presses Enter.
void add_number(QMenu& menu, const QString& name, const QString& words, const base::Range& range,
                double step, double now, const std::function<void(double)>& choose) {
  auto* row = new QWidget(&menu);
  auto* columns = new QHBoxLayout(row);
  columns->setContentsMargins(3 * kGrid, kGrid / 2, kGrid, kGrid / 2);
  auto* number = new MenuNumber(menu, row);
  columns->addWidget(new QLabel(words, row), 1);
  columns->addWidget(number);
  number->setObjectName(name);
  number->setAccessibleName(words);
  number->setDecimals(2);
  number->setRange(range.low, range.high);
  number->setSingleStep(step);
  number->setKeyboardTracking(false);
  number->setValue(now);
  row->setFocusPolicy(
      Qt::StrongFocus);  // lets the menu pass keys to the box while its entry is current
  row->setFocusProxy(number);
  QObject::connect(number, &QDoubleSpinBox::valueChanged, number, choose);
  auto* action = new QWidgetAction(&menu);
  action->setDefaultWidget(row);
  menu.addAction(action);
}

}  // namespace

void add_slow_menu(QMenu& menu, const session::Slow& now,
                   const std::function<void(const session::Slow&)>& slow) {
  QMenu& choices = *menu.addMenu(slow_text("Slow down rank %1 in this run").arg(now.rank));
  choices.setObjectName("slow");
  std::vector<std::pair<QAction*, double>> factors, jitters;
  // The slowdown that the user requested last. It is shared, because the user may change several of
  // its values while the menu is open.
  const auto asked = std::make_shared<session::Slow>(now);
  const auto tick = std::make_shared<std::function<void()>>();
  const auto ask = [asked, slow, tick](double session::Slow::*part, double value) {
    (*asked).*part = value, (*tick)(), slow(*asked);
  };
  const auto factor = [ask](double times) { ask(&session::Slow::slow_down, times); };
  const auto jitter = [ask](double share) { ask(&session::Slow::jitter, share); };
  for (const double times : kFactors) {
    const QString words =
        times == 1 ? slow_text("No slowdown") : slow_text("%1× slower").arg(times);
    factors.emplace_back(
        add_choice(choices, QString("slow_%1").arg(times), words, [=] { factor(times); }), times);
  }
  add_number(choices, "factor", slow_text("Slowdown factor"), range_of("slow_down"), 0.5,
             now.slow_down, factor);
  choices.addSeparator();
  for (const double share : kJitters) {
    const QString words =
        share == 0 ? slow_text("No jitter")
                   : slow_text("Random extra time per step, up to %1 of the step").arg(share);
    jitters.emplace_back(
        add_choice(choices, QString("jitter_%1").arg(share), words, [=] { jitter(share); }), share);
  }
  add_number(choices, "jitter", slow_text("Jitter"), range_of("jitter"), 0.1, now.jitter, jitter);
  *tick = [=] {
    for (const auto& [action, times] : factors) action->setChecked(asked->slow_down == times);
    for (const auto& [action, share] : jitters) action->setChecked(asked->jitter == share);
  };
  (*tick)();
}

}  // namespace trainyard::ui
