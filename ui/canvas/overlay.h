// SPDX-License-Identifier: GPL-3.0-or-later
// Live data of a run on the drawing. Contains measured data only.
#pragma once

#include <QStringList>
#include <QtGlobal>
#include <map>
#include <string>
#include <vector>

#include "ui/model/spans/payload_kind.h"
#include "ui/model/topology/topology_selection.h"

namespace trainyard::ui {

// State of a rank that has stopped training while other ranks continue.
enum class Absence { none, stalled, suspected, lost, returning };

struct DeviceOverlay {
  int rank = 0;
  QString state;  // "training", "waiting", "failed", ...
  // Number of steps that the rank has completed. For an evaluator: the step whose parameters it
  // measured last, or 0 if it has measured none.
  qint64 step = 0;
  double utilization = -1;  // 0..1; negative: not measured
  bool failed = false;      // true if the rank died, failed or hung, and this ended the run
  Absence absence = Absence::none;
  topology::Role role = topology::Role::worker;  // role in the run
  // True if `step` is a step of the run, and not the count of this rank's local steps. This is the
  // case if other ranks execute some of the run's steps, or if this rank executes none.
  bool step_is_position = false;
  QStringList imposed = {};  // tags of the tile: slowdowns that were last requested

  bool operator==(const DeviceOverlay&) const = default;
};

// Bytes per second of one payload kind, in each direction.
struct PayloadRate {
  PayloadKind payload = PayloadKind::other;
  double forward = 0, backward = 0;

  double total() const { return forward + backward; }
  bool operator==(const PayloadRate&) const = default;
};

// Measured rates of a link or bus over the last second. Forward is from the link's `from` to its
// `to`. A bus has no directions, so all its traffic counts as forward.
struct LinkOverlay {
  double bytes_per_second_forward = 0, bytes_per_second_backward = 0;
  std::vector<PayloadRate> payload =
      {};  // split by payload kind where recorded ops allow it, largest first; otherwise empty

  double total() const { return bytes_per_second_forward + bytes_per_second_backward; }
  double known_total() const {
    double sum = 0;
    for (const PayloadRate& one : payload) sum += one.total();
    return sum;
  }
  bool operator==(const LinkOverlay&) const = default;
};

struct Overlay {
  std::map<std::string, DeviceOverlay> devices;  // by name
  std::map<LinkName, LinkOverlay> links;
  std::map<std::string, LinkOverlay> buses;  // by host name
  std::map<LinkName, double> link_fractions =
      {};  // fraction of the drawn bandwidth, for links that are cut (0) or slowed
  QString link_speeds = {};  // caveat about drawn link speeds in this run
  // True if the run trains the drawn experiment, so that the drawn shards of the model are also
  // those of the run.
  bool trains_drawing = false;
  bool ended = false;  // true if the run has ended; the overlay shows its final state

  bool operator==(const Overlay&) const = default;
};

}  // namespace trainyard::ui
