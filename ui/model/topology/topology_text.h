// SPDX-License-Identifier: GPL-3.0-or-later
// Texts for values of the drawing. Canvas, tree and status bar use them, so that all show the same
// text.
#pragma once

#include <QStringList>
#include <string_view>

#include "core/topology/topology.h"

namespace trainyard::ui {

QString as_text(const std::string& text);
QString as_text(topology::DeviceKind kind);                          // "gpu"
QString device_kind_text(topology::DeviceKind kind, bool emulated);  // "emulated gpu"
QString device_figures(const topology::Device& device);              // "1 core, 16 GB"
QString speed_text(double bandwidth_bits_per_second,
                   double latency_seconds);        // "10 Gbit/s, 50 µs"
QString address_text(const topology::Host& host);  // "this machine"
QString as_text(topology::Role role);              // "parameter server"
QString role_icon(topology::Role role);            // name of the icon
// text for a result of `experiment::duty_of`: "parameter server"
QString duty_text(std::string_view duty);
QString role_text(const topology::Topology& topology,
                  const topology::Device& device);  // "rank 3", "chief, rank 3", "idle"

QString factor_text(double factor);  // "12.5", "1000": at most two decimals

// Returns the tags of a tile for imposed slowdowns: "SLOWED 3x", "JITTER 0.5" or "PACED". Empty if
// the rank runs at full speed.
QStringList imposed_marks(double slow_down, double jitter, bool paced);

}  // namespace trainyard::ui
