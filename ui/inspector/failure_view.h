// SPDX-License-Identifier: GPL-3.0-or-later
// Below the fields of the strategy: what the others do when a rank fails, by its role, and how it
// comes back.
#pragma once

#include <QWidget>

#include "ui/model/fault_words.h"

namespace trainyard::ui {

class FailureView : public QWidget {
  Q_OBJECT
 public:
  explicit FailureView(QWidget* parent = nullptr);
  void show_lines(const std::vector<RoleFailure>& lines);  // none: nothing is shown
  QString text() const;  // as it is read to those who cannot see it

 private:
  std::vector<RoleFailure> lines_;
  QWidget* table_ = nullptr;
};

}  // namespace trainyard::ui
