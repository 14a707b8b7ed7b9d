// SPDX-License-Identifier: GPL-3.0-or-later
// Tree model of the drawing: hosts with their devices, then switches, then links. Used by the tree
// view, which screen readers read.
#pragma once

#include <QAbstractItemModel>

#include "ui/model/document/document.h"
#include "ui/model/topology/topology_selection.h"

namespace trainyard::ui {

class TopologyItems : public QAbstractItemModel {
  Q_OBJECT
 public:
  enum Column { name_column, details_column, column_count };
  enum Role { kind_role = Qt::UserRole };  // the kind as in files: "gpu", "host", "switch", "link"

  explicit TopologyItems(Document& document, QObject* parent = nullptr);

  SelectedObjects selection_at(const QModelIndex& index) const;     // the object of a row
  QModelIndexList indexes_of(const SelectedObjects& picked) const;  // indexes in column 0

  QModelIndex index(int row, int column, const QModelIndex& parent = {}) const override;
  QModelIndex parent(const QModelIndex& child) const override;
  int rowCount(const QModelIndex& parent = {}) const override;
  int columnCount(const QModelIndex& parent = {}) const override;
  QVariant data(const QModelIndex& index, int role = Qt::DisplayRole) const override;
  QVariant headerData(int section, Qt::Orientation orientation,
                      int role = Qt::DisplayRole) const override;
  Qt::ItemFlags flags(const QModelIndex& index) const override;
  bool setData(const QModelIndex& index, const QVariant& value,
               int role = Qt::EditRole) override;  // renames the object

 signals:
  void refused(const QString& why);

 private:
  struct Row;
  Row row_at(const QModelIndex& index) const;
  QString kind_text(const Row& row) const;
  void refresh();

  Document& document_;
  topology::Topology shown_;
};

}  // namespace trainyard::ui
