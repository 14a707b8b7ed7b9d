// SPDX-License-Identifier: GPL-3.0-or-later
// Appearance of the drawing's objects: plain functions of values, called by the items. The level of
// detail follows the painter's scale. Where text would be too small to read, only names and rank
// numbers are painted, enlarged. The theme's scale is taken into account.
#pragma once

#include <QPainter>
#include <optional>

#include "ui/canvas/layout.h"
#include "ui/canvas/overlay.h"
#include "ui/model/plan/kept_shards.h"

namespace trainyard::ui {

struct Marks {
  bool selected = false, hovered = false;
  bool operator==(const Marks&) const = default;
};

struct TileAppearance {
  topology::Device device;
  std::optional<int> rank;
  QString duty = {};  // duty of the rank, such as "worker"; "idle" without a rank
  // Layers that the rank has, if the model is split. During a run they are shown instead of the
  // device's cores and memory, otherwise instead of the rank's duty (its role).
  QString layers = {};
  std::optional<KeptShard> shard =
      {};  // shard of a sharded model, shown like `layers`; if both are set, layers come first
  QString badge = {};  // icon of the device's role; empty for plain workers
  std::optional<DeviceOverlay> live;
  bool emulated = false;  // true if the device's rank runs, or would run, emulated on a CPU
  Marks marks;
  bool failed() const { return live && live->failed; }
  Absence absence() const { return live ? live->absence : Absence::none; }
  std::optional<int> shown_rank() const { return live ? std::optional(live->rank) : rank; }
  bool operator==(const TileAppearance&) const = default;
};

// Tags across the edges of a device's tile. They are caveats that apply to every measurement of the
// device.
struct TileTags {
  bool emulated = false;
  QStringList imposed = {};  // imposed slowdowns of its rank, now or in a run
  Absence absence = Absence::none;
  bool empty() const { return !emulated && imposed.empty() && absence == Absence::none; }
  bool operator==(const TileTags&) const = default;
};

struct HostAppearance {
  topology::Host host;              // host to paint; its devices are painted as separate tiles
  std::optional<LinkOverlay> live;  // traffic of the bus
  QString speeds = {};              // caveat about the drawn speed, shown beside live data
  Marks marks;
  bool operator==(const HostAppearance&) const = default;
};

struct SwitchAppearance {
  std::string name;
  Marks marks;
  bool operator==(const SwitchAppearance&) const = default;
};

struct LinkAppearance {
  topology::Link link;
  std::optional<LinkOverlay> live;
  QString speeds = {};  // caveat about the drawn speed, shown during a run
  Marks marks;
  double part = 1;  // fraction of the drawn bandwidth; 0: cut
  bool operator==(const LinkAppearance&) const = default;
};

// `clock_seconds` is the time that animates the flow along links. It is constant under reduced
// motion.
void paint_tile(QPainter& painter, const QRectF& rect, const TileAppearance& look);
void paint_tile_tags(QPainter& painter, const QRectF& tile, const TileTags& tags);
void paint_host(QPainter& painter, const QRectF& rect, const QRectF& bus,
                const HostAppearance& look, double clock_seconds);
void paint_switch(QPainter& painter, const QRectF& rect, const SwitchAppearance& look);
void paint_link(QPainter& painter, const LinkShape& shape, const LinkAppearance& look,
                double clock_seconds);

}  // namespace trainyard::ui
