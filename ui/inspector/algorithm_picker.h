// SPDX-License-Identifier: GPL-3.0-or-later
// Comparison of the all-reduce algorithms, with the cost of each on the current drawing. It is
// below the fields of the strategy. A click on an algorithm chooses it for the strategy. The
// drawing shows the logical topology of the algorithm under the mouse, or, if the user wants it, of
// the chosen algorithm while the picker is visible.
#pragma once

#include <QWidget>

#include "ui/inspector/algorithm_table.h"
#include "ui/theme/tinted_label.h"

class QCheckBox;

namespace trainyard::ui {

class AlgorithmPicker : public QWidget {
  Q_OBJECT
 public:
  explicit AlgorithmPicker(QWidget* parent = nullptr);

  void set_selected(collective::Algorithm asked);  // asked: the document's algorithm
  // Sets whether the strategy uses an algorithm. If not, the picker is hidden, and the drawing
  // shows no logical topology.
  void set_used(bool used);
  void show_offers(AlgorithmOffersPtr known);  // null if no device is drawn
  AlgorithmTable& table() { return *table_; }
  QCheckBox& keep() { return *keep_; }
  QString caption() const { return caption_->text(); }
  QString detail() const { return detail_->isHidden() ? QString() : detail_->text(); }
  // Returns the reason why `auto` chose its algorithm, in one line. Empty if the document does not
  // use `auto`, or if the reason is not known yet.
  QString reason() const;

 signals:
  void picked(collective::Algorithm algorithm);
  void picture_requested(const LogicalTopology& picture);  // without flows, nothing is drawn
  void reason_changed();

 private:
  void refresh();
  void point();
  QString caption_of() const;
  QString detail_of(const AlgorithmRow& row) const;
  void reserve_lines();
  void changeEvent(QEvent* event) override;

  collective::Algorithm asked_ = collective::Algorithm::ring;
  AlgorithmOffersPtr known_;
  LogicalTopology wanted_;
  TintedLabel *caption_, *detail_;
  AlgorithmTable* table_;
  QCheckBox* keep_;
};

}  // namespace trainyard::ui
