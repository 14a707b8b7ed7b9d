// SPDX-License-Identifier: GPL-3.0-or-later
// The table on the screen: the number large, below it whose values are in it. The more are, the
// stronger the ground; what the collective is for is green and says so by all its ranks; a frame is
// around what the last step changed, a dashed one around what it sent. Before a row stands how much
// its rank has sent so far.
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
  int rank() const;    // that is selected; 0 where none is
  void reveal_step();  // scrolls to what the last step changed

 signals:
  void rank_changed();

 protected:
  void currentChanged(const QModelIndex& current, const QModelIndex& previous) override;

 private:
  void fit();

  Stepper& stepper_;
  StepModel* model_;
  StepDelegate* delegate_;
  int kept_ = 0;  // the rank that was selected last, for the next exercise
};

}  // namespace trainyard::ui
