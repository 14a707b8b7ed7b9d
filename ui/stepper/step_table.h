// SPDX-License-Identifier: GPL-3.0-or-later
// Table view of the values. A cell shows its number, and below it the members whose values are
// included. The background is stronger the more members are included; a complete result is green. A
// solid frame marks cells that the last step changed, a dashed frame cells that it sent. Row
// headers show the bytes that the rank has sent so far.
#pragma once

#include <QStyledItemDelegate>
#include <QTableView>

#include "ui/stepper/step_model.h"

namespace trainyard::ui {

class StepDelegate : public QStyledItemDelegate {
  Q_OBJECT
 public:
  StepDelegate(StepModel& model, QObject* parent);
  QSize cell_size() const;
  void paint(QPainter* painter, const QStyleOptionViewItem& option,
             const QModelIndex& index) const override;

 private:
  StepModel& model_;
};

class StepTable : public QTableView {
  Q_OBJECT
 public:
  explicit StepTable(Stepper& stepper, QWidget* parent = nullptr);
  int rank() const;    // the selected rank; 0 if none
  void reveal_step();  // scrolls to the cells that the last step changed

 signals:
  void rank_changed();

 protected:
  void currentChanged(const QModelIndex& current, const QModelIndex& previous) override;

 private:
  void fit();

  Stepper& stepper_;
  StepModel* model_;
  StepDelegate* delegate_;
  int kept_ = 0;  // rank that was selected last; it is selected again in the next exercise
};

}  // namespace trainyard::ui
