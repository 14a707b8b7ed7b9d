// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/canvas/topology_tree.h"

#include <QHeaderView>
#include <QItemSelectionModel>
#include <QKeyEvent>
#include <QScopedValueRollback>
#include <QStyledItemDelegate>
#include <algorithm>

#include "ui/model/topology/topology_edit.h"
#include "ui/theme/icons.h"

namespace trainyard::ui {
namespace {

// Shows the kind as an icon before the name, because text would take the room of the details.
// Screen readers get the text.
class KindIcons : public QStyledItemDelegate {
 public:
  using QStyledItemDelegate::QStyledItemDelegate;

 protected:
  void initStyleOption(QStyleOptionViewItem* option, const QModelIndex& index) const override {
    QStyledItemDelegate::initStyleOption(option, index);
    if (index.column() != TopologyItems::name_column) return;
    option->features |= QStyleOptionViewItem::HasDecoration;
    option->icon = icon(index.data(TopologyItems::kind_role).toString());
  }
};

}  // namespace

TopologyTree::TopologyTree(Document& document, Selection& selection, QWidget* parent)
    : QTreeView(parent), document_(document), selection_(selection), items_(document) {
  setObjectName("topology_tree");
  setAccessibleName(tr("Topology"));
  setModel(&items_);
  setItemDelegate(new KindIcons(this));
  setFrameShape(NoFrame);
  setSelectionMode(ExtendedSelection);
  setEditTriggers(EditKeyPressed | SelectedClicked);
  setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
  header()->setSectionResizeMode(QHeaderView::Fixed);
  header()->setMinimumSectionSize(1);
  header()->setStretchLastSection(false);
  expandAll();
  const auto refilled = [this] {
    expandAll();
    show_selection();
    fit_columns();
  };
  connect(&items_, &QAbstractItemModel::modelReset, this, refilled);
  connect(&items_, &QAbstractItemModel::dataChanged, this, &TopologyTree::fit_columns);
  connect(&items_, &TopologyItems::refused, this, &TopologyTree::message);
  connect(&selection, &Selection::selection_changed, this, &TopologyTree::show_selection);
  connect(selectionModel(), &QItemSelectionModel::selectionChanged, this,
          &TopologyTree::take_selection);
  show_selection();
}

// Sizes the columns. The name column gets its full width, but leaves up to two fifths of the tree's
// width to the details if they need it. The inspector shows full names and details.
void TopologyTree::fit_columns() {
  const auto wanted = [this](int column) {
    return std::max(sizeHintForColumn(column), header()->sectionSizeHint(column));
  };
  const int whole = viewport()->width();
  const int name = std::min(wanted(TopologyItems::name_column),
                            std::max(whole - wanted(TopologyItems::details_column), 3 * whole / 5));
  header()->resizeSection(TopologyItems::name_column, name);
  header()->resizeSection(TopologyItems::details_column, whole - name);
}

void TopologyTree::resizeEvent(QResizeEvent* event) {
  QTreeView::resizeEvent(event);
  fit_columns();
}

void TopologyTree::changeEvent(QEvent* event) {
  QTreeView::changeEvent(event);
  if (event->type() == QEvent::FontChange || event->type() == QEvent::StyleChange) fit_columns();
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
  SelectedObjects picked;
  for (const QModelIndex& index : selectionModel()->selectedRows()) {
    const SelectedObjects one = items_.selection_at(index);
    picked.names.insert(one.names.begin(), one.names.end());
    picked.links.insert(one.links.begin(), one.links.end());
  }
  selection_.set(std::move(picked));
}

void TopologyTree::keyPressEvent(QKeyEvent* event) {
  if (event->key() != Qt::Key_Delete) return QTreeView::keyPressEvent(event);
  const SelectedObjects picked = selection_.picked();
  document_.edit(tr("Delete"), [&](experiment::Experiment& e) { remove(e.topology, picked); });
}

}  // namespace trainyard::ui
