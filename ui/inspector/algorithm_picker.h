// SPDX-License-Identifier: GPL-3.0-or-later
// Comparison of all-reduce algorithms below the fields of the strategy, with the cost of each on
// this drawing. A click sets the field. Pointing at an algorithm, or keeping the chosen one
// visible, shows its logical topology on the drawing.
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

  void set_selected(collective::Algorithm asked);  // by the document
  // if false, the picker and its picture are hidden
  void set_used(bool used);
  void show_offers(AlgorithmOffersPtr known);  // null: no device is drawn
  AlgorithmTable& table() { return *table_; }
  QCheckBox& keep() { return *keep_; }
  QString caption() const { return caption_->text(); }
  QString detail() const { return detail_->isHidden() ? QString() : detail_->text(); }
  // reason for the choice of `auto`, in one line; empty if not requested or not known yet
  QString reason() const;

 signals:
  void picked(collective::Algorithm algorithm);
  void picture_requested(const LogicalTopology& picture);  // without flows: none
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
