// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/inspector/algorithm_table.h"

#include <QHeaderView>
#include <QHelpEvent>
#include <QKeyEvent>
#include <QMouseEvent>
#include <QToolTip>
#include <algorithm>

#include "ui/theme/theme.h"

namespace trainyard::ui {
namespace {

constexpr int kNarrowestName = 9;  // characters; longer names are elided

}  // namespace

AlgorithmTable::AlgorithmTable(QWidget* parent) : QTableView(parent) {
  setModel(&model_);
  setAccessibleName(tr("All-reduce algorithms"));
  setFrameShape(QFrame::NoFrame);
  setShowGrid(false);
  setWordWrap(false);
  setMouseTracking(true);
  setTabKeyNavigation(false);
  setSelectionBehavior(QAbstractItemView::SelectRows);
  setSelectionMode(QAbstractItemView::SingleSelection);
  setEditTriggers(QAbstractItemView::NoEditTriggers);
  setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
  setVerticalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
  setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Fixed);
  verticalHeader()->hide();
  horizontalHeader()->setSectionResizeMode(QHeaderView::ResizeToContents);
  horizontalHeader()->setSectionResizeMode(AlgorithmModel::name_column, QHeaderView::Stretch);
  horizontalHeader()->setHighlightSections(false);
  connect(this, &QTableView::clicked, this,
          [this](const QModelIndex& index) { pick(index.row()); });
  connect(&Theme::instance(), &Theme::changed, this, &AlgorithmTable::fit);
  fit();
}

void AlgorithmTable::fit() {
  const int line = fontMetrics().lineSpacing();
  verticalHeader()->setMinimumSectionSize(line);
  verticalHeader()->setDefaultSectionSize(line + kGrid / 2);
  updateGeometry();
  viewport()->update();
}

void AlgorithmTable::set_rows(std::vector<AlgorithmRow> rows) {
  model_.set_rows(std::move(rows));
  if (hovered_ >= model_.rowCount()) hovered_ = -1;
  updateGeometry();
  emit pointed_changed();
}

const AlgorithmRow* AlgorithmTable::pointed() const {
  const int row = hovered_ >= 0 ? hovered_ : hasFocus() ? currentIndex().row() : -1;
  return row >= 0 && row < model_.rowCount() ? &model_.rows()[static_cast<std::size_t>(row)]
                                             : nullptr;
}

QSize AlgorithmTable::sizeHint() const {
  const int rows = model_.rowCount() * verticalHeader()->defaultSectionSize();
  return {QTableView::sizeHint().width(),
          horizontalHeader()->sizeHint().height() + rows + 2 * frameWidth()};
}

QSize AlgorithmTable::minimumSizeHint() const {
  int width = kNarrowestName * fontMetrics().averageCharWidth();
  for (int column = AlgorithmModel::rounds_column; column < AlgorithmModel::columns; ++column)
    width += std::max(sizeHintForColumn(column), horizontalHeader()->sectionSizeHint(column));
  return {width, sizeHint().height()};
}

void AlgorithmTable::hover(int row) {
  if (row == hovered_) return;
  hovered_ = row;
  emit pointed_changed();
}

void AlgorithmTable::pick(int row) {
  if (row < 0 || row >= model_.rowCount()) return;
  const AlgorithmRow& one = model_.rows()[static_cast<std::size_t>(row)];
  if (one.fits() && !one.chosen) emit picked(one.offer.algorithm);
}

bool AlgorithmTable::viewportEvent(QEvent* event) {
  if (event->type() == QEvent::MouseMove)
    hover(indexAt(static_cast<QMouseEvent*>(event)->position().toPoint()).row());
  if (event->type() == QEvent::Leave) hover(-1);
  if (event->type() == QEvent::ToolTip)
    return show_help(indexAt(static_cast<QHelpEvent*>(event)->pos())), true;
  return QTableView::viewportEvent(event);
}

// Shows the tool tip below the table, because beside the pointer it would cover the next row.
void AlgorithmTable::show_help(const QModelIndex& index) {
  QToolTip::showText(mapToGlobal(visibleRegion().boundingRect().bottomLeft()),
                     index.data(Qt::ToolTipRole).toString(), viewport(), visualRect(index));
}

void AlgorithmTable::keyPressEvent(QKeyEvent* event) {
  const bool picks = event->key() == Qt::Key_Return || event->key() == Qt::Key_Enter ||
                     event->key() == Qt::Key_Space;
  if (!picks) return QTableView::keyPressEvent(event);
  pick(currentIndex().row());
}

// Keyboard focus starts at the selected algorithm.
void AlgorithmTable::focusInEvent(QFocusEvent* event) {
  QTableView::focusInEvent(event);
  const auto chosen = std::ranges::find_if(model_.rows(), &AlgorithmRow::chosen);
  if (event->reason() != Qt::MouseFocusReason && chosen != model_.rows().end())
    selectRow(static_cast<int>(chosen - model_.rows().begin()));
  emit pointed_changed();
}

void AlgorithmTable::focusOutEvent(QFocusEvent* event) {
  QTableView::focusOutEvent(event);
  clearSelection();
  emit pointed_changed();
}

void AlgorithmTable::changeEvent(QEvent* event) {
  QTableView::changeEvent(event);
  if (event->type() == QEvent::FontChange) fit();
}

void AlgorithmTable::currentChanged(const QModelIndex& current, const QModelIndex& previous) {
  QTableView::currentChanged(current, previous);
  emit pointed_changed();
}

}  // namespace trainyard::ui
