// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/stepper/step_model.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "ui/stepper/step_text.h"

namespace trainyard::ui {
namespace {

using collective::PartialSum;

bool covers(const collective::Move& move, int chunk) {
  return move.chunk <= chunk && chunk < move.chunk + move.chunks;
}

const PartialSum& at(const std::vector<std::vector<PartialSum>>& cells, int rank, int chunk) {
  return cells[static_cast<std::size_t>(rank)][static_cast<std::size_t>(chunk)];
}

}  // namespace

StepModel::StepModel(Stepper& stepper, QObject* parent)
    : QAbstractTableModel(parent), stepper_(stepper) {
  connect(&stepper, &Stepper::exercise_changed, this,
          [this] { beginResetModel(), endResetModel(); });
  connect(&stepper, &Stepper::step_changed, this, [this] {
    if (rowCount() == 0) return;
    emit dataChanged(index(0, 0), index(rowCount() - 1, columnCount() - 1));
    emit headerDataChanged(Qt::Vertical, 0, rowCount() - 1);
  });
}

int StepModel::rowCount(const QModelIndex& parent) const {
  return parent.isValid() ? 0 : stepper_.steps().members();
}
int StepModel::columnCount(const QModelIndex& parent) const {
  return parent.isValid() || rowCount() == 0 ? 0 : stepper_.steps().chunks();
}

CellLook StepModel::look(int rank, int chunk) const {
  const collective::Steps& steps = stepper_.steps();
  const PartialSum &held = at(stepper_.state().held, rank, chunk),
                   &scratch_sums = at(stepper_.state().scratch_sums, rank, chunk);
  CellLook look;
  if (is_empty(chunk)) return look;
  if (!held.of.empty())
    look.number = value_text(held.value), look.of = members_text(held.of, steps.exercise);
  if (!scratch_sums.of.empty()) look.scratch_sums = held_text(scratch_sums, steps.exercise);
  const bool sums = collective::is_reduction(steps.exercise.collective);
  if (!held.of.empty())
    look.share = sums ? static_cast<double>(held.of.size()) / steps.members() : 1;
  look.wanted = stepper_.complete(rank, chunk);
  look.agreement = stepper_.agreement(rank, chunk);
  if (look.agreement == Stepper::Agreement::other)
    look.had = tr("run: %1").arg(value_text(stepper_.after(rank, chunk)));
  if (const collective::Move* move = stepper_.move(); move && covers(*move, chunk)) {
    look.changed = move->to == rank;
    look.sent = move->from == rank && !look.changed;
  }
  return look;
}

QString StepModel::widest() const {
  std::vector<int> everyone(static_cast<std::size_t>(rowCount()));
  std::iota(everyone.begin(), everyone.end(), 0);
  const QString all = members_text(everyone, stepper_.steps().exercise);
  return has_partial_sums() ? "+ 000 (" + all + ")" : all;
}

QString StepModel::widest_rank() const {
  QString widest;
  for (int rank = 0; rank < rowCount(); ++rank) {
    const std::int64_t all = stepper_.steps().total_sent[static_cast<std::size_t>(rank)];
    if (const QString words = tr("sent %1").arg(bytes_so_far(all, all));
        words.size() > widest.size())
      widest = words;
  }
  return widest;
}

QString StepModel::widest_number() const {
  return has_recorded_values() ? "-0.00123456 ✓" : "-1234";
}

bool StepModel::has_partial_sums() const {
  return std::ranges::any_of(stepper_.steps().moves, [](const collective::Move& move) {
    return move.effect == collective::Effect::sums;
  });
}

QString StepModel::sent_text(int rank) const {
  const auto r = static_cast<std::size_t>(rank);
  return bytes_so_far(stepper_.state().sent[r], stepper_.steps().total_sent[r]);
}

QString StepModel::accessible_text(int rank, int chunk) const {
  const CellLook cell = look(rank, chunk);
  QStringList parts{tr("rank %1, chunk %2: %3")
                        .arg(named_rank(stepper_, rank))
                        .arg(chunk)
                        .arg(cell.number.isEmpty() ? tr("empty") : cell.number)};
  if (!cell.of.isEmpty()) parts << tr("from ranks %1").arg(cell.of);
  if (!cell.scratch_sums.isEmpty()) parts << tr("scratch %1").arg(cell.scratch_sums);
  if (cell.wanted) parts << tr("complete");
  if (const QString known = agreement_text(stepper_, rank, chunk); !known.isEmpty()) parts << known;
  if (cell.changed) parts << tr("changed by this step");
  if (cell.sent) parts << tr("sent in this step");
  return parts.join(", ");
}

QString StepModel::shown(int rank, int chunk) const {
  if (is_empty(chunk)) return tr("no elements");
  const QString held = held_text(at(stepper_.state().held, rank, chunk), stepper_.steps().exercise),
                known = agreement_text(stepper_, rank, chunk);
  return known.isEmpty() ? held : held + ", " + known;
}

QVariant StepModel::data(const QModelIndex& index, int role) const {
  const int rank = index.row(), chunk = index.column();
  switch (role) {
    case Qt::DisplayRole: return shown(rank, chunk);
    case Qt::EditRole: return at(stepper_.state().held, rank, chunk).value;
    case Qt::AccessibleTextRole: return accessible_text(rank, chunk);
    case Qt::ToolTipRole:
      return flags(index).testFlag(Qt::ItemIsEditable) ? tr("Type a number or double-click")
                                                       : accessible_text(rank, chunk);
    default: return {};
  }
}

QVariant StepModel::headerData(int section, Qt::Orientation orientation, int role) const {
  if (role != Qt::DisplayRole && !(role == Qt::AccessibleTextRole && orientation == Qt::Vertical))
    return {};
  if (orientation == Qt::Vertical) {
    const auto& hosts = stepper_.steps().exercise.hosts;
    const bool several =
        std::ranges::any_of(hosts, [&](int host) { return host != hosts.front(); });
    const QString rank = tr("rank %1").arg(named_rank(stepper_, section));
    if (role == Qt::AccessibleTextRole) return tr("%1 has sent %2").arg(rank, sent_text(section));
    return (several ? tr("%1, host %2").arg(rank).arg(hosts[static_cast<std::size_t>(section)])
                    : rank) +
           "\n" + tr("sent %1").arg(sent_text(section));
  }
  return tr("chunk %1\n%2")
      .arg(section)
      .arg(bytes_text(stepper_.steps().chunk_bytes[static_cast<std::size_t>(section)]));
}

Qt::ItemFlags StepModel::flags(const QModelIndex& index) const {
  const bool given = stepper_.step() == 0 && !stepper_.has_recorded_values() &&
                     stepper_.steps().given(index.row(), index.column());
  return QAbstractTableModel::flags(index) | (given ? Qt::ItemIsEditable : Qt::NoItemFlags);
}

bool StepModel::setData(const QModelIndex& index, const QVariant& value, int role) {
  bool number = false;
  const double typed = value.toDouble(&number);
  if (role != Qt::EditRole || !flags(index).testFlag(Qt::ItemIsEditable) || !number ||
      !std::isfinite(typed))
    return false;
  stepper_.set_value(index.row(), index.column(), typed);
  return true;
}

}  // namespace trainyard::ui
