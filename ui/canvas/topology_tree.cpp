// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/canvas/topology_tree.h"

#include <QHeaderView>
#include <QItemSelectionModel>
#include <QKeyEvent>
#include <QScopedValueRollback>

#include "ui/model/topology_edit.h"

namespace trainyard::ui {

TopologyTree::TopologyTree(Document& document, Selection& selection, QWidget* parent)
    : QTreeView(parent), document_(document), selection_(selection), items_(document) {
  setObjectName("topology_tree");
  setAccessibleName(tr("Topology"));
  setModel(&items_);
  setFrameShape(NoFrame);
  setSelectionMode(ExtendedSelection);
  setEditTriggers(EditKeyPressed | SelectedClicked);
  header()->setSectionResizeMode(QHeaderView::ResizeToContents);
  expandAll();
  const auto refilled = [this] {
    expandAll();
    show_selection();
  };
  connect(&items_, &QAbstractItemModel::modelReset, this, refilled);
  connect(&items_, &TopologyItems::refused, this, &TopologyTree::message);
  connect(&selection, &Selection::selection_changed, this, &TopologyTree::show_selection);
  connect(selectionModel(), &QItemSelectionModel::selectionChanged, this, &TopologyTree::take_selection);
  show_selection();
}

void TopologyTree::show_selection() {
  if (syncing_) return;
  const QScopedValueRollback guard(syncing_, true);
  selectionModel()->clearSelection();
  for (const QModelIndex& index : items_.indexes_of(selection_.picked())) {
    selectionModel()->select(index, QItemSelectionModel::Select | QItemSelectionModel::Rows);
    scrollTo(index);
  }
}

void TopologyTree::take_selection() {
  if (syncing_) return;
  const QScopedValueRollback guard(syncing_, true);
  Picked picked;
  for (const QModelIndex& index : selectionModel()->selectedRows()) {
    const Picked one = items_.picked_at(index);
    picked.names.insert(one.names.begin(), one.names.end());
    picked.links.insert(one.links.begin(), one.links.end());
  }
  selection_.set(std::move(picked));
}

void TopologyTree::keyPressEvent(QKeyEvent* event) {
  if (event->key() != Qt::Key_Delete) return QTreeView::keyPressEvent(event);
  const Picked picked = selection_.picked();
  document_.edit(tr("Delete"), [&](experiment::Experiment& e) { remove(e.topology, picked); });
}

}  // namespace trainyard::ui
