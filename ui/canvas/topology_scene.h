// SPDX-License-Identifier: GPL-3.0-or-later
// The drawing on a graphics scene: keeps items equal to document, selection and live overlay. Edits
// go to the document, never to items, and items are known by name, so undo cannot leave a stale
// one.
#pragma once

#include <QElapsedTimer>
#include <QGraphicsScene>
#include <QTimer>
#include <map>
#include <optional>

#include "ui/canvas/items.h"
#include "ui/canvas/logical_item.h"
#include "ui/canvas/transit_item.h"
#include "ui/model/document.h"

namespace trainyard::ui {

class TopologyScene : public QGraphicsScene {
  Q_OBJECT
 public:
  TopologyScene(Document& document, Selection& selection, QObject* parent = nullptr);

  const Layout& layout() const { return layout_; }
  const Part& hovered() const { return hovered_; }
  void set_hovered(const Part& part);
  const Part& current() const { return current_; }  // has the keyboard focus
  void set_current(const Part& part);

  // Of a live run; cheap when little has changed. That of a run that ended goes when another thing
  // is drawn.
  void set_overlay(const Overlay& overlay);
  void clear_overlay();
  const std::optional<Overlay>& overlay() const { return overlay_; }
  bool live() const { return overlay_ && !overlay_->ended; }

  // Who sends to whom, above the drawing; without flows: nothing. What is but kept in sight gives
  // way to what a live run measures.
  void set_logical(const LogicalPicture& picture);
  const LogicalItem& logical() const { return *logical_; }

  // By rank, what it keeps of a model that is shared out; none: nothing is.
  void set_layers(std::vector<std::string> layers);
  void set_shards(std::vector<KeptShard> shards);
  // What a rank has of the drawn model, where that is not all of it, on the drawing and in a run of
  // it: "has layers 0–1.3".
  QString holding_on(const topology::Device& device) const;

  // Of a collective that is stepped through; nothing: none. It goes where the drawing no longer has
  // a part of its route.
  void set_transit(const std::optional<Transit>& transit);
  const TransitItem* transit() const { return transit_item_; }  // null where none is drawn
  bool is_marked_emulated(const topology::Device& device)
      const;  // its rank runs, or would run, on a CPU: tile and description say so
  QStringList imposed_on(const topology::Device& device)
      const;  // on its rank now, or in a run of the drawing: as said on the tile

  // Pictures of nodes are kept between paintings, except at scales where painting them anew is
  // faster.
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
  bool shows_holding(const topology::Device& device) const;
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
  Marks marks_of(const Part& part) const;

  Document& document_;
  Selection& selection_;
  Layout layout_;
  std::optional<Overlay> overlay_;
  topology::Topology ended_on_;  // the drawing that an ended overlay is of
  std::optional<Transit> transit_;
  TransitItem* transit_item_ = nullptr;
  double transit_began_seconds_ = 0;
  Part hovered_, current_;
  QGraphicsItem::CacheMode caching_ = QGraphicsItem::DeviceCoordinateCache;
  std::map<std::string, HostItem*> hosts_;
  std::map<std::string, TileItem*> tiles_;     // children of their host
  std::map<std::string, TileTagsItem*> tags_;  // of tiles that have some
  std::map<std::string, SwitchItem*> switches_;
  std::map<LinkName, std::vector<std::pair<LinkItem*, LinkLabelItem*>>>
      links_;  // parallel links share a name
  LogicalPicture logical_picture_;
  LogicalItem* logical_;
  std::vector<std::string> layers_;  // by rank, as the next
  std::vector<KeptShard> shards_;
  QTimer clock_;
  QElapsedTimer elapsed_;
  double clock_seconds_ = 0;
};

}  // namespace trainyard::ui
