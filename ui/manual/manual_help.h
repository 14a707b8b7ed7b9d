// SPDX-License-Identifier: GPL-3.0-or-later
// Access to the manual from a main window: actions of the Help menu, and F1 for help on the focused
// widget.
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

// Returns the location in the manual that explains a topic, or the table of contents if the manual
// does not explain it. For the fields "kind of strategy" and "algorithm", returns the page about
// the chosen value, such as the ring algorithm.
manual::ManualLocation place_of(const manual::Manual& manual, const ManualTopic& topic,
                                const experiment::StrategySpec& strategy);

class ManualHelp : public QObject {
  Q_OBJECT
 public:
  // `strategy`: function that returns the strategy of the shown experiment, which determines the
  // page of some fields.
  ManualHelp(QString directory, QSettings& settings,
             std::function<experiment::StrategySpec()> strategy, QObject* parent = nullptr);
  ~ManualHelp() override;

  // adds the actions for the manual and for help on the focused widget
  void fill_menu(QMenu& menu);
  void show_contents();
  void show_help_for(const QWidget* focused);
  ManualWindow* window() { return window_.get(); }  // null until the manual is first shown

 private:
  ManualWindow* opened();

  QString directory_;
  QSettings& settings_;
  std::function<experiment::StrategySpec()> strategy_;
  manual::Manual manual_;  // read when the manual is first shown
  std::unique_ptr<ManualWindow> window_;
};

}  // namespace trainyard::ui
