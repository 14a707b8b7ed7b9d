// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/manual/manual_help.h"

#include <QApplication>
#include <QMenu>
#include <QMessageBox>
#include <utility>

#include "core/base/names.h"
#include "core/experiment/fields.h"

namespace trainyard::ui {

manual::ManualLocation place_of(const manual::Manual& manual, const ManualTopic& topic,
                                const experiment::StrategySpec& strategy) {
  if (topic.problem)
    if (const auto place = manual.problem(*topic.problem)) return *place;
  if (topic.field == "strategy.kind")
    if (const auto place = manual.strategy(base::name_of(strategy.kind))) return *place;
  if (topic.field == "strategy.algorithm")
    if (const auto place = manual.algorithm(base::name_of(strategy.algorithm))) return *place;
  if (!topic.field.isEmpty())
    if (const auto place = manual.field(topic.field.toStdString())) return *place;
  if (!topic.topic.isEmpty())
    if (const auto place = manual.find(topic.topic.toStdString())) return *place;
  if (const auto place = manual.panel(topic.panel.toStdString())) return *place;
  return {std::string(manual::kContentsPage), "", ""};
}

ManualHelp::ManualHelp(QString directory, QSettings& settings,
                       std::function<experiment::StrategySpec()> strategy, QObject* parent)
    : QObject(parent),
      directory_(std::move(directory)),
      settings_(settings),
      strategy_(std::move(strategy)) {}

ManualHelp::~ManualHelp() = default;

void ManualHelp::fill_menu(QMenu& menu) {
  menu.addAction(tr("&Manual"), this, &ManualHelp::show_contents);
  menu.addAction(tr("&Help on the focused field or panel"), QKeySequence("F1"), this,
                 [this] { show_help_for(QApplication::focusWidget()); });
}

// Returns the window of the manual, which is created at the first call. If the manual is missing,
// shows a warning and returns null.
ManualWindow* ManualHelp::opened() {
  if (window_) return window_.get();
  auto loaded = manual::Manual::load(directory_.toStdString());
  if (!loaded) {
    QMessageBox::warning(QApplication::activeWindow(), tr("Manual"),
                         QString::fromStdString(base::to_string(loaded.error())));
    return nullptr;
  }
  manual_ = std::move(*loaded);
  window_ = std::make_unique<ManualWindow>(manual_, directory_, settings_);
  return window_.get();
}

void ManualHelp::show_contents() {
  if (ManualWindow* window = opened())
    window->show_place({std::string(manual::kContentsPage), "", ""});
}

void ManualHelp::show_help_for(const QWidget* focused) {
  ManualWindow* window = opened();
  if (window) window->show_place(place_of(manual_, manual_topic_of(focused), strategy_()));
}

}  // namespace trainyard::ui
