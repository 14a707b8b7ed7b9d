// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QScrollArea>
#include <QVBoxLayout>

namespace trainyard::ui {

// The controls of a panel that is wide and low, in a column beside its views. As wide as they ask
// for, whatever the size of type; where it is too low they scroll.
class SideColumn : public QScrollArea {
 public:
  explicit SideColumn(QWidget* parent);

  QWidget* inside() const { return inside_; }      // parent of the controls
  QVBoxLayout* column() const { return column_; }  // from edge to edge
  QVBoxLayout* add_indented();                  // at the end of the column: with room on both sides
  void finish(double times_minimum_width = 1);  // all controls are there

 private:
  QWidget* inside_;
  QVBoxLayout* column_;
};

}  // namespace trainyard::ui
