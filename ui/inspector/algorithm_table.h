// SPDX-License-Identifier: GPL-3.0-or-later
// Table of algorithms, as high as its rows. The current row is the one under the mouse, otherwise
// the one with keyboard focus. A click, Enter or Space selects the algorithm of the current row if
// the experiment supports it.
#pragma once

#include <QTableView>

#include "ui/inspector/algorithm_rows.h"

namespace trainyard::ui {

class AlgorithmTable : public QTableView {
  Q_OBJECT
 public:
  explicit AlgorithmTable(QWidget* parent = nullptr);
  void set_rows(std::vector<AlgorithmRow> rows);
  const std::vector<AlgorithmRow>& rows() const { return model_.rows(); }
  const AlgorithmRow* pointed() const;  // null if there is no current row

  QSize sizeHint() const override;
  QSize minimumSizeHint() const override;

 signals:
  void pointed_changed();
  void picked(collective::Algorithm algorithm);

 protected:
  bool viewportEvent(QEvent* event) override;
  void keyPressEvent(QKeyEvent* event) override;
  void focusInEvent(QFocusEvent* event) override;
  void focusOutEvent(QFocusEvent* event) override;
  void changeEvent(QEvent* event) override;
  void currentChanged(const QModelIndex& current, const QModelIndex& previous) override;

 private:
  void fit();
  void hover(int row);
  void show_help(const QModelIndex& index);
  void pick(int row);
  AlgorithmModel model_;
  int hovered_ = -1;
};

}  // namespace trainyard::ui
