// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/stepper/step_table.h"

#include <QHeaderView>
#include <QPainter>
#include <algorithm>

#include "ui/theme/theme.h"

namespace trainyard::ui {
namespace {

// Font sizes of a cell's number and of the list of members below it, relative to the application's
// font.
constexpr double kNumberSize = 1.25, kOfSize = 0.9;

QFont number_font() { return Theme::instance().font(kNumberSize, true); }
QFont of_font() { return Theme::instance().font(kOfSize); }

// Returns the background of a cell. It is pale, so that the text keeps its contrast.
QColor ground(const CellLook& look) {
  const Colors& colors = Theme::instance().colors();
  if (look.agreement == Stepper::Agreement::other) return mixed(colors.card, colors.error, 0.22);
  if (look.wanted) return mixed(colors.card, colors.ok, 0.22);
  return look.number.isEmpty() ? colors.card
                               : mixed(colors.card, colors.accent, 0.05 + 0.35 * look.share);
}

// Returns the value of a cell as text, with a tick if it equals the value that the run recorded.
QString number_of(const CellLook& look) {
  if (look.number.isEmpty()) return QStringLiteral("·");
  switch (look.agreement) {
    case Stepper::Agreement::same: return look.number + QStringLiteral(" ✓");
    case Stepper::Agreement::other: return look.number + QStringLiteral(" ≠");
    case Stepper::Agreement::unknown: break;
  }
  return look.number;
}

void paint_frame(QPainter& painter, const QRect& cell, const CellLook& look) {
  if (!look.changed && !look.sent) return;
  const int width = Theme::instance().pixels(look.changed ? 3 : 2);
  const Colors& colors = Theme::instance().colors();
  painter.setPen(QPen(look.changed ? colors.accent : colors.dim, width,
                      look.changed ? Qt::SolidLine : Qt::DashLine, Qt::SquareCap, Qt::MiterJoin));
  painter.setBrush(Qt::NoBrush);
  const int inset = width / 2 + 1;
  painter.drawRect(cell.adjusted(inset, inset, -inset, -inset));
}

// Paints the focus frame inside the frames that mark changed and sent cells.
void paint_focus(QPainter& painter, const QRect& cell) {
  const int inset = Theme::instance().pixels(5);
  painter.setPen(QPen(Theme::instance().colors().text, 1, Qt::DotLine));
  painter.setBrush(Qt::NoBrush);
  painter.drawRect(cell.adjusted(inset, inset, -inset, -inset));
}

}  // namespace

StepDelegate::StepDelegate(StepModel& model, QObject* parent)
    : QStyledItemDelegate(parent), model_(model) {}

QSize StepDelegate::cell_size() const {
  const QFontMetrics number(number_font()), of(of_font());
  const int lines = model_.has_partial_sums() || model_.has_recorded_values() ? 2 : 1;
  const int width = std::max(
      {number.horizontalAdvance(model_.widest_number()), of.horizontalAdvance(model_.widest())});
  return {width + 2 * kGrid, number.height() + lines * of.height() + kGrid};
}

void StepDelegate::paint(QPainter* painter, const QStyleOptionViewItem& option,
                         const QModelIndex& index) const {
  const CellLook look = model_.look(index.row(), index.column());
  const Colors& colors = Theme::instance().colors();
  painter->save();
  painter->fillRect(option.rect, ground(look));
  const QFontMetrics number(number_font()), of(of_font());
  QRect line(option.rect.left(), option.rect.top() + kGrid / 2, option.rect.width(),
             number.height());
  painter->setPen(look.number.isEmpty() ? colors.dim : colors.text);
  painter->setFont(number_font());
  painter->drawText(line, Qt::AlignCenter, number_of(look));
  painter->setFont(of_font());
  line = QRect(line.left(), line.bottom() + 1, line.width(), of.height());
  painter->drawText(line, Qt::AlignCenter, look.of);
  if (!look.had.isEmpty())
    painter->drawText(line.translated(0, of.height()), Qt::AlignCenter, look.had);
  if (!look.scratch_sums.isEmpty())
    painter->drawText(line.translated(0, of.height()), Qt::AlignCenter, "+ " + look.scratch_sums);
  paint_frame(*painter, option.rect, look);
  if (option.state & QStyle::State_HasFocus) paint_focus(*painter, option.rect);
  painter->restore();
}

StepTable::StepTable(Stepper& stepper, QWidget* parent)
    : QTableView(parent),
      stepper_(stepper),
      model_(new StepModel(stepper, this)),
      delegate_(new StepDelegate(*model_, this)) {
  setModel(model_);
  setItemDelegate(delegate_);
  setSelectionMode(QAbstractItemView::SingleSelection);
  setEditTriggers(DoubleClicked | EditKeyPressed | AnyKeyPressed);
  setAccessibleName(tr("Chunks of every rank"));
  setCornerButtonEnabled(false);
  setFrameShape(QFrame::NoFrame);
  setTabKeyNavigation(false);
  for (QHeaderView* header : {horizontalHeader(), verticalHeader()})
    header->setSectionResizeMode(QHeaderView::Fixed), header->setHighlightSections(true);
  connect(model_, &QAbstractItemModel::modelReset, this, &StepTable::fit);
  connect(&Theme::instance(), &Theme::changed, this, &StepTable::fit);
  fit();
}

int StepTable::rank() const { return std::max(0, currentIndex().row()); }

// Sizes the cells for the widest content of any step, so that they keep their positions from step
// to step.
void StepTable::fit() {
  const QSize cell = delegate_->cell_size();
  horizontalHeader()->setDefaultSectionSize(cell.width());
  verticalHeader()->setFixedWidth(
      QFontMetrics(Theme::instance().font(1, true)).horizontalAdvance(model_->widest_rank()) +
      2 * kGrid);
  verticalHeader()->setDefaultSectionSize(cell.height());
  verticalHeader()->setMinimumSectionSize(cell.height());
  if (model_->rowCount() > 0 && !currentIndex().isValid())
    setCurrentIndex(model_->index(std::min(kept_, model_->rowCount() - 1), 0));
}

void StepTable::reveal_step() {
  if (const collective::Move* move = stepper_.move())
    scrollTo(model_->index(move->to, move->chunk));
}

void StepTable::currentChanged(const QModelIndex& current, const QModelIndex& previous) {
  QTableView::currentChanged(current, previous);
  if (current.isValid()) kept_ = current.row();
  if (current.row() != previous.row()) emit rank_changed();
}

}  // namespace trainyard::ui
