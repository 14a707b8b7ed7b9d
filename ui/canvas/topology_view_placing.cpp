// SPDX-License-Identifier: GPL-3.0-or-later
// How things come onto the canvas: by a drop, or by a key into the middle.
#include <QDropEvent>

#include "ui/canvas/arrange.h"
#include "ui/canvas/topology_view.h"

namespace trainyard::ui {
namespace {

std::optional<topology::DeviceKind> device_kind(PartKind kind) {
  switch (kind) {
    case PartKind::cpu: return topology::DeviceKind::cpu;
    case PartKind::gpu: return topology::DeviceKind::gpu;
    case PartKind::tpu: return topology::DeviceKind::tpu;
    default: return std::nullopt;
  }
}

// A host for what hangs on one: itself, or a device's.
std::string host_under(const topology::Topology& topology, const Part& part) {
  if (part.kind == Part::Kind::host) return part.name;
  const topology::Host* host = part.kind == Part::Kind::device ? host_of(topology, part.name) : nullptr;
  return host ? host->name : "";
}

}  // namespace

void TopologyView::place(PartKind kind, QPointF at) {
  const auto device = device_kind(kind);
  const std::string host = host_under(document_.experiment().topology, part_at(scene_.layout(), at, 0));
  const QSizeF size = kind == PartKind::network_switch ? switch_size() : host_size(device ? 1 : 0);
  const bool joins = device && !host.empty();
  const Place wanted = snapped({at.x() - size.width() / 2, at.y() - size.height() / 2});
  const Place corner = joins ? wanted : uncovered(document_.experiment().topology, wanted, size);
  Part added{kind == PartKind::host ? Part::Kind::host : device ? Part::Kind::device : Part::Kind::network_switch, {}, {}};
  document_.edit(tr("Place %1")
                     .arg(kind == PartKind::host ? tr("host")
                          : device               ? QString::fromStdString(std::string(base::name_of(*device)))
                                                 : tr("switch")),
                 [&](experiment::Experiment& e) {
                   if (joins) make_room(e.topology, host, 1);
                   if (device) added.name = add_device(e.topology, joins ? host : add_host(e.topology, corner), *device);
                   else added.name = kind == PartKind::host ? add_host(e.topology, corner) : add_switch(e.topology, corner);
                 });
  go_to(added);
}

void TopologyView::place_in_middle(PartKind kind) {
  const std::string host = host_under(document_.experiment().topology, scene_.current());
  if (device_kind(kind) && !host.empty()) return place(kind, scene_.layout().rect_of(host).topLeft() + QPointF(4, 4));
  QPointF at = middle();  // the first free place to the right: new things must not hide each other
  for (QRectF room(at - QPointF(88, 72), QSizeF(176, 144)); !within(scene_.layout(), room).names.empty(); room.moveCenter(at)) at += QPointF(208, 0);
  place(kind, at);
  ensureVisible(scene_.layout().rect_of(scene_.current()), 24, 24);
}

void TopologyView::dragEnterEvent(QDragEnterEvent* event) {
  if (part_of_mime(event->mimeData())) event->acceptProposedAction();
  else event->ignore();  // files are for the window
}

void TopologyView::dragMoveEvent(QDragMoveEvent* event) {
  const auto kind = part_of_mime(event->mimeData());
  if (!kind) return event->ignore();
  const Part under = device_kind(*kind) ? part_at(scene_.layout(), mapToScene(event->position().toPoint()), 0) : Part{};
  const std::string host = host_under(document_.experiment().topology, under);
  scene_.set_hovered(host.empty() ? Part{} : Part{Part::Kind::host, host, {}});
  event->acceptProposedAction();
}

// The host that was shown as the one to join is not.
void TopologyView::dragLeaveEvent(QDragLeaveEvent* event) {
  scene_.set_hovered({});
  event->accept();
  viewport()->update();
}

void TopologyView::dropEvent(QDropEvent* event) {
  const auto kind = part_of_mime(event->mimeData());
  if (!kind) return event->ignore();
  place(*kind, mapToScene(event->position().toPoint()));
  setFocus();
  event->acceptProposedAction();
}

}  // namespace trainyard::ui
