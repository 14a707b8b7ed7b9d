// SPDX-License-Identifier: GPL-3.0-or-later
// Effect of failed ranks, by role, and how they rejoin; below the fields of the strategy.
#pragma once

#include <QWidget>

#include "ui/model/text/fault_text.h"

namespace trainyard::ui {

class FailureView : public QWidget {
  Q_OBJECT
 public:
  explicit FailureView(QWidget* parent = nullptr);
  void show_lines(const std::vector<RoleFailure>& lines);  // an empty list hides the view
  // the lines as text, which screen readers read
  QString text() const;

 private:
  std::vector<RoleFailure> lines_;
  QWidget* table_ = nullptr;
};

}  // namespace trainyard::ui
