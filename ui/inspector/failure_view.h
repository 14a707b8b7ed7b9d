// SPDX-License-Identifier: GPL-3.0-or-later
// Text about failed ranks, by role: the effect on other ranks, and how the failed rank rejoins. It
// is below the fields of the strategy.
#pragma once

#include <QWidget>

#include "ui/model/text/fault_text.h"

namespace trainyard::ui {

class FailureView : public QWidget {
  Q_OBJECT
 public:
  explicit FailureView(QWidget* parent = nullptr);
  void show_lines(const std::vector<RoleFailure>& lines);  // an empty list hides the view
  // Returns all lines as text, for screen readers.
  QString text() const;

 private:
  std::vector<RoleFailure> lines_;
  QWidget* table_ = nullptr;
};

}  // namespace trainyard::ui
