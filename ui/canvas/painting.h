// SPDX-License-Identifier: GPL-3.0-or-later
// How the things of a drawing look. Plain functions of values: the items only call them. Detail
// follows the scale of the painter: where text would be too small to read (the larger the theme's
// scale, the sooner) only names and ranks are left, and grow.
#pragma once

#include <QPainter>
#include <optional>

#include "ui/canvas/layout.h"
#include "ui/canvas/overlay.h"
#include "ui/model/kept_shards.h"

namespace trainyard::ui {

struct Marks {
  bool selected = false, hovered = false;
  bool operator==(const Marks&) const = default;
};

struct TileLook {
  topology::Device device;
  std::optional<int> rank;
  QString duty = {};    // of its rank: "worker", or what else it does; "idle" without one
  QString layers = {};  // that it has, of a model that is split: in a run instead of the figures of
                        // the device, else of the duty
  std::optional<KeptShard> shard =
      {};  // of a model that is shared out: likewise; of one that is both the layers come first
  QString badge = {};  // the icon of what it does, where it is no mere worker
  std::optional<DeviceOverlay> live;
  bool emulated = false;  // its rank runs, or would run, on a CPU
  Marks marks;
  bool failed() const { return live && live->failed; }
  Absence absence() const { return live ? live->absence : Absence::none; }
  std::optional<int> shown_rank() const { return live ? std::optional(live->rank) : rank; }
  bool operator==(const TileLook&) const = default;
};

// Across the edges of a tile: what must be known beside every figure of the device.
struct TileTags {
  bool emulated = false;
  QStringList imposed = {};  // what keeps its rank slower than it could be, or would
  Absence absence = Absence::none;
  bool empty() const { return !emulated && imposed.empty() && absence == Absence::none; }
  bool operator==(const TileTags&) const = default;
};

struct HostLook {
  topology::Host host;              // its devices are tiles of their own
  std::optional<LinkOverlay> live;  // of the bus
  QString speeds = {};              // beside what is live: what is true of the drawn speed
  Marks marks;
  bool operator==(const HostLook&) const = default;
};

struct SwitchLook {
  std::string name;
  Marks marks;
  bool operator==(const SwitchLook&) const = default;
};

struct LinkLook {
  topology::Link link;
  std::optional<LinkOverlay> live;
  QString speeds = {};  // while a run goes on: what is true of the drawn speed
  Marks marks;
  double part = 1;  // of its drawn bandwidth, what it carries; 0: it is cut
  bool operator==(const LinkLook&) const = default;
};

constexpr double kSmallSize = 11;  // of text: pixels at 100 %

QString rate(double bytes_per_second);  // "203 MB/s"

// From where small text cannot be read, and is left out.
bool is_far(double scale);
// From so far away that boxes have no corners to round, and no line is wider than a pixel.
bool is_tiny(double scale);

// `clock_seconds` moves the flow along links; it stands still under reduced motion.
void paint_tile(QPainter& painter, const QRectF& rect, const TileLook& look);
void paint_tile_tags(QPainter& painter, const QRectF& tile, const TileTags& tags);
void paint_host(QPainter& painter, const QRectF& rect, const QRectF& bus, const HostLook& look,
                double clock_seconds);
void paint_switch(QPainter& painter, const QRectF& rect, const SwitchLook& look);
void paint_link(QPainter& painter, const LinkShape& shape, const LinkLook& look,
                double clock_seconds);

}  // namespace trainyard::ui
