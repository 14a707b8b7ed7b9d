// SPDX-License-Identifier: GPL-3.0-or-later
// The table of what ranks hold: a row a rank, a column a chunk, and last what the rank has sent.
// Numbers can be set at the start.
#pragma once

#include <QAbstractTableModel>

#include "ui/stepper/stepper.h"

namespace trainyard::ui {

// A cell as it is painted.
struct CellLook {
  QString number, of;  // "12", "0+2"; empty: nothing yet
  QString aside;       // a sum beside it: "11 (0+1)"
  double share = 0;  // of the members, whose values are in it; where what the collective is for is
                     // no sum: 1 once it is there
  bool changed = false;  // by the last step
  bool sent = false;     // from here, in the last step
  bool wanted = false;   // what the collective is for, complete
  Stepper::Agreement agreement = Stepper::Agreement::unknown;  // with what the run had
  QString had;  // by the run, where that is another number
};

class StepModel : public QAbstractTableModel {
  Q_OBJECT
 public:
  explicit StepModel(Stepper& stepper, QObject* parent = nullptr);

  CellLook look(int rank, int chunk) const;
  QString widest() const;         // of what may stand in a cell, below the number
  QString widest_number() const;  // as a rule
  QString widest_rank() const;    // of what stands before a row, as a rule
  bool keeps_asides() const;      // at some step
  bool is_true() const { return stepper_.is_true(); }

  int rowCount(const QModelIndex& parent = {}) const override;
  int columnCount(const QModelIndex& parent = {}) const override;
  QVariant data(const QModelIndex& index, int role = Qt::DisplayRole) const override;
  QVariant headerData(int section, Qt::Orientation orientation,
                      int role = Qt::DisplayRole) const override;
  Qt::ItemFlags flags(const QModelIndex& index) const override;
  bool setData(const QModelIndex& index, const QVariant& value, int role = Qt::EditRole) override;

 private:
  bool is_empty(int chunk) const {
    return stepper_.steps().chunk_bytes[static_cast<std::size_t>(chunk)] == 0 && is_true();
  }
  QString shown(int rank, int chunk) const;
  QString sent_words(int rank) const;
  QString spoken(int rank, int chunk) const;

  Stepper& stepper_;
};

}  // namespace trainyard::ui
