// SPDX-License-Identifier: GPL-3.0-or-later
// What a live run shows on the drawing. Only measured things: what is not in here is not drawn.
#pragma once

#include <QStringList>
#include <QtGlobal>
#include <map>
#include <string>
#include <vector>

#include "ui/model/cargo.h"
#include "ui/model/topology_selection.h"

namespace trainyard::ui {

// A rank that does not train, while the others do.
enum class Absence { none, stalled, lost, returning };

struct DeviceOverlay {
  int rank = 0;
  QString state;    // "training", "waiting", "failed", ...
  qint64 step = 0;  // how many are done; of an evaluator: those that the parameters had which it
                    // measured last, 0 where there are none
  double utilisation = -1;  // 0..1; negative: not measured
  bool failed = false;      // its rank died, failed or hung, which ended the run
  Absence absence = Absence::none;
  topology::Role role = topology::Role::worker;  // in the run
  bool at_step = false;  // `step` is where it is, which is not how many it did: others do those
                         // between, or it does none
  QStringList imposed =
      {};  // what keeps it slower than this machine, as asked last: marks of the tile

  bool operator==(const DeviceOverlay&) const = default;
};

// Bytes each second of one kind, in each direction.
struct CargoRate {
  Cargo cargo = Cargo::other;
  double forward = 0, backward = 0;

  double total() const { return forward + backward; }
  bool operator==(const CargoRate&) const = default;
};

// Of the last second, in each direction; forward is from the link's `from` to its `to`. A bus
// counts everything as forward.
struct LinkOverlay {
  double bytes_per_second_forward = 0, bytes_per_second_backward = 0;
  std::vector<CargoRate> cargo =
      {};  // of it what recorded ops tell apart, most first; empty where none does

  double total() const { return bytes_per_second_forward + bytes_per_second_backward; }
  double told() const {
    double sum = 0;
    for (const CargoRate& one : cargo) sum += one.total();
    return sum;
  }
  bool operator==(const LinkOverlay&) const = default;
};

struct Overlay {
  std::map<std::string, DeviceOverlay> devices;  // by name
  std::map<LinkName, LinkOverlay> links;
  std::map<std::string, LinkOverlay> buses;  // by host
  std::map<LinkName, double> link_parts =
      {};  // of its drawn bandwidth, what a link carries that is cut (0) or slowed
  QString link_speeds = {};  // what is true of the drawn ones in this run
  bool as_drawn = false;  // what devices have of the drawn model, they have of the run's: it trains
                          // what is drawn
  bool ended = false;     // the run is over: this is what is left to say of it

  bool operator==(const Overlay&) const = default;
};

}  // namespace trainyard::ui
