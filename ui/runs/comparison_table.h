// SPDX-License-Identifier: GPL-3.0-or-later
// What differs between runs and what came of them, a column a run; each figure's tool tip says how
// it is reckoned.
#pragma once

#include <QTableWidget>
#include <vector>

#include "ui/model/run_directory.h"

namespace trainyard::ui {

class ComparisonTable : public QTableWidget {
  Q_OBJECT
 public:
  explicit ComparisonTable(QWidget* parent = nullptr);
  void show_runs(const std::vector<RunEntry>& runs);  // none: hides

 private:
  void fill(const std::vector<RunEntry>& runs);
  void head(const std::vector<RunEntry>& runs);
  void fit();
};

}  // namespace trainyard::ui
