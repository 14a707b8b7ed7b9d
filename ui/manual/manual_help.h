// SPDX-License-Identifier: GPL-3.0-or-later
// The manual of a main window: its entries in the Help menu, and F1 for the focused widget.
#pragma once

#include <QObject>
#include <QPointer>
#include <QSettings>
#include <functional>
#include <memory>

#include "core/experiment/experiment.h"
#include "core/manual/manual.h"
#include "ui/manual/manual_window.h"
#include "ui/theme/manual_topic.h"

class QMenu;

namespace trainyard::ui {

// Returns the place of a topic; the contents if it has none. The kind of strategy and the algorithm
// are explained by the pages of their values.
manual::ManualLocation place_of(const manual::Manual& manual, const ManualTopic& topic,
                                const experiment::StrategySpec& strategy);

class ManualHelp : public QObject {
  Q_OBJECT
 public:
  // `strategy` returns the strategy of the shown document.
  ManualHelp(QString directory, QSettings& settings,
             std::function<experiment::StrategySpec()> strategy, QObject* parent = nullptr);
  ~ManualHelp() override;

  void fill_menu(QMenu& menu);  // the manual, and help for the focused widget
  void show_contents();
  void show_help_for(const QWidget* focused);
  ManualWindow* window() { return window_.get(); }  // null before it is first shown

 private:
  ManualWindow* opened();

  QString directory_;
  QSettings& settings_;
  std::function<experiment::StrategySpec()> strategy_;
  manual::Manual manual_;  // read when it is first shown
  std::unique_ptr<ManualWindow> window_;
};

}  // namespace trainyard::ui
