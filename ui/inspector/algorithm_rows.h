// SPDX-License-Identifier: GPL-3.0-or-later
// Rows of the table of algorithms as values, and a table model that formats them as symbols and
// text.
#pragma once

#include <QAbstractTableModel>

#include "ui/model/plan/algorithm_offers.h"

namespace trainyard::ui {

struct AlgorithmRow {
  collective::Offer offer;
  bool chosen = false;  // selected by name or by `auto`
  bool best = false;    // takes the least time

  bool fits() const { return offer.unfit_reason.empty(); }
  bool operator==(const AlgorithmRow&) const = default;
};

// Returns the rows of the table. `asked`: the value of the field strategy.algorithm.
std::vector<AlgorithmRow> algorithm_rows(const AlgorithmOffers& known, collective::Algorithm asked);

// Returns the description of an algorithm, or the reason why it cannot be used on this drawing.
QString help_of(const collective::Offer& offer);

class AlgorithmModel : public QAbstractTableModel {
  Q_OBJECT
 public:
  enum Column { name_column, rounds_column, busiest_column, time_column, columns };

  using QAbstractTableModel::QAbstractTableModel;
  // Replaces the rows. The rows of unchanged algorithms are kept, so that the view keeps its
  // current row.
  void set_rows(std::vector<AlgorithmRow> rows);
  const std::vector<AlgorithmRow>& rows() const { return rows_; }

  int rowCount(const QModelIndex& parent = {}) const override {
    return parent.isValid() ? 0 : static_cast<int>(rows_.size());
  }
  int columnCount(const QModelIndex& parent = {}) const override {
    return parent.isValid() ? 0 : columns;
  }
  QVariant data(const QModelIndex& index, int role) const override;
  QVariant headerData(int section, Qt::Orientation orientation, int role) const override;

 private:
  QString text(const AlgorithmRow& row, int column) const;
  QString accessible_text(const AlgorithmRow& row, int column) const;
  std::vector<AlgorithmRow> rows_;
};

}  // namespace trainyard::ui
