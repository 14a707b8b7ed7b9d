// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/canvas/palette.h"

#include <QContextMenuEvent>
#include <QKeyEvent>
#include <QMenu>
#include <QMimeData>
#include <QTextDocument>
#include <algorithm>
#include <array>

#include "core/base/units.h"
#include "ui/model/document/clipboard.h"
#include "ui/model/topology/topology_text.h"
#include "ui/theme/icons.h"
#include "ui/theme/theme.h"

namespace trainyard::ui {
namespace {

constexpr const char *kPartMime = "application/x-trainyard-part",
                     *kRoleMime = "application/x-trainyard-role";
constexpr int kRoleRole = Qt::UserRole + 1;     // item data: the role that the item gives
constexpr int kGpuRole = Qt::UserRole + 2;      // item data: index of this machine's GPU, from 0
constexpr int kMachineRole = Qt::UserRole + 3;  // item data: index of the machine; -1: heading

struct Entry {
  PaletteKind kind;
  const char* icon;
  const char* label;
  const char* help;
};
constexpr std::array<Entry, 5> kEntries{{
    {PaletteKind::cpu, "cpu", QT_TR_NOOP("CPU"), QT_TR_NOOP("A device that trains on CPU cores")},
    {PaletteKind::gpu, "gpu", QT_TR_NOOP("GPU"),
     QT_TR_NOOP("A GPU; emulated on the CPU until its field gpu selects a GPU of this machine")},
    {PaletteKind::tpu, "tpu", QT_TR_NOOP("TPU"), QT_TR_NOOP("A TPU; emulated on the CPU")},
    {PaletteKind::host, "host", QT_TR_NOOP("Host"), QT_TR_NOOP("A machine that contains devices")},
    {PaletteKind::network_switch, "switch", QT_TR_NOOP("Switch"),
     QT_TR_NOOP("Connects hosts through links")},
}};

struct RoleEntry {
  topology::Role role;
  const char* label;
  const char* help;
};
constexpr std::array<RoleEntry, 5> kRoles{{
    {topology::Role::worker, QT_TR_NOOP("Worker"),
     QT_TR_NOOP("Trains the model; the default role")},
    {topology::Role::chief, QT_TR_NOOP("Chief"),
     QT_TR_NOOP(
         "The worker that writes checkpoints. At most one; the default is the first worker")},
    {topology::Role::parameter_server, QT_TR_NOOP("Parameter server"),
     QT_TR_NOOP(
         "Stores variables (workers pull them and push gradients) or layers (workers call them)")},
    {topology::Role::evaluator, QT_TR_NOOP("Evaluator"),
     QT_TR_NOOP("Does not train: loads checkpoints and measures held-out samples. At most one")},
    {topology::Role::idle, QT_TR_NOOP("Idle"), QT_TR_NOOP("Not used in the run")},
}};

QListWidgetItem* add_heading(QListWidget& list, const QString& words, int row) {
  auto* heading = new QListWidgetItem(words);
  list.insertItem(row, heading);
  heading->setFlags(Qt::NoItemFlags);  // keyboard navigation skips it
  QFont font = list.font();
  font.setWeight(QFont::DemiBold);
  heading->setFont(font);
  return heading;
}

// "node1: me@node1, 8 cores, 16.6 GB"
QString figures_of(const topology::Host& machine) {
  QStringList figures{machine.address.empty() ? Palette::tr("this machine")
                                              : as_text(machine.address)};
  for (const topology::Device& device : machine.devices) figures << device_figures(device);
  return as_text(machine.name) + ": " + figures.join(", ");
}

// Returns the text of a tool tip that shows names of other machines, which may look like HTML.
QString plain_tip(const QString& text) {
  return Qt::mightBeRichText(text) ? Qt::convertFromPlainText(text) : text;
}

}  // namespace

std::unique_ptr<QMimeData> to_mime(topology::Role role) {
  auto data = std::make_unique<QMimeData>();
  data->setData(kRoleMime, QByteArray::number(static_cast<int>(role)));
  return data;
}

std::optional<topology::Role> role_of_mime(const QMimeData* data) {
  if (!data || !data->hasFormat(kRoleMime)) return std::nullopt;
  bool number = false;
  const int value = data->data(kRoleMime).toInt(&number);
  const auto known =
      std::ranges::find(kRoles, static_cast<topology::Role>(value), &RoleEntry::role);
  return number && known != kRoles.end() ? std::optional(known->role) : std::nullopt;
}

std::unique_ptr<QMimeData> to_mime(PaletteKind kind) {
  auto data = std::make_unique<QMimeData>();
  data->setData(kPartMime, QByteArray::number(static_cast<int>(kind)));
  return data;
}

std::optional<PaletteKind> part_of_mime(const QMimeData* data) {
  if (!data || !data->hasFormat(kPartMime)) return std::nullopt;
  bool number = false;
  const int kind = data->data(kPartMime).toInt(&number);
  return number && kind >= 0 && kind < static_cast<int>(kEntries.size())
             ? std::optional(static_cast<PaletteKind>(kind))
             : std::nullopt;
}

Palette::Palette(QWidget* parent) : QListWidget(parent) {
  setObjectName("palette");
  setAccessibleName(tr("Palette"));
  setAccessibleDescription(
      tr("Devices, hosts, switches and machines: press Enter to place one on the canvas. Roles: "
         "press Enter to assign one to the selected devices."));
  setDragEnabled(true);
  setDragDropMode(DragOnly);
  setFrameShape(NoFrame);
  setUniformItemSizes(true);
  for (int e = 0; e < static_cast<int>(kEntries.size()); ++e) {
    const Entry& entry = kEntries[static_cast<std::size_t>(e)];
    auto* item = new QListWidgetItem(icon(entry.icon), tr(entry.label), this);
    item->setToolTip(help_of(e));
    item->setData(Qt::UserRole, static_cast<int>(entry.kind));
  }
  add_heading(*this, tr("Roles"), count());
  for (const RoleEntry& entry : kRoles) {
    auto* item = new QListWidgetItem(icon(role_icon(entry.role)), tr(entry.label), this);
    item->setToolTip(tr(entry.help) + "\n" +
                     tr("Drag it onto a device, or select devices and press Enter."));
    item->setData(kRoleRole, static_cast<int>(entry.role));
  }
  const auto fit = [this] {
    const int size = Theme::instance().pixels(20);
    setIconSize({size, size});
    setSpacing(Theme::instance().pixels(2));
    setMinimumWidth(Theme::instance().pixels(96));
  };
  fit();
  connect(&Theme::instance(), &Theme::changed, this, fit);
  connect(this, &QListWidget::itemActivated, this, &Palette::choose);
}

QString Palette::help_of(int entry, const QString& note) {
  return tr(kEntries[static_cast<std::size_t>(entry)].help) + "\n" +
         (note.isEmpty() ? "" : note + "\n") + tr("Drag it onto the canvas, or press Enter.");
}

// Offers this machine's GPUs beside the generic devices. "NVIDIA H200" is shown as "H200 (GPU 0)".
void Palette::offer(const std::vector<MachineGpu>& gpus, const QString& note) {
  for (int e = 0; e < static_cast<int>(kEntries.size()); ++e)
    if (kEntries[static_cast<std::size_t>(e)].kind == PaletteKind::gpu)
      item(e)->setToolTip(help_of(e, note));
  for (int row = count() - 1; row >= 0; --row)
    if (item(row)->data(kGpuRole).isValid()) delete takeItem(row);
  gpus_ = gpus;
  for (int i = 0; i < static_cast<int>(gpus_.size()); ++i) {
    const MachineGpu& gpu = gpus_[static_cast<std::size_t>(i)];
    const QString name = QString(gpu.name).remove("NVIDIA ");
    auto* item = new QListWidgetItem(icon("gpu"), tr("%1 (GPU %2)").arg(name).arg(gpu.device.gpu));
    item->setToolTip(tr("GPU %1 of this machine, %2: the placed device trains on it.")
                         .arg(gpu.device.gpu)
                         .arg(QString::fromStdString(
                             base::format_bytes(static_cast<double>(gpu.device.memory_bytes)))) +
                     "\n" + (gpu.links.isEmpty() ? "" : gpu.links + "\n") +
                     tr("Drag it onto the canvas, or press Enter."));
    item->setData(kGpuRole, i);
    insertItem(static_cast<int>(kEntries.size()) + i, item);
  }
}

int Palette::row_of_roles() const {
  for (int row = 0; row < count(); ++row)
    if (item(row)->data(kRoleRole).isValid()) return row - 1;  // the heading
  return count();
}

void Palette::offer_machines(const std::vector<topology::Host>& machines,
                             const std::map<std::string, QString>& states) {
  const bool same = std::ranges::equal(machines, machines_, {}, &topology::Host::address,
                                       &topology::Host::address);
  const topology::Host* current = currentItem() ? machine_of(*currentItem()) : nullptr;
  const auto address = current ? std::optional(current->address) : std::nullopt;
  machines_ = machines;
  if (!same) insert_machines();
  for (int row = 0; row < count(); ++row) {
    const topology::Host* machine = machine_of(*item(row));
    if (!machine) continue;
    const auto state = states.find(machine->address);
    describe_machine(*item(row), state == states.end() ? QString() : state->second);
    if (!same && address == machine->address) setCurrentRow(row);
  }
}

// Replaces the rows of machines. They have no text yet.
void Palette::insert_machines() {
  for (int row = count() - 1; row >= 0; --row)
    if (item(row)->data(kMachineRole).isValid()) delete takeItem(row);
  if (machines_.empty()) return;
  add_heading(*this, tr("Machines"), row_of_roles())->setData(kMachineRole, -1);
  for (int i = 0; i < static_cast<int>(machines_.size()); ++i) {
    auto* item = new QListWidgetItem;
    item->setData(kMachineRole, i);
    insertItem(row_of_roles(), item);
  }
}

void Palette::describe_machine(QListWidgetItem& item, const QString& state) const {
  const topology::Host& machine = *machine_of(item);
  const bool is_this = machine.address.empty();
  const QString name = is_this ? tr("This machine") : as_text(machine.address);
  item.setText(state.isEmpty() ? name : QString("%1 · %2").arg(name, state));
  item.setIcon(icon(state.isEmpty() ? "host" : "warning"));
  QStringList tip{figures_of(machine)};
  if (!state.isEmpty()) tip << state;
  tip << (is_this ? tr("Draws a host with the cores and the memory of this machine.")
                  : tr("Draws a host whose ranks run on that machine, with its cores and memory."))
      << tr("Drag it onto the canvas, or press Enter.");
  item.setToolTip(plain_tip(tip.join('\n')));
}

const topology::Host* Palette::machine_of(const QListWidgetItem& item) const {
  const QVariant number = item.data(kMachineRole);
  return number.isValid() && number.toInt() >= 0
             ? &machines_[static_cast<std::size_t>(number.toInt())]
             : nullptr;
}

// Returns the machine of an item that can be removed, otherwise null.
const topology::Host* Palette::removable_machine(const QListWidgetItem* item) const {
  const topology::Host* machine = item ? machine_of(*item) : nullptr;
  return machine && !machine->address.empty() ? machine : nullptr;
}

void Palette::contextMenuEvent(QContextMenuEvent* event) {
  const bool by_key = event->reason() == QContextMenuEvent::Keyboard;
  const QListWidgetItem* item = by_key ? currentItem() : itemAt(event->pos());
  const topology::Host* machine = item ? machine_of(*item) : nullptr;
  if (!machine) return QListWidget::contextMenuEvent(event);
  QMenu menu(this);
  // Copies the machine, because the list may change while the menu is open.
  menu.addAction(icon("host"), tr("Place on the canvas"), this,
                 [this, host = *machine] { emit machine_chosen(host); });
  if (removable_machine(item))
    menu.addAction(
        icon("delete"), tr("Remove machine"), this,
        [this, address = as_text(machine->address)] { emit removal_requested(address); });
  menu.exec(by_key ? viewport()->mapToGlobal(visualItemRect(item).center()) : event->globalPos());
}

void Palette::keyPressEvent(QKeyEvent* event) {
  if (event->key() == Qt::Key_Delete)
    if (const topology::Host* machine = removable_machine(currentItem()))
      return emit removal_requested(as_text(machine->address));
  QListWidget::keyPressEvent(event);
}

const topology::Device* Palette::gpu_of(const QListWidgetItem& item) const {
  const QVariant number = item.data(kGpuRole);
  return number.isValid() ? &gpus_[static_cast<std::size_t>(number.toInt())].device : nullptr;
}

void Palette::choose(const QListWidgetItem* item) {
  if (const topology::Device* gpu = gpu_of(*item)) emit gpu_chosen(*gpu);
  else if (const topology::Host* machine = machine_of(*item)) emit machine_chosen(*machine);
  else if (const QVariant role = item->data(kRoleRole); role.isValid())
    emit role_chosen(static_cast<topology::Role>(role.toInt()));
  else if (const QVariant kind = item->data(Qt::UserRole); kind.isValid())
    emit chosen(static_cast<PaletteKind>(kind.toInt()));
}

QStringList Palette::mimeTypes() const { return {kPartMime, kRoleMime, kTopologyMime}; }

QMimeData* Palette::mimeData(const QList<QListWidgetItem*>& items) const {
  if (items.isEmpty()) return nullptr;
  if (const topology::Device* gpu = gpu_of(*items.front())) {
    Fragment alone{{}, {*gpu}};
    alone.devices.front().name = "gpu";
    return to_mime(alone).release();
  }
  if (const topology::Host* machine = machine_of(*items.front())) {
    Fragment fragment;
    fragment.topology.hosts = {*machine};
    return to_mime(fragment).release();
  }
  if (const QVariant role = items.front()->data(kRoleRole); role.isValid())
    return to_mime(static_cast<topology::Role>(role.toInt())).release();
  return to_mime(static_cast<PaletteKind>(items.front()->data(Qt::UserRole).toInt())).release();
}

}  // namespace trainyard::ui
