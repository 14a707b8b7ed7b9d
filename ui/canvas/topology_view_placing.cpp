// SPDX-License-Identifier: GPL-3.0-or-later
// Placement of objects on the canvas: by drop, or by key in the center.
#include <QDropEvent>

#include "ui/canvas/arrange.h"
#include "ui/canvas/topology_view.h"
#include "ui/model/document/clipboard.h"
#include "ui/model/document/layer_mime.h"
#include "ui/model/machines/known_machines.h"
#include "ui/model/topology/topology_text.h"

namespace trainyard::ui {
namespace {

// Returns the default device of a palette entry. Returns nothing for a host or a switch.
std::optional<topology::Device> device_of(PaletteKind kind) {
  switch (kind) {
    case PaletteKind::cpu: return default_device(topology::DeviceKind::cpu);
    case PaletteKind::gpu: return default_device(topology::DeviceKind::gpu);
    case PaletteKind::tpu: return default_device(topology::DeviceKind::tpu);
    default: return std::nullopt;
  }
}

// Returns the single device that the MIME data contains. The palette's entries for GPUs of this
// machine are dragged as such data.
std::optional<topology::Device> device_of_mime(const QMimeData* data) {
  const auto fragment = from_mime(data);
  if (!fragment || fragment->devices.size() != 1 || !fragment->topology.hosts.empty() ||
      !fragment->topology.switches.empty())
    return std::nullopt;
  return fragment->devices.front();
}

// Returns the single host that the MIME data contains. The palette's entries for machines are
// dragged as such data.
std::optional<topology::Host> host_of_mime(const QMimeData* data) {
  const auto fragment = from_mime(data);
  if (!fragment || fragment->topology.hosts.size() != 1 || !fragment->devices.empty() ||
      !fragment->topology.switches.empty())
    return std::nullopt;
  return fragment->topology.hosts.front();
}

// Returns the name of the host that an object is or belongs to. Empty if the object is neither a
// host nor a device.
std::string host_under(const topology::Topology& topology, const TopologyObject& part) {
  if (part.kind == TopologyObject::Kind::host) return part.name;
  const topology::Host* host =
      part.kind == TopologyObject::Kind::device ? host_of(topology, part.name) : nullptr;
  return host ? host->name : "";
}

}  // namespace

void TopologyView::place(PaletteKind kind, QPointF at) { place(kind, device_of(kind), at); }
void TopologyView::place(const topology::Device& device, QPointF at) {
  place(PaletteKind::gpu, device, at);
}

void TopologyView::place(PaletteKind kind, const std::optional<topology::Device>& device,
                         QPointF at) {
  const std::string host =
      host_under(document_.experiment().topology, object_at(scene_.layout(), at, 0));
  const QSizeF size =
      kind == PaletteKind::network_switch ? switch_size() : host_size(device ? 1 : 0);
  const bool joins = device && !host.empty();
  const Position wanted = snapped({at.x() - size.width() / 2, at.y() - size.height() / 2});
  const Position corner = joins ? wanted : uncovered(document_.experiment().topology, wanted, size);
  TopologyObject added{kind == PaletteKind::host ? TopologyObject::Kind::host
                       : device                  ? TopologyObject::Kind::device
                                                 : TopologyObject::Kind::network_switch,
                       {},
                       {}};
  document_.edit(
      tr("Place %1")
          .arg(kind == PaletteKind::host ? tr("host")
               : device ? QString::fromStdString(std::string(base::name_of(device->kind)))
                        : tr("switch")),
      [&](experiment::Experiment& e) {
        if (joins) make_room(e.topology, host, 1);
        if (device)
          added.name = add_device(e.topology, joins ? host : add_host(e.topology, corner), *device);
        else
          added.name = kind == PaletteKind::host ? add_host(e.topology, corner)
                                                 : add_switch(e.topology, corner);
      });
  go_to(added);
}

void TopologyView::place(const topology::Host& machine, QPointF at) {
  const QSizeF size = host_size(machine.devices.size());
  const Position wanted = snapped({at.x() - size.width() / 2, at.y() - size.height() / 2});
  const Position corner = uncovered(document_.experiment().topology, wanted, size);
  std::string added;
  document_.edit(tr("Place %1").arg(as_text(machine.name)), [&](experiment::Experiment& e) {
    added = add_machine(e.topology, machine, corner);
  });
  go_to({TopologyObject::Kind::host, added, {}});
}

void TopologyView::place_in_middle(PaletteKind kind) { place_in_middle(kind, device_of(kind)); }
void TopologyView::place_in_middle(const topology::Device& device) {
  place_in_middle(PaletteKind::gpu, device);
}

void TopologyView::place_in_middle(const topology::Host& machine) {
  place(machine, free_middle());
  ensureVisible(scene_.layout().rect_of(scene_.current()), 24, 24);
}

// Returns the first free place to the right of the center, because new objects must not cover each
// other.
QPointF TopologyView::free_middle() const {
  QPointF at = middle();
  for (QRectF room(at - QPointF(88, 72), QSizeF(176, 144));
       !within(scene_.layout(), room).names.empty(); room.moveCenter(at))
    at += QPointF(208, 0);
  return at;
}

void TopologyView::place_in_middle(PaletteKind kind,
                                   const std::optional<topology::Device>& device) {
  const std::string host = host_under(document_.experiment().topology, scene_.current());
  if (device && !host.empty())
    return place(kind, device, scene_.layout().rect_of(host).topLeft() + QPointF(4, 4));
  place(kind, device, free_middle());
  ensureVisible(scene_.layout().rect_of(scene_.current()), 24, 24);
}

void TopologyView::give_role(topology::Role role) {
  std::set<std::string> devices;
  for (const std::string& name : selection_.picked().names)
    if (find_device(document_.experiment().topology, name)) devices.insert(name);
  if (devices.empty()) emit message(tr("Select a device first, then assign the role."));
  else if (is_unique_role(role) && devices.size() > 1)
    emit message(tr("Select one device: at most one %1 is allowed.").arg(as_text(role)));
  else give_role(devices, role);
}

void TopologyView::give_role(const std::set<std::string>& devices, topology::Role role) {
  document_.edit(tr("Change role"), [&](experiment::Experiment& e) {
    for (const std::string& device : devices) ui::give_role(e.topology, device, role);
  });
}

void TopologyView::dragEnterEvent(QDragEnterEvent* event) {
  const QMimeData* given = event->mimeData();
  if (part_of_mime(given) || device_of_mime(given) || host_of_mime(given) || role_of_mime(given) ||
      !layers_of_mime(given).isEmpty())
    event->acceptProposedAction();
  else event->ignore();  // files are handled by the main window
}

// Marks the device that would get the dragged role. Where there is no device, the cursor shows that
// a drop has no effect.
void TopologyView::drag_role(topology::Role role, QDragMoveEvent& event) {
  mark_drop_target(device_at(mapToScene(event.position().toPoint())), role);
  if (drop_target_device_.empty()) event.ignore();
  else event.acceptProposedAction();
}

std::string TopologyView::device_at(QPointF at) const {
  const TopologyObject part = object_at(scene_.layout(), at, 0);
  return part.kind == TopologyObject::Kind::device ? part.name : "";
}

bool TopologyView::set_drop_target(const std::string& device) {
  if (device == drop_target_device_) return false;
  drop_target_device_ = device;
  viewport()->update();
  return true;
}

// Accepts layers on devices that train. With the strategy rpc, also accepts them on servers.
void TopologyView::drag_layers(const QStringList& layers, QDragMoveEvent& event) {
  const std::string name = device_at(mapToScene(event.position().toPoint()));
  const topology::Device* device = find_device(document_.experiment().topology, name);
  const bool calls = document_.experiment().strategy.kind == experiment::StrategyKind::rpc;
  const bool takes = device && (topology::works(*device) ||
                                (calls && device->role == topology::Role::parameter_server));
  if (set_drop_target(takes ? name : "") && takes)
    emit message(tr("%1 now has %2").arg(as_text(name), layer_list_text(layers)));
  if (takes) event.acceptProposedAction();
  else event.ignore();
}

void TopologyView::drop_layers(const QStringList& layers, QDropEvent& event) {
  const std::string device = device_at(mapToScene(event.position().toPoint()));
  set_drop_target({});
  if (device.empty()) return event.ignore();
  event.acceptProposedAction();
  emit layers_dropped(layers, device);
}

void TopologyView::mark_drop_target(const std::string& device, topology::Role role) {
  if (!set_drop_target(device) || drop_target_device_.empty()) return;
  const std::string holder = holder_of(document_.experiment().topology, role);
  const QString becomes = tr("New role of %1: %2").arg(as_text(device), as_text(role));
  emit message(holder.empty() || holder == device
                   ? becomes
                   : becomes + tr("; %1 is now a worker").arg(as_text(holder)));
}

void TopologyView::dragMoveEvent(QDragMoveEvent* event) {
  if (const auto role = role_of_mime(event->mimeData())) return drag_role(*role, *event);
  if (const QStringList layers = layers_of_mime(event->mimeData()); !layers.isEmpty())
    return drag_layers(layers, *event);
  const auto kind = part_of_mime(event->mimeData());
  const bool device = device_of_mime(event->mimeData()) || (kind && device_of(*kind));
  if (!kind && !device && !host_of_mime(event->mimeData())) return event->ignore();
  const TopologyObject under =
      device ? object_at(scene_.layout(), mapToScene(event->position().toPoint()), 0)
             : TopologyObject{};
  const std::string host = host_under(document_.experiment().topology, under);
  scene_.set_hovered(host.empty() ? TopologyObject{}
                                  : TopologyObject{TopologyObject::Kind::host, host, {}});
  event->acceptProposedAction();
}

// Removes the marks of the drop target when a drag leaves the canvas.
void TopologyView::dragLeaveEvent(QDragLeaveEvent* event) {
  scene_.set_hovered({});
  drop_target_device_.clear();
  event->accept();
  viewport()->update();
}

void TopologyView::drop_role(topology::Role role, QDropEvent& event) {
  const std::string device = device_at(mapToScene(event.position().toPoint()));
  drop_target_device_.clear();
  viewport()->update();
  if (device.empty()) return event.ignore();
  go_to({TopologyObject::Kind::device, device, {}});
  give_role({device}, role);
  setFocus();
  event.acceptProposedAction();
}

void TopologyView::dropEvent(QDropEvent* event) {
  if (const auto role = role_of_mime(event->mimeData())) return drop_role(*role, *event);
  if (const QStringList layers = layers_of_mime(event->mimeData()); !layers.isEmpty())
    return drop_layers(layers, *event);
  const QPointF at = mapToScene(event->position().toPoint());
  if (const auto kind = part_of_mime(event->mimeData())) place(*kind, at);
  else if (const auto device = device_of_mime(event->mimeData())) place(*device, at);
  else if (const auto machine = host_of_mime(event->mimeData())) place(*machine, at);
  else return event->ignore();
  setFocus();
  event->acceptProposedAction();
}

}  // namespace trainyard::ui
