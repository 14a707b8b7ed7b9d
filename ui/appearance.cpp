// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/appearance.h"

#include <QActionGroup>
#include <QGuiApplication>
#include <QMenu>
#include <QPalette>
#include <algorithm>

#include "ui/theme/icons.h"
#include "ui/theme/theme.h"

namespace trainyard::ui {
namespace {

constexpr auto kKind = "appearance/kind", kScale = "appearance/scale",
               kMotion = "appearance/reduced_motion";
constexpr int kPercents[] = {100, 125, 150, 200, 250, 300};

// Returns whether the platform's palette is dark. Must be called before a theme replaces that
// palette.
bool platform_is_dark() {
  static const bool dark = QGuiApplication::palette().color(QPalette::Window).lightness() < 128;
  return dark;
}

}  // namespace

Appearance::Appearance(QSettings& settings, QObject* parent)
    : QObject(parent), settings_(settings), system_is_dark_(platform_is_dark()) {
  apply();
}

void Appearance::apply() {
  const auto choice = static_cast<Choice>(settings_.value(kKind, 0).toInt());
  const bool dark = choice == Choice::dark || (choice == Choice::system && system_is_dark_);
  Theme& theme = Theme::instance();
  theme.apply(dark ? Theme::Kind::dark : Theme::Kind::light,
              settings_.value(kScale, 1.0).toDouble());
  theme.set_reduced_motion(settings_.value(kMotion, false).toBool());
}

void Appearance::choose(Choice choice) {
  settings_.setValue(kKind, static_cast<int>(choice));
  apply();
}

void Appearance::scale(double scale) {
  settings_.setValue(kScale, scale);
  apply();
}

void Appearance::reduce_motion(bool reduced) {
  settings_.setValue(kMotion, reduced);
  apply();
}

// Uses shortcuts of two keystrokes, because window managers reserve Ctrl+Alt.
void Appearance::fill_menu(QMenu& menu) {
  add_kinds(menu);
  menu.addSeparator();
  add_scales(menu);
  QAction* motion = menu.addAction(tr("&Reduced motion"), this, &Appearance::reduce_motion);
  motion->setShortcut(QKeySequence("Ctrl+K, M"));
  motion->setCheckable(true);
  motion->setChecked(settings_.value(kMotion, false).toBool());
  motion->setStatusTip(tr("Turn off animations"));
}

void Appearance::add_kinds(QMenu& menu) {
  auto* group = new QActionGroup(this);
  const int now = settings_.value(kKind, 0).toInt();
  const std::tuple<Choice, QString, const char*> kinds[] = {
      {Choice::system, tr("Follow the &system"), "Ctrl+K, S"},
      {Choice::light, tr("&Light"), "Ctrl+K, L"},
      {Choice::dark, tr("&Dark"), "Ctrl+K, D"}};
  for (const auto& [choice, text, keys] : kinds) {
    QAction* action = menu.addAction(text, this, [this, choice = choice] { choose(choice); });
    action->setShortcut(QKeySequence(keys));
    action->setCheckable(true);
    action->setChecked(static_cast<int>(choice) == now);
    group->addAction(action);
  }
}

void Appearance::add_scales(QMenu& menu) {
  QMenu* scales = menu.addMenu(icon("projector"), tr("Font &size (projector)"));
  auto* group = new QActionGroup(this);
  const double now = settings_.value(kScale, 1.0).toDouble();
  const auto show = [this, scales](int percent) {
    scale(percent / 100.0);
    for (QAction* action : scales->actions()) action->setChecked(action->data().toInt() == percent);
  };
  for (const int percent : kPercents) {
    QAction* action =
        scales->addAction(QString("%1 %").arg(percent), this, [show, percent] { show(percent); });
    action->setData(percent);
    action->setShortcut(QKeySequence(QString("Ctrl+K, %1").arg(scales->actions().size())));
    action->setCheckable(true);
    action->setChecked(qRound(now * 100) == percent);
    group->addAction(action);
  }
  const auto next = [this](int way) {
    const int percent = qRound(settings_.value(kScale, 1.0).toDouble() * 100);
    const auto* at = std::ranges::lower_bound(kPercents, percent);
    return *std::clamp(at + way, std::begin(kPercents), std::end(kPercents) - 1);
  };
  scales->addSeparator();
  scales->addAction(tr("&Larger"), QKeySequence("Ctrl+K, +"), this,
                    [show, next] { show(next(1)); });
  scales->addAction(tr("&Smaller"), QKeySequence("Ctrl+K, -"), this,
                    [show, next] { show(next(-1)); });
}

}  // namespace trainyard::ui
