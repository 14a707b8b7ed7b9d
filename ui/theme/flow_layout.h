// SPDX-License-Identifier: GPL-3.0-or-later
// Layout of widgets in wrapped rows; each row is as high as its highest widget.
#pragma once

#include <QLayout>
#include <QList>

namespace trainyard::ui {

class FlowLayout : public QLayout {
 public:
  // Creates the layout. `min_width` > 0: widgets are in columns of at least that width, and the
  // columns fill the rows. `min_width` = 0: each widget has its preferred width.
  explicit FlowLayout(QWidget* parent, int spacing, int min_width = 0);
  ~FlowLayout() override;

  void addItem(QLayoutItem* item) override { items_.append(item); }
  int count() const override { return static_cast<int>(items_.size()); }
  QLayoutItem* itemAt(int index) const override { return items_.value(index); }
  QLayoutItem* takeAt(int index) override {
    return index >= 0 && index < items_.size() ? items_.takeAt(index) : nullptr;
  }
  void move(int from, int to);
  void set_min_width(int width);
  // Sets the height of a page. Rows are made higher so that they fill pages of this height exactly.
  // If it is 0, rows have their preferred height.
  void set_page(int height);

  Qt::Orientations expandingDirections() const override { return {}; }
  bool hasHeightForWidth() const override { return true; }
  int heightForWidth(int width) const override { return arrange(QRect(0, 0, width, 0), false); }
  // Returns the height that widgets of these sizes need after wrapping them into rows of this
  // width.
  static int height_of(const QList<QSize>& sizes, int width, int spacing);
  QSize minimumSize() const override;
  QSize sizeHint() const override { return minimumSize(); }
  void setGeometry(const QRect& rectangle) override;

 private:
  struct Row {
    QList<QLayoutItem*> items;
    int height = 0;
  };
  QList<Row> rows_in(int width) const;
  void fill_page(QList<Row>& rows) const;
  // Computes the rows and returns their total height. Moves the widgets only if `placing` is true.
  int arrange(const QRect& outer, bool placing) const;
  QSize size_of(const QLayoutItem& item, int width) const;
  void place(const QList<QLayoutItem*>& row, int left, int top, int width, int height) const;
  QList<QLayoutItem*> items_;
  int min_width_, page_ = 0;
};

}  // namespace trainyard::ui
