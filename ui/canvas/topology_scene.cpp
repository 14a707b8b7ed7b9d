// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/canvas/topology_scene.h"

#include <QGraphicsView>
#include <algorithm>
#include <utility>

#include "core/experiment/placement.h"
#include "core/experiment/rank_duties.h"
#include "ui/canvas/canvas_text.h"
#include "ui/model/plan/stage_assignment.h"
#include "ui/model/topology/topology_text.h"
#include "ui/theme/theme.h"

namespace trainyard::ui {
namespace {

constexpr int kFrameMilliseconds = 33;
constexpr double kTransitSeconds = 0.6;

template <class Map>
void remove_stale(Map& items, const std::set<std::string>& names) {
  std::erase_if(items, [&](const auto& entry) {
    if (names.contains(entry.first)) return false;
    delete entry.second;
    return true;
  });
}

template <class Value, class Key>
std::optional<Value> value_at(const std::map<Key, Value>& map, const Key& key) {
  const auto at = map.find(key);
  return at == map.end() ? std::nullopt : std::optional(at->second);
}

// Returns the icon of the role; during a run, the icon of the rank's role in the run. Workers and
// idle devices have no icon, because their tiles already look different.
QString badge_of(const TileAppearance& look) {
  const topology::Role role = look.live ? look.live->role : look.device.role;
  if (role == topology::Role::worker && look.duty == "storage")
    return role_icon(topology::Role::parameter_server);
  return role == topology::Role::worker || role == topology::Role::idle ? QString()
                                                                        : role_icon(role);
}

bool flows(const Overlay& overlay) {
  const auto any = [](const auto& map) {
    return std::ranges::any_of(map, [](const auto& entry) { return entry.second.total() > 0; });
  };
  return any(overlay.links) || any(overlay.buses);
}

}  // namespace

TopologyScene::TopologyScene(Document& document, Selection& selection, QObject* parent)
    : QGraphicsScene(parent),
      document_(document),
      selection_(selection),
      logical_(new LogicalItem) {
  addItem(logical_);
  setItemIndexMethod(NoIndex);  // items move; an index would be rebuilt at every step
  clock_.setInterval(kFrameMilliseconds);
  connect(&clock_, &QTimer::timeout, this, &TopologyScene::tick);
  connect(&document, &Document::changed, this, &TopologyScene::document_changed);
  connect(&selection, &Selection::selection_changed, this, &TopologyScene::sync);
  connect(&Theme::instance(), &Theme::changed, this, &TopologyScene::theme_changed);
  document_changed();
}

void TopologyScene::document_changed() {
  const topology::Topology& topology = document_.experiment().topology;
  layout_ = lay_out(topology);
  if (overlay_ && overlay_->ended && without_positions(topology) != ended_drawing_)
    overlay_.reset();
  if (layout_.rect_of(current_).isNull()) set_current({});
  if (layout_.rect_of(hovered_).isNull()) hovered_ = {};
  sync();
  place_logical();
  show_transit();
  selection_.set(existing_objects(selection_.picked(), topology));
  emit layout_changed();
}

void TopologyScene::theme_changed() {
  for (QGraphicsItem* item : items()) item->update();
  start_or_stop_clock();
}

void TopologyScene::set_scale(double scale) {
  const auto caching =
      is_tiny(scale) ? QGraphicsItem::NoCache : QGraphicsItem::DeviceCoordinateCache;
  if (caching == caching_) return;
  caching_ = caching;
  const auto set = [caching](const auto& items) {
    for (const auto& [name, item] : items) item->setCacheMode(caching);
  };
  set(hosts_), set(tiles_), set(tags_), set(switches_);
}

template <class Item, class... Arguments>
Item* TopologyScene::make_node(const Arguments&... arguments) const {
  auto* item = new Item(arguments...);
  item->setCacheMode(caching_);
  return item;
}

void TopologyScene::set_hovered(const TopologyObject& part) {
  if (part == hovered_) return;
  hovered_ = part;
  sync();
}

void TopologyScene::set_current(const TopologyObject& part) {
  if (part == current_) return;
  current_ = part;
  emit current_changed();
}

void TopologyScene::set_overlay(const Overlay& overlay) {
  if (overlay_ == overlay) return;
  overlay_ = overlay;
  if (overlay.ended) ended_drawing_ = without_positions(document_.experiment().topology);
  sync();
  show_logical();
  start_or_stop_clock();
  emit overlay_changed();
}

void TopologyScene::clear_overlay() {
  overlay_.reset();
  sync();
  show_logical();
  start_or_stop_clock();
  emit overlay_changed();
}

void TopologyScene::set_logical(const LogicalTopology& picture) {
  logical_picture_ = picture;
  place_logical();
}

void TopologyScene::set_layers(std::vector<std::string> layers) {
  if (layers == layers_) return;
  layers_ = std::move(layers);
  sync_tiles();
}

void TopologyScene::set_shards(std::vector<KeptShard> shards) {
  if (shards == shards_) return;
  shards_ = std::move(shards);
  sync_tiles();
}

void TopologyScene::place_logical() {
  logical_->set(logical_arrows(layout_, logical_picture_), layout_);
  show_logical();
}

void TopologyScene::show_logical() {
  logical_->setVisible(!logical_->arrows().empty() && (logical_picture_.pointed || !live()));
}

void TopologyScene::set_transit(const std::optional<Transit>& transit) {
  if (transit == transit_) return;
  transit_ = transit;
  transit_began_seconds_ = clock_seconds_;
  show_transit();
  start_or_stop_clock();
}

void TopologyScene::show_transit() {
  const auto path = transit_ ? transit_path(layout_, *transit_) : std::nullopt;
  if (!path) {
    delete std::exchange(transit_item_, nullptr);
    return;
  }
  if (!transit_item_) addItem(transit_item_ = new TransitItem);
  transit_item_->set(*path, transit_->label);
  transit_item_->set_progress(transit_moves() ? 0 : 1);
}

void TopologyScene::advance_transit() {
  transit_item_->set_progress(
      transit_moves() ? (clock_seconds_ - transit_began_seconds_) / kTransitSeconds : 1);
  start_or_stop_clock();
}

bool TopologyScene::transit_moves() const {
  return transit_item_ && !Theme::instance().reduced_motion() &&
         clock_seconds_ < transit_began_seconds_ + kTransitSeconds;
}

Marks TopologyScene::marks_of(const TopologyObject& part) const {
  const bool selected = part.kind == TopologyObject::Kind::link ? selection_.contains(part.link)
                                                                : selection_.contains(part.name);
  return {selected, part == hovered_};
}

// Updates all items. Tiles are removed before their hosts, because deleting a host deletes its
// children.
void TopologyScene::sync() {
  const std::set<std::string> names = object_names(document_.experiment().topology);
  sync_hosts();
  sync_tiles();
  remove_stale(tiles_, names);
  remove_stale(tags_, names);
  remove_stale(hosts_, names);
  sync_switches();
  remove_stale(switches_, names);
  sync_links();
}

void TopologyScene::sync_hosts() {
  for (const topology::Host& host : document_.experiment().topology.hosts) {
    HostItem*& item = hosts_[host.name];
    if (!item) addItem(item = make_node<HostItem>(clock_seconds_));
    HostAppearance look{.host = host,
                        .live = {},
                        .speeds = overlay_ ? overlay_->link_speeds : QString(),
                        .marks = marks_of({TopologyObject::Kind::host, host.name, {}})};
    if (overlay_) look.live = value_at(overlay_->buses, host.name);
    // Clears the position in the appearance, so that moving a card does not discard its cached
    // image.
    look.host.x = look.host.y = 0;
    const auto box = std::ranges::find_if(layout_.nodes, [&](const NodeBox& node) {
      return node.kind == TopologyObject::Kind::host && node.name == host.name;
    });
    item->set(*box, look);
  }
}

// True if the tile is marked EMULATED. If the experiment does not allow emulation, the tile is not
// marked; a problem reports the device instead.
bool TopologyScene::is_marked_emulated(const topology::Device& device) const {
  const bool runs = overlay_ && overlay_->devices.contains(device.name);
  return experiment::is_emulated(device) && (document_.experiment().run.emulate || runs);
}

QStringList TopologyScene::imposed_on(const topology::Device& device) const {
  if (overlay_)
    if (const auto live = value_at(overlay_->devices, device.name)) return live->imposed;
  if (device.role == topology::Role::idle) return {};
  return imposed_marks(device.slow_down, device.jitter,
                       document_.experiment().run.devices == experiment::DeviceSpeed::paced);
}

// True if the device shows its share of the drawn model. False during a run of another experiment,
// because its shards may differ.
bool TopologyScene::shows_model_share(const topology::Device& device) const {
  return !overlay_ || overlay_->trains_drawing || !overlay_->devices.contains(device.name);
}

QString TopologyScene::layers_of(int rank) const {
  return static_cast<std::size_t>(rank) < layers_.size()
             ? held_text(layers_[static_cast<std::size_t>(rank)])
             : QString();
}

QString TopologyScene::model_share_on(const topology::Device& device) const {
  const auto rank = rank_of(document_.experiment().topology, device.name);
  if (!rank || !shows_model_share(device)) return {};
  QStringList notes;
  if (const QString layers = layers_of(*rank); !layers.isEmpty()) notes << tr("has %1").arg(layers);
  if (static_cast<std::size_t>(*rank) < shards_.size())
    notes << kept_text(shards_[static_cast<std::size_t>(*rank)]);
  return notes.join(tr(", and "));
}

void TopologyScene::sync_tiles() {
  const topology::Topology& topology = document_.experiment().topology;
  for (std::size_t h = 0; h < topology.hosts.size(); ++h) {
    const topology::Host& host = topology.hosts[h];
    for (std::size_t d = 0; d < host.devices.size(); ++d) {
      const topology::Device& device = host.devices[d];
      TileItem*& item = tiles_[device.name];
      if (!item) item = make_node<TileItem>(hosts_[host.name]);
      if (item->parentItem() != hosts_[host.name]) item->setParentItem(hosts_[host.name]);
      TileAppearance look{.device = device,
                          .rank = {},
                          .duty = tr("idle"),
                          .live = {},
                          .emulated = false,
                          .marks = marks_of({TopologyObject::Kind::device, device.name, {}})};
      if (const auto rank = rank_of(topology, device.name)) {
        look.duty = duty_text(experiment::duty_of(document_.experiment(), *rank));
        look.rank = *rank;
        if (shows_model_share(device)) look.layers = layers_of(*rank);
        if (shows_model_share(device) && static_cast<std::size_t>(*rank) < shards_.size())
          look.shard = shards_[static_cast<std::size_t>(*rank)];
      }
      if (overlay_) look.live = value_at(overlay_->devices, device.name);
      look.badge = badge_of(look);
      look.emulated = is_marked_emulated(device);
      const QPointF place = layout_.nodes[h].tiles[d].rect.topLeft();
      item->set(place - layout_.nodes[h].rect.topLeft(), look);
      sync_tags(device.name, place, {look.emulated, imposed_on(device), look.absence()});
    }
  }
}

void TopologyScene::sync_tags(const std::string& device, QPointF place, const TileTags& tags) {
  if (!tags.empty()) {
    TileTagsItem*& item = tags_[device];
    if (!item) addItem(item = make_node<TileTagsItem>());
    item->set(place, tags);
  } else if (const auto at = tags_.find(device); at != tags_.end()) {
    delete at->second;
    tags_.erase(at);
  }
}

void TopologyScene::sync_switches() {
  for (const topology::Switch& one : document_.experiment().topology.switches) {
    SwitchItem*& item = switches_[one.name];
    if (!item) addItem(item = make_node<SwitchItem>());
    item->set({one.x, one.y},
              {one.name, marks_of({TopologyObject::Kind::network_switch, one.name, {}})});
  }
}

void TopologyScene::sync_links() {
  const topology::Topology& topology = document_.experiment().topology;
  const std::vector<LinkName> names = link_names(topology);
  auto shape = layout_.links.begin();
  for (std::size_t l = 0; l < names.size(); ++l) {
    // a dangling link has no shape
    if (shape == layout_.links.end() || shape->name != names[l]) continue;
    const auto [at, fresh] = links_.try_emplace(names[l]);
    auto& [line, label] = at->second;
    if (fresh) {
      addItem(line = new LinkItem(clock_seconds_));
      addItem(label = new LinkLabelItem);
    }
    LinkAppearance look{.link = topology.links[l],
                        .live = {},
                        .speeds = live() ? overlay_->link_speeds : QString(),
                        .marks = marks_of({TopologyObject::Kind::link, {}, names[l]})};
    if (overlay_) look.live = value_at(overlay_->links, names[l]);
    if (overlay_) look.part = value_at(overlay_->link_fractions, names[l]).value_or(1);
    line->set(*shape, look), label->set(*shape, look);
    ++shape;
  }
  std::erase_if(links_, [&](const auto& entry) {
    if (std::ranges::find(layout_.links, entry.first, &LinkShape::name) != layout_.links.end())
      return false;
    delete entry.second.first;
    delete entry.second.second;
    return true;
  });
}

void TopologyScene::start_or_stop_clock() {
  const bool moving =
      transit_moves() || (overlay_ && flows(*overlay_) && !Theme::instance().reduced_motion());
  if (moving == clock_.isActive()) return;
  moving ? clock_.start() : clock_.stop();
  elapsed_.start();
}

void TopologyScene::tick() {
  clock_seconds_ += static_cast<double>(elapsed_.restart()) / 1000;
  if (transit_item_) advance_transit();
  if (std::ranges::none_of(views(), &QGraphicsView::isVisible)) return;
  for (const auto& [name, host] : hosts_) host->advance_flow();
  for (const auto& [name, items] : links_) items.first->advance_flow();
}

}  // namespace trainyard::ui
