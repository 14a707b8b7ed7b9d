// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/canvas/layout.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <sstream>

#include "ui/canvas/arrange.h"
#include "ui/canvas/canvas_text.h"
#include "ui/canvas/navigation.h"

namespace trainyard::ui {
namespace {

using ::testing::ElementsAre;
using ::testing::UnorderedElementsAre;

// "host a 0 0 cpu cpu", "switch s 0 0", "link a s 1e10": one a line; devices are named a.0, a.1,
// ...
topology::Topology drawing(const std::string& text) {
  topology::Topology topology;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string what, name, kind;
    words >> what >> name;
    if (what == "link") {
      topology::Link link;
      link.from = name;
      words >> link.to >> link.bandwidth_bits_per_second;
      topology.links.push_back(link);
    } else if (what == "switch") {
      topology::Switch one{name, 0, 0};
      words >> one.x >> one.y;
      topology.switches.push_back(one);
    } else if (what == "host") {
      topology::Host host;
      host.name = name;
      words >> host.x >> host.y;
      while (words >> kind)
        host.devices.emplace_back().name = name + "." + std::to_string(host.devices.size());
      topology.hosts.push_back(host);
    }
  }
  return topology;
}

// "a 0 0 176 144", and tiles behind their host.
std::string printed(const Layout& layout) {
  std::ostringstream out;
  const auto print = [&](const std::string& name, const QRectF& r) {
    out << name << ' ' << r.x() << ' ' << r.y() << ' ' << r.width() << ' ' << r.height() << '\n';
  };
  for (const NodeBox& node : layout.nodes) {
    print(node.name, node.rect);
    for (const TileBox& tile : node.tiles) print("  " + tile.name, tile.rect);
  }
  return out.str();
}

TEST(CanvasLayout, devices_are_in_a_grid_on_their_host) {
  EXPECT_EQ(printed(lay_out(drawing(
                "host a 0 0 cpu\nhost b 400 80 cpu cpu cpu\nhost c 0 400\nswitch s 16 600"))),
            "a 0 0 176 144\n"
            "  a.0 16 40 144 80\n"
            "b 400 80 336 272\n"
            "  b.0 416 120 144 80\n"
            "  b.1 576 120 144 80\n"
            "  b.2 416 216 144 80\n"
            "c 0 400 176 144\n"
            "s 16 600 128 64\n");
}

TEST(CanvasLayout, tiles_do_not_overlap_and_are_inside_their_card) {
  for (std::size_t devices = 1; devices <= 64; ++devices) {
    std::string text = "host a 8 16";
    for (std::size_t i = 0; i < devices; ++i) text += " gpu";
    const NodeBox node = lay_out(drawing(text)).nodes[0];
    for (std::size_t i = 0; i < devices; ++i) {
      EXPECT_TRUE(node.rect.contains(node.tiles[i].rect)) << devices;
      EXPECT_FALSE(node.bus.intersects(node.tiles[i].rect)) << devices;
      for (std::size_t j = 0; j < i; ++j)
        EXPECT_FALSE(node.tiles[i].rect.intersects(node.tiles[j].rect)) << devices;
    }
  }
}

TEST(CanvasLayout, link_connects_borders_and_its_width_is_logarithmic_in_bandwidth) {
  const Layout layout = lay_out(drawing("host a 0 0 cpu\nswitch s 400 40\nlink a s 1e10"));
  ASSERT_EQ(layout.links.size(), 1u);
  EXPECT_EQ(layout.links[0].path.pointAtPercent(0), QPointF(176, 72));
  EXPECT_EQ(layout.links[0].path.pointAtPercent(1), QPointF(400, 72));
  EXPECT_DOUBLE_EQ(link_width(1e10), link_width(1e9) + 1);
  EXPECT_GE(link_width(0), 1);
}

TEST(CanvasLayout, link_touches_its_switch_at_every_angle) {
  for (int degrees = 0; degrees < 360; degrees += 15) {
    const double x = 1000 * std::cos(degrees * M_PI / 180),
                 y = 1000 * std::sin(degrees * M_PI / 180);
    const Layout layout = lay_out(drawing("host a " + std::to_string(x) + " " + std::to_string(y) +
                                          " cpu\nswitch s 24 40\nlink a s 1e9"));
    const QPointF end = layout.links[0].path.pointAtPercent(1),
                  middle(24 + 64, 40 + 32);  // a pill of 128 x 64
    const QPointF nearest(std::clamp(end.x(), middle.x() - 32, middle.x() + 32), middle.y());
    EXPECT_NEAR(QLineF(nearest, end).length(), 32, 1e-6) << degrees;
  }
}

TEST(CanvasLayout, dangling_links_are_hidden_and_parallel_links_are_apart) {
  const Layout layout = lay_out(
      drawing("host a 0 0 cpu\nhost b 400 0 cpu\nlink a b 1e9\nlink b a 1e9\nlink a nothing 1e9"));
  ASSERT_EQ(layout.links.size(), 2u);
  EXPECT_GT(std::fabs(layout.links[0].middle.y() - layout.links[1].middle.y()), 8);
}

TEST(CanvasLayout, hit_test_returns_the_uppermost_item) {
  const Layout layout = lay_out(drawing("host a 0 0 cpu\nhost b 400 0 cpu\nlink a b 1e9"));
  EXPECT_EQ(object_at(layout, {20, 50}), (TopologyObject{TopologyObject::Kind::device, "a.0", {}}));
  EXPECT_EQ(object_at(layout, {4, 4}), (TopologyObject{TopologyObject::Kind::host, "a", {}}));
  EXPECT_EQ(object_at(layout, {300, 74}),
            (TopologyObject{TopologyObject::Kind::link, {}, {"a", "b"}}));
  EXPECT_FALSE(object_at(layout, {300, 200}));
}

TEST(CanvasLayout, rubber_band_selects_touched_nodes_and_links_between_them) {
  const Layout layout = lay_out(
      drawing("host a 0 0 cpu\nhost b 400 0 cpu\nhost c 2000 0\nlink a b 1e9\nlink b c 1e9"));
  const SelectedObjects picked = within(layout, QRectF(-10, -10, 500, 50));
  EXPECT_THAT(picked.names, UnorderedElementsAre("a", "b"));
  EXPECT_THAT(picked.links, ElementsAre(LinkName{"a", "b"}));
}

TEST(CanvasArrangement, never_causes_overlaps) {
  for (const int hosts : {1, 2, 3, 4, 7, 25}) {
    std::string text =
        "switch s 0 0\nswitch t 0 0\nswitch spine 0 0\nlink s spine 1e9\nlink t spine 1e9\n";
    for (int h = 0; h < hosts; ++h)
      text += "host h" + std::to_string(h) + " 0 0 cpu cpu cpu\nlink h" + std::to_string(h) +
              (h % 3 == 0 ? " t" : " s") + " 1e9\n";
    topology::Topology topology = drawing(text + "host alone 0 0\nhost other 0 0 cpu");
    arrange(topology);
    const Layout layout = lay_out(topology);
    for (const NodeBox& a : layout.nodes)
      for (const NodeBox& b : layout.nodes)
        EXPECT_TRUE(a.name == b.name || !a.rect.intersects(b.rect))
            << hosts << ": " << a.name << " and " << b.name << "\n"
            << printed(layout);
  }
}

TEST(CanvasArrangement, puts_two_hosts_left_and_right_of_their_switch) {
  topology::Topology topology =
      drawing("host a 0 0 cpu cpu\nhost b 0 0 cpu cpu\nswitch s 0 0\nlink a s 1e9\nlink b s 1e9");
  arrange(topology);
  const Layout layout = lay_out(topology);
  EXPECT_LT(layout.rect_of("a").right(), layout.rect_of("s").left());
  EXPECT_LT(layout.rect_of("s").right(), layout.rect_of("b").left());
  EXPECT_EQ(layout.rect_of("a").center().y(), layout.rect_of("s").center().y());
}

TEST(CanvasArrangement, aligns_edges_and_distributes_equal_gaps) {
  topology::Topology topology = drawing("host a 0 0 cpu\nhost b 304 40 cpu\nhost c 800 96 cpu");
  align(topology, {"a", "b", "c"}, Edge::bottom);
  for (const topology::Host& host : topology.hosts) EXPECT_EQ(host.y, 96);
  distribute(topology, {"a", "b", "c"}, Qt::Horizontal);
  EXPECT_EQ(topology.hosts[1].x, 400);
  const topology::Topology before = topology;
  align(topology, {"a"}, Edge::left);
  distribute(topology, {"a", "b"}, Qt::Vertical);
  EXPECT_EQ(topology, before);
}

TEST(CanvasArrangement, puts_a_copy_beside_or_below_but_not_on_a_link) {
  const topology::Topology copy = drawing("host a 0 0 cpu");  // 176 x 144
  const auto offset = [&](const std::string& text) {
    const Position by = free_offset(drawing(text), copy);
    return std::pair(by.x, by.y);
  };
  EXPECT_EQ(offset("host b 400 400 cpu"), std::pair(0.0, 0.0)) << "the original position is free";
  EXPECT_EQ(offset("host a 0 0 cpu"), std::pair(224.0, 0.0));
  EXPECT_EQ(offset("host a 0 0 cpu\nhost b 300 0 cpu"), std::pair(0.0, 192.0));
  EXPECT_EQ(offset("host a 0 0 cpu\nhost b 600 0 cpu\nlink a b 1e9"), std::pair(0.0, 192.0))
      << "the link would be hidden";
  EXPECT_EQ(offset("host a 0 0 cpu\nhost b 224 0 cpu\nhost c 0 192 cpu"), std::pair(224.0, 192.0));
}

TEST(CanvasNavigation, tab_visits_every_item_once_in_reading_order) {
  const Layout layout = lay_out(drawing("host a 0 0 cpu cpu\nswitch s 400 0\nlink a s 1e9"));
  std::string visited;
  TopologyObject at;
  for (int i = 0; i < 6; ++i)
    at = next_object(layout, at, 1),
    visited += at.name + (at.kind == TopologyObject::Kind::link ? "link " : " ");
  EXPECT_EQ(visited, "a a.0 a.1 s link a ");
  EXPECT_EQ(next_object(layout, {}, -1).kind, TopologyObject::Kind::link);
}

TEST(CanvasLayout, text_of_a_device_fits_its_tile) {
  const double inner = tile_size().width() - 20;
  for (const char* state : {"starting", "running", "waiting", "paused", "held", "finished",
                            "failed", "stopped", "stalled", "rejoining"})
    EXPECT_LE(width_of(state, 11, true) + 6 + width_of("1,234,567", 11, false), inner) << state;
  EXPECT_LE(width_of("128 cores, 512 GB", 11, false), inner);
}

TEST(CanvasNavigation, arrow_keys_move_to_the_nearest_item_of_a_kind) {
  const Layout layout =
      lay_out(drawing("host a 0 0 cpu cpu cpu\nhost b 600 0 cpu\nhost c 0 600 cpu"));
  const auto go = [&](const TopologyObject& from, QPointF way) {
    return nearest_object(layout, from, way).name;
  };
  EXPECT_EQ(go({TopologyObject::Kind::device, "a.0", {}}, {1, 0}), "a.1");
  EXPECT_EQ(go({TopologyObject::Kind::device, "a.0", {}}, {0, 1}), "a.2");
  EXPECT_EQ(go({TopologyObject::Kind::host, "a", {}}, {1, 0}), "b");
  EXPECT_EQ(go({TopologyObject::Kind::host, "a", {}}, {0, 1}), "c");
  EXPECT_EQ(go({TopologyObject::Kind::host, "a", {}}, {-1, 0}), "a");
}

}  // namespace
}  // namespace trainyard::ui
