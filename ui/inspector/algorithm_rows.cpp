// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/inspector/algorithm_rows.h"

#include "core/base/units.h"
#include "ui/inspector/field_text.h"
#include "ui/theme/theme.h"

namespace trainyard::ui {

using collective::Algorithm;

std::vector<AlgorithmRow> algorithm_rows(const AlgorithmOffers& known, Algorithm asked) {
  const Algorithm chosen = asked == Algorithm::automatic ? known.automatic.algorithm : asked;
  std::vector<AlgorithmRow> rows;
  for (const collective::Offer& offer : known.offers)
    rows.push_back({offer, offer.algorithm == chosen,
                    offer.unfit_reason.empty() && offer.algorithm == known.automatic.algorithm});
  return rows;
}

QString help_of(const collective::Offer& offer) {
  if (offer.unfit_reason.empty())
    return QString::fromUtf8(collective::description(offer.algorithm)) + ".";
  return AlgorithmModel::tr("Not possible on this drawing: %1.")
      .arg(QString::fromStdString(offer.unfit_reason));
}

void AlgorithmModel::set_rows(std::vector<AlgorithmRow> rows) {
  if (rows == rows_) return;
  if (rows.size() == rows_.size()) {
    rows_ = std::move(rows);
    emit dataChanged(index(0, 0), index(rowCount() - 1, columns - 1));
    return;
  }
  beginResetModel();
  rows_ = std::move(rows);
  endResetModel();
}

QString AlgorithmModel::text(const AlgorithmRow& row, int column) const {
  const collective::Cost& cost = row.offer.cost;
  if (column == name_column)
    return (row.chosen ? "● " : "○ ") + readable(std::string(base::name_of(row.offer.algorithm)));
  if (!row.fits()) return "—";
  if (column == rounds_column) return QString::number(cost.rounds);
  const std::string figure = column == busiest_column
                                 ? base::format_bytes(static_cast<double>(cost.busiest_bytes))
                                 : base::format_seconds(cost.seconds);
  return QString::fromStdString(figure);
}

// Returns the text of a cell for screen readers. It replaces the symbols that the cell shows.
QString AlgorithmModel::accessible_text(const AlgorithmRow& row, int column) const {
  if (column == name_column) {
    const QString name = readable(std::string(base::name_of(row.offer.algorithm)));
    return !row.fits()  ? tr("%1, not possible").arg(name)
           : row.chosen ? tr("%1, chosen").arg(name)
                        : name;
  }
  return column == time_column && row.best ? tr("%1, lowest").arg(text(row, column))
                                           : text(row, column);
}

QVariant AlgorithmModel::data(const QModelIndex& index, int role) const {
  const AlgorithmRow& row = rows_[static_cast<std::size_t>(index.row())];
  const Colors& colors = Theme::instance().colors();
  const bool least = row.best && index.column() == time_column;
  switch (role) {
    case Qt::DisplayRole: return text(row, index.column());
    case Qt::AccessibleTextRole: return accessible_text(row, index.column());
    case Qt::ToolTipRole:
      return help_of(row.offer) + (least ? " " + tr("Lowest time of all algorithms.") : QString());
    case Qt::TextAlignmentRole:
      return QVariant(Qt::AlignVCenter |
                      (index.column() == name_column ? Qt::AlignLeft : Qt::AlignRight));
    case Qt::FontRole: return Theme::instance().font(1, least);
    case Qt::ForegroundRole: return !row.fits() ? colors.dim : least ? colors.ok : colors.text;
    default: return {};
  }
}

QVariant AlgorithmModel::headerData(int section, Qt::Orientation orientation, int role) const {
  if (orientation != Qt::Horizontal) return {};
  const auto say = [&](const QString& title, const QString& help) -> QVariant {
    if (role == Qt::DisplayRole) return title;
    if (role == Qt::TextAlignmentRole)
      return QVariant(Qt::AlignBottom | (section == name_column ? Qt::AlignLeft : Qt::AlignRight));
    return role == Qt::ToolTipRole ? QVariant(help) : QVariant();
  };
  switch (section) {
    case name_column:
      return say(tr("Algorithm"), tr("● used by the run, set by name or chosen by auto"));
    case rounds_column:
      return say(tr("Rounds"),
                 tr("Number of rounds; all sends and receives of a round start together"));
    case busiest_column:
      return say(tr("Busiest\nsends"), tr("Bytes sent by the rank that sends the most"));
    case time_column:
      return say(
          tr("Time"),
          tr("Predicted time on the drawn links; each round waits for its slowest transfer"));
    default: return {};
  }
}

}  // namespace trainyard::ui
