// SPDX-License-Identifier: GPL-3.0-or-later
// Welcome page: three examples, the recent files, and buttons for open and new.
#pragma once

#include <QWidget>
#include <vector>

#include "ui/model/document/recent_files.h"
#include "ui/welcome/example_card.h"

class QGridLayout;
class QLabel;
class QVBoxLayout;

namespace trainyard::ui {

class WelcomePage : public QWidget {
  Q_OBJECT
 public:
  WelcomePage(const QString& examples_directory, RecentFiles& recent, QWidget* parent = nullptr);
  const std::vector<ExampleCard*>& cards() const { return cards_; }
  // Sets the name of the live run or sweep. While there is one, no example can be run. An empty
  // name means that there is none.
  void set_live_run(const QString& name);

 signals:
  void run_requested(const experiment::Experiment& experiment, const QString& file);
  void open_requested(const QString& file);
  void open_dialog_requested();
  void new_requested();

 protected:
  void resizeEvent(QResizeEvent* event) override;

 private:
  QWidget* build_content();
  QWidget* build_start();
  void fill_examples(const QString& directory);
  void fill_recent();
  void arrange();

  RecentFiles& recent_;
  std::vector<ExampleCard*> cards_;
  QGridLayout* examples_ = nullptr;
  QVBoxLayout* recents_ = nullptr;
  QWidget* no_examples_ = nullptr;
  QLabel* live_run_ = nullptr;
};

}  // namespace trainyard::ui
