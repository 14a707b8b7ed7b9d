// SPDX-License-Identifier: GPL-3.0-or-later
// Graphics scene of the drawing: synchronizes items with the document, the selection and the live
// overlay. Edits go to the document, never to items. Items are identified by name, so undo cannot
// leave a stale item.
#pragma once

#include <QElapsedTimer>
#include <QGraphicsScene>
#include <QTimer>
#include <map>
#include <optional>

#include "ui/canvas/items.h"
#include "ui/canvas/logical_item.h"
#include "ui/canvas/transit_item.h"
#include "ui/model/document/document.h"

namespace trainyard::ui {

class TopologyScene : public QGraphicsScene {
  Q_OBJECT
 public:
  TopologyScene(Document& document, Selection& selection, QObject* parent = nullptr);

  const Layout& layout() const { return layout_; }
  const TopologyObject& hovered() const { return hovered_; }
  void set_hovered(const TopologyObject& part);
  const TopologyObject& current() const { return current_; }  // object with the keyboard focus
  void set_current(const TopologyObject& part);

  // Sets the overlay of a run; fast if little has changed. The overlay of an ended run is removed
  // as soon as the drawing changes.
  void set_overlay(const Overlay& overlay);
  void clear_overlay();
  const std::optional<Overlay>& overlay() const { return overlay_; }
  bool live() const { return overlay_ && !overlay_->ended; }

  // Sets the logical topology of a collective, which is painted over the drawing. If it has no
  // flows, nothing is painted. While live data of a run is shown, it is painted only if its
  // `pointed` is true: the mouse is on an algorithm.
  void set_logical(const LogicalTopology& picture);
  const LogicalItem& logical() const { return *logical_; }

  // Set each rank's share of the model: its layers if the model is split, or its shard if the model
  // is sharded. An empty vector means that the model is not split, or not sharded.
  void set_layers(std::vector<std::string> layers);
  void set_shards(std::vector<KeptShard> shards);
  // Returns the rank's share of the drawn model as text ("has layers 0–1.3"). A run that trains
  // another experiment has no such text. Empty if the rank has the full model.
  QString model_share_on(const topology::Device& device) const;

  // Shows a transit: the transfer of a chunk in a stepped-through collective. Without a value,
  // removes it. A transit is also removed when a link or bus of its route is no longer drawn.
  void set_transit(const std::optional<Transit>& transit);
  const TransitItem* transit() const { return transit_item_; }  // null if none is drawn
  bool is_marked_emulated(const topology::Device& device)
      // True if the rank of the device runs, or would run, emulated on a CPU. The device's tile and
      // description say so too.
      const;
  QStringList imposed_on(const topology::Device& device)
      const;  // imposed slowdowns of its rank, now or in a run, as shown on the tile

  // Sets the zoom. Nodes are cached as images, except at scales where painting them is faster.
  void set_scale(double scale);

 signals:
  void layout_changed();
  void current_changed();
  void overlay_changed();

 private:
  void document_changed();
  void theme_changed();
  void sync();
  void sync_hosts();
  void sync_tiles();
  void sync_tags(const std::string& device, QPointF place, const TileTags& tags);
  void sync_switches();
  void sync_links();
  bool shows_model_share(const topology::Device& device) const;
  QString layers_of(int rank) const;
  void place_logical();
  void show_logical();
  template <class Item, class... Arguments>
  Item* make_node(const Arguments&... arguments) const;
  void show_transit();
  void advance_transit();
  bool transit_moves() const;
  void start_or_stop_clock();
  void tick();
  Marks marks_of(const TopologyObject& part) const;

  Document& document_;
  Selection& selection_;
  Layout layout_;
  std::optional<Overlay> overlay_;
  topology::Topology ended_drawing_;  // drawing at the time when the ended run's overlay was set
  std::optional<Transit> transit_;
  TransitItem* transit_item_ = nullptr;
  double transit_began_seconds_ = 0;
  TopologyObject hovered_, current_;
  QGraphicsItem::CacheMode caching_ = QGraphicsItem::DeviceCoordinateCache;
  std::map<std::string, HostItem*> hosts_;
  std::map<std::string, TileItem*> tiles_;     // children of their host
  std::map<std::string, TileTagsItem*> tags_;  // for tiles with tags only
  std::map<std::string, SwitchItem*> switches_;
  std::map<LinkName, std::pair<LinkItem*, LinkLabelItem*>> links_;
  LogicalTopology logical_picture_;
  LogicalItem* logical_;
  std::vector<std::string> layers_;  // layers and shards, by rank
  std::vector<KeptShard> shards_;
  QTimer clock_;
  QElapsedTimer elapsed_;
  double clock_seconds_ = 0;
};

}  // namespace trainyard::ui
