// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QScrollArea>
#include <QVBoxLayout>

namespace trainyard::ui {

// Column of controls beside the views of a wide, low panel. The column is as wide as its controls
// at any font size, and scrolls if it is higher than the panel.
class SideColumn : public QScrollArea {
 public:
  explicit SideColumn(QWidget* parent);

  QWidget* inside() const { return inside_; }      // parent of the controls
  QVBoxLayout* column() const { return column_; }  // layout for controls that take the full width
  // adds a layout at the end of the column, with margins on both sides
  QVBoxLayout* add_indented();
  void finish(double times_minimum_width = 1);  // call after all controls are added

 private:
  QWidget* inside_;
  QVBoxLayout* column_;
};

}  // namespace trainyard::ui
