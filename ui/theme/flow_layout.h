// SPDX-License-Identifier: GPL-3.0-or-later
// Widgets in rows, as many a row as fit, each row as high as its highest.
#pragma once

#include <QLayout>
#include <QList>

namespace trainyard::ui {

class FlowLayout : public QLayout {
 public:
  // `columns`: every widget is as wide as a column, at least `least_width`, and rows are filled.
  // Else each has its own width.
  explicit FlowLayout(QWidget* parent, int spacing, int least_width = 0);
  ~FlowLayout() override;

  void addItem(QLayoutItem* item) override { items_.append(item); }
  int count() const override { return static_cast<int>(items_.size()); }
  QLayoutItem* itemAt(int index) const override { return items_.value(index); }
  QLayoutItem* takeAt(int index) override {
    return index >= 0 && index < items_.size() ? items_.takeAt(index) : nullptr;
  }
  void move(int from, int to);
  void set_least_width(int width);
  // Rows are as high as whole rows fill a page of this height, and no lower than their widgets want
  // where the page is not; 0: as high as they need.
  void set_page(int height);

  Qt::Orientations expandingDirections() const override { return {}; }
  bool hasHeightForWidth() const override { return true; }
  int heightForWidth(int width) const override { return arrange(QRect(0, 0, width, 0), false); }
  static int height_of(const QList<QSize>& sizes, int width,
                       int spacing);  // of widgets of these sizes in rows
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
  int arrange(const QRect& outer, bool placing) const;  // gives the height
  QSize size_of(const QLayoutItem& item, int width) const;
  void place(const QList<QLayoutItem*>& row, int left, int top, int width, int height) const;
  QList<QLayoutItem*> items_;
  int least_width_, page_ = 0;
};

}  // namespace trainyard::ui
