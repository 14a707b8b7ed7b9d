// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/model/document/topology_items.h"

#include <algorithm>

#include "core/experiment/placement.h"
#include "ui/model/topology/topology_edit.h"
#include "ui/model/topology/topology_text.h"

namespace trainyard::ui {
namespace {

using topology::Topology;

// True if both drawings have equally many rows at the same places. The text of the rows may differ.
bool same_rows(const Topology& a, const Topology& b) {
  const auto devices = [](const topology::Host& host) { return host.devices.size(); };
  return std::ranges::equal(a.hosts, b.hosts, {}, devices, devices) &&
         a.switches.size() == b.switches.size() && a.links.size() == b.links.size();
}

}  // namespace

// The object of the drawing that a row shows; exactly one pointer is set.
struct TopologyItems::Row {
  const topology::Host* host = nullptr;
  const topology::Device* device = nullptr;
  const topology::Switch* one_switch = nullptr;
  const topology::Link* link = nullptr;

  QString name() const {
    if (link) return as_text(link->from) + " – " + as_text(link->to);
    return as_text(host ? host->name : device ? device->name : one_switch->name);
  }
  QString kind() const {
    return host         ? tr("host")
           : device     ? as_text(device->kind)
           : one_switch ? tr("switch")
                        : tr("link");
  }
  QString kind_in_files() const {
    return host     ? QString("host")
           : device ? as_text(device->kind)
                    : QString(one_switch ? "switch" : "link");
  }
  QString details(const Topology& topology) const {
    if (host) return address_text(*host);
    if (one_switch) return {};
    if (link) return speed_text(link->bandwidth_bits_per_second, link->latency_seconds);
    return role_text(topology, *device) + ", " + device_figures(*device);
  }
};

TopologyItems::TopologyItems(Document& document, QObject* parent)
    : QAbstractItemModel(parent),
      document_(document),
      shown_(without_positions(document.experiment().topology)) {
  connect(&document, &Document::changed, this, &TopologyItems::refresh);
}

void TopologyItems::refresh() {
  // Removes the positions from the copy, because moving an object on the canvas does not change
  // this model.
  const Topology now = without_positions(document_.experiment().topology);
  if (now == shown_) return;
  if (!same_rows(now, shown_)) {
    beginResetModel();
    shown_ = now;
    endResetModel();
    return;
  }
  shown_ = now;
  emit dataChanged(index(0, 0), index(rowCount() - 1, column_count - 1));
  for (int row = 0; row < static_cast<int>(shown_.hosts.size()); ++row)
    if (const QModelIndex host = index(row, 0); rowCount(host) > 0)
      emit dataChanged(index(0, 0, host), index(rowCount(host) - 1, column_count - 1, host));
}

// The internal id is 0 for a top-level row. For a device it is the row of the device's host, plus
// 1.
QModelIndex TopologyItems::index(int row, int column, const QModelIndex& parent) const {
  if (row < 0 || row >= rowCount(parent) || column < 0 || column >= column_count) return {};
  return createIndex(row, column,
                     parent.isValid() ? static_cast<quintptr>(parent.row() + 1) : quintptr{0});
}

QModelIndex TopologyItems::parent(const QModelIndex& child) const {
  return child.isValid() && child.internalId() > 0
             ? createIndex(static_cast<int>(child.internalId() - 1), 0, quintptr{0})
             : QModelIndex();
}

int TopologyItems::rowCount(const QModelIndex& parent) const {
  if (!parent.isValid())
    return static_cast<int>(shown_.hosts.size() + shown_.switches.size() + shown_.links.size());
  if (parent.internalId() > 0 || parent.column() > 0 ||
      parent.row() >= static_cast<int>(shown_.hosts.size()))
    return 0;
  return static_cast<int>(shown_.hosts[static_cast<std::size_t>(parent.row())].devices.size());
}

int TopologyItems::columnCount(const QModelIndex&) const { return column_count; }

TopologyItems::Row TopologyItems::row_at(const QModelIndex& index) const {
  auto row = static_cast<std::size_t>(index.row());
  if (index.internalId() > 0) return {.device = &shown_.hosts[index.internalId() - 1].devices[row]};
  if (row < shown_.hosts.size()) return {.host = &shown_.hosts[row]};
  row -= shown_.hosts.size();
  if (row < shown_.switches.size()) return {.one_switch = &shown_.switches[row]};
  return {.link = &shown_.links[row - shown_.switches.size()]};
}

// Returns the kind of a device, prefixed by "emulated" if the device's tile is marked so.
QString TopologyItems::kind_text(const Row& row) const {
  return row.device ? device_kind_text(row.device->kind, experiment::is_emulated(*row.device) &&
                                                             document_.experiment().run.emulate)
                    : row.kind();
}

QVariant TopologyItems::data(const QModelIndex& index, int role) const {
  if (!index.isValid()) return {};
  const Row row = row_at(index);
  if (role == Qt::AccessibleTextRole)
    return QString("%1, %2 %3").arg(row.name(), kind_text(row), row.details(shown_)).trimmed();
  if (role == Qt::ToolTipRole)
    return QString("%1 (%2)\n%3")
        .arg(row.name(), kind_text(row), row.details(shown_))
        .trimmed();  // the tool tip has the full text, because cells may be elided
  if (role == kind_role) return row.kind_in_files();
  if (role != Qt::DisplayRole && role != Qt::EditRole) return {};
  return index.column() == name_column ? row.name() : row.details(shown_);
}

QVariant TopologyItems::headerData(int section, Qt::Orientation orientation, int role) const {
  if (orientation != Qt::Horizontal || role != Qt::DisplayRole) return {};
  return section == name_column ? tr("Name") : tr("Details");
}

Qt::ItemFlags TopologyItems::flags(const QModelIndex& index) const {
  if (!index.isValid()) return Qt::NoItemFlags;
  const bool named = index.column() == name_column && !row_at(index).link;
  return Qt::ItemIsEnabled | Qt::ItemIsSelectable | (named ? Qt::ItemIsEditable : Qt::NoItemFlags);
}

bool TopologyItems::setData(const QModelIndex& index, const QVariant& value, int role) {
  if (role != Qt::EditRole || !(flags(index) & Qt::ItemIsEditable)) return false;
  const std::string from = row_at(index).name().toStdString(),
                    to = value.toString().trimmed().toStdString();
  base::Result<void> renamed;
  document_.edit(tr("Rename %1").arg(as_text(from)),
                 [&](experiment::Experiment& e) { renamed = rename(e.topology, from, to); });
  if (!renamed) emit refused(as_text(base::to_string(renamed.error())));
  return renamed.has_value();
}

SelectedObjects TopologyItems::selection_at(const QModelIndex& index) const {
  const Row row = row_at(index);
  if (row.link)
    return {
        .names = {},
        .links = {link_names(shown_)[static_cast<std::size_t>(row.link - shown_.links.data())]}};
  return {.names = {row.name().toStdString()}, .links = {}};
}

QModelIndexList TopologyItems::indexes_of(const SelectedObjects& picked) const {
  QModelIndexList found;
  const auto add = [&](const QModelIndex& at) {
    const SelectedObjects one = selection_at(at);
    if (std::ranges::includes(picked.names, one.names) &&
        std::ranges::includes(picked.links, one.links))
      found.push_back(at);
  };
  for (int row = 0; row < rowCount(); ++row) {
    const QModelIndex top = index(row, 0);
    add(top);
    for (int child = 0; child < rowCount(top); ++child) add(index(child, 0, top));
  }
  return found;
}

}  // namespace trainyard::ui
