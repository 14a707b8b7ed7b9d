// SPDX-License-Identifier: GPL-3.0-or-later
// Table model of the values that ranks hold. It has a row per rank, a column per chunk, and a last
// column with the bytes that the rank has sent. The user can set values before the first step.
#pragma once

#include <QAbstractTableModel>

#include "ui/stepper/stepper.h"

namespace trainyard::ui {

// Appearance of a cell.
struct CellLook {
  QString number, of;    // of: members that are included in the number; both empty: no value yet
  QString scratch_sums;  // partial sum stored beside the value: "11 (0+1)"
  // Fraction of the group's members whose values are included in the cell's number. If the
  // collective computes no sum, the fraction is 1 once the value has arrived.
  double share = 0;
  bool changed = false;  // true if the last step changed this cell
  bool sent = false;     // true if the last step sent this cell
  // true if the cell holds the complete result of the collective
  bool wanted = false;
  // Tells if the cell's number equals the value that the run recorded.
  Stepper::Agreement agreement = Stepper::Agreement::unknown;
  // Value that the run recorded, if it differs from the cell's number; otherwise empty.
  QString had;
};

class StepModel : public QAbstractTableModel {
  Q_OBJECT
 public:
  explicit StepModel(Stepper& stepper, QObject* parent = nullptr);

  CellLook look(int rank, int chunk) const;
  QString widest() const;         // widest text that a cell may show below its number
  QString widest_number() const;  // widest usual number
  QString widest_rank() const;    // widest usual row header
  bool has_partial_sums() const;  // true if partial sums exist at some step
  bool has_recorded_values() const { return stepper_.has_recorded_values(); }

  int rowCount(const QModelIndex& parent = {}) const override;
  int columnCount(const QModelIndex& parent = {}) const override;
  QVariant data(const QModelIndex& index, int role = Qt::DisplayRole) const override;
  QVariant headerData(int section, Qt::Orientation orientation,
                      int role = Qt::DisplayRole) const override;
  Qt::ItemFlags flags(const QModelIndex& index) const override;
  bool setData(const QModelIndex& index, const QVariant& value, int role = Qt::EditRole) override;

 private:
  bool is_empty(int chunk) const {
    return stepper_.steps().chunk_bytes[static_cast<std::size_t>(chunk)] == 0 &&
           has_recorded_values();
  }
  QString shown(int rank, int chunk) const;
  QString sent_text(int rank) const;
  QString accessible_text(int rank, int chunk) const;

  Stepper& stepper_;
};

}  // namespace trainyard::ui
