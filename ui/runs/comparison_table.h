// SPDX-License-Identifier: GPL-3.0-or-later
// Table of the settings that differ between runs and of their results, with one column per run. The
// tool tip of a result explains how it is computed.
#pragma once

#include <QTableWidget>
#include <functional>
#include <vector>

#include "ui/model/runs/run_directory.h"

namespace trainyard::ui {

class ComparisonTable : public QTableWidget {
  Q_OBJECT
 public:
  explicit ComparisonTable(QWidget* parent = nullptr);
  void show_runs(const std::vector<RunEntry>& runs);  // an empty list hides the table

 private:
  void fill(const std::vector<RunEntry>& runs);
  void head(const std::vector<RunEntry>& runs);
  void set_titles(const std::function<int(int column)>& widest);
  void fit();
  void resizeEvent(QResizeEvent* event) override;
  struct Title {
    QString name, started;
  };
  std::vector<Title> titles_;  // of the runs
};

}  // namespace trainyard::ui
