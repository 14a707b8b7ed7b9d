// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/model/topology/topology_text.h"

#include <QObject>
#include <cmath>

#include "core/base/units.h"
#include "ui/model/text/count_text.h"
#include "ui/model/topology/topology_edit.h"

namespace trainyard::ui {

QString as_text(const std::string& text) { return QString::fromStdString(text); }

QString as_text(topology::DeviceKind kind) { return as_text(std::string(base::name_of(kind))); }

QString device_kind_text(topology::DeviceKind kind, bool emulated) {
  return emulated ? QObject::tr("emulated %1").arg(as_text(kind)) : as_text(kind);
}

QString duty_text(std::string_view duty) { return as_text(std::string(duty)).replace('_', ' '); }

QString as_text(topology::Role role) { return duty_text(base::name_of(role)); }

QString role_icon(topology::Role role) {
  switch (role) {
    case topology::Role::worker: return "worker";
    case topology::Role::chief: return "chief";
    case topology::Role::parameter_server: return "data";
    case topology::Role::evaluator: return "evaluator";
    case topology::Role::idle: break;
  }
  return "pause";
}

QString device_figures(const topology::Device& device) {
  const QString computes_on = topology::is_on_gpu(device)
                                  ? QObject::tr("GPU %1").arg(device.gpu)
                                  : QObject::tr("%n core(s)", nullptr, plural(device.cores));
  return computes_on + ", " + size_text(device.memory_bytes);
}

QString speed_text(double bandwidth_bits_per_second, double latency_seconds) {
  return as_text(base::with_unit(bandwidth_bits_per_second, "bit/s") + ", " +
                 base::with_unit(latency_seconds, "s"));
}

QString address_text(const topology::Host& host) {
  return host.address.empty() ? QObject::tr("this machine") : as_text(host.address);
}

QString factor_text(double factor) {
  return QString::number(std::round(100 * factor) / 100, 'g', 10);
}

QStringList imposed_marks(double slow_down, double jitter, bool paced) {
  QStringList marks;
  if (slow_down > 1) marks << QObject::tr("SLOWED %1x").arg(factor_text(slow_down));
  else if (jitter > 0) marks << QObject::tr("JITTER %1").arg(factor_text(jitter));
  if (paced) marks << QObject::tr("PACED");
  return marks;
}

QString role_text(const topology::Topology& topology, const topology::Device& device) {
  const auto rank = rank_of(topology, device.name);
  if (!rank) return QObject::tr("idle");
  return device.role == topology::Role::worker
             ? QObject::tr("rank %1").arg(*rank)
             : QObject::tr("%1, rank %2").arg(as_text(device.role)).arg(*rank);
}

}  // namespace trainyard::ui
