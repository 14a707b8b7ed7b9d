// SPDX-License-Identifier: GPL-3.0-or-later
// Copy, cut, paste and duplicate on the canvas.
#include <gmock/gmock.h>

#include <cmath>

#include "core/base/json.h"
#include "tests/drawings.h"
#include "tests/ui/canvas/canvas_fixture.h"
#include "ui/model/document/clipboard.h"

namespace trainyard::ui {
namespace {

TEST_F(Canvas, copies_have_unused_names_and_keep_their_links) {
  draw_two_hosts();
  act("connect_tool");
  drag(corner("host1"), corner("host2"));
  act("select_tool");
  act("select_all");
  act("copy");
  act("paste");
  EXPECT_EQ(drawn().hosts.size(), 4u);
  EXPECT_EQ(drawn().links.size(), 2u);
  EXPECT_THAT(base::to_string(topology::validate(drawn(), "topology")), "");
  EXPECT_EQ(selection_.picked().size(), 3u) << "two hosts and their link";
  act("duplicate");
  EXPECT_EQ(drawn().hosts.size(), 6u);
  act("cut");
  EXPECT_EQ(drawn().hosts.size(), 4u);
  act("paste");
  EXPECT_EQ(drawn().hosts.size(), 6u);
}

// A name has at most 64 bytes. The number follows a prefix of complete characters.
TEST_F(Canvas, copies_of_long_names_are_valid_utf8) {
  draw_two_hosts();
  document_.edit("Rename", [](experiment::Experiment& e) {
    std::string name;
    for (int i = 0; i < 20; ++i) name += "\xe6\xbc\xa2";
    e.topology.hosts[1].devices[0].name = name;
  });
  const std::string copy = free_name({}, drawn().hosts[1].devices[0].name);
  EXPECT_LE(copy.size(), 64u);
  EXPECT_NO_THROW(base::Json(copy).dump());
}

TEST_F(Canvas, repeated_copies_are_on_the_grid_visible_and_without_overlap) {
  draw_two_hosts();
  act("connect_tool");
  drag(corner("host1"), corner("host2"));
  act("select_tool");
  act("zoom_fit");
  click(corner("host1"));
  act("copy");
  for (int i = 0; i < 6; ++i) {
    act(i % 2 == 0 ? "paste" : "duplicate");
    const std::string copy = *selection_.picked().names.begin();
    const QRectF rect = view_.topology_scene().layout().rect_of(copy);
    EXPECT_EQ(std::fmod(rect.x() - drawn().hosts[0].x, 8), 0) << copy;
    EXPECT_EQ(std::fmod(rect.y() - drawn().hosts[0].y, 8), 0) << copy;
    EXPECT_FALSE(view_.topology_scene().layout().links[0].path.intersects(rect))
        << copy << " hides the link";
    EXPECT_TRUE(view_.viewport()->rect().contains(view_.mapFromScene(rect).boundingRect())) << copy;
  }
  EXPECT_EQ(drawn().hosts.size(), 8u);
  expect_nothing_overlaps();
  click(pixel("cpu1"));
  act("copy");
  click({3, 3});
  act("paste");
  EXPECT_EQ(drawn().hosts.size(), 9u) << "a device without a host creates one";
  expect_nothing_overlaps();
}

TEST_F(Canvas, view_shows_a_full_copy_of_a_large_drawing) {
  draw_two_hosts();
  view_.resize(700, 500);
  act("zoom_actual");
  act("zoom_in");
  act("select_all");
  act("duplicate");
  ASSERT_EQ(drawn().hosts.size(), 4u);
  for (const std::string& copy : selection_.picked().names)
    EXPECT_TRUE(view_.viewport()->rect().contains(
        view_.mapFromScene(view_.topology_scene().layout().rect_of(copy)).boundingRect()))
        << copy;
}

// Hosts in rows and columns, so near each other that a card that grows would cover its neighbors.
struct Crowd {
  int columns, rows, devices;
  double gap;
};

experiment::Experiment drawn_crowd(const Crowd& crowd) {
  experiment::Experiment experiment;
  const QSizeF size = host_size(static_cast<std::size_t>(crowd.devices));
  for (int i = 0; i < crowd.columns * crowd.rows; ++i) {
    topology::Host host =
        tests::drawn_host("host" + std::to_string(i), crowd.devices, i * crowd.devices);
    host.x = i % crowd.columns * (size.width() + crowd.gap),
    host.y = i / crowd.columns * (size.height() + crowd.gap);
    experiment.topology.hosts.push_back(host);
  }
  experiment.topology.switches.push_back({"hub", crowd.columns * (size.width() + crowd.gap), 0});
  return experiment;
}

class CrowdedCanvas : public Canvas, public testing::WithParamInterface<Crowd> {
 protected:
  CrowdedCanvas() { document_.reset(drawn_crowd(GetParam())); }
  std::vector<Position> places() const {
    std::vector<Position> all;
    for (const topology::Host& host : drawn().hosts) all.push_back({host.x, host.y});
    return all;
  }
  // Steps of the grid, and no more than one host.
  void expect_one_moved_at_most(const std::vector<Position>& before) const {
    int moved = 0;
    for (std::size_t i = 0; i < before.size(); ++i) {
      const double x = places()[i].x - before[i].x, y = places()[i].y - before[i].y;
      moved += x != 0 || y != 0 ? 1 : 0;
      EXPECT_EQ(std::fmod(x, 8), 0);
      EXPECT_EQ(std::fmod(y, 8), 0);
    }
    EXPECT_LE(moved, 1);
  }
};

TEST_P(CrowdedCanvas, host_that_grows_by_a_copied_device_does_not_overlap) {
  const std::size_t hosts = drawn().hosts.size();
  for (std::size_t host = 0; host < hosts; ++host)
    for (int time = 0; time < 3; ++time) {
      const std::vector<Position> before = places();
      selection_.set({.names = {drawn().hosts[host].devices[0].name}, .links = {}});
      act("duplicate");
      expect_one_moved_at_most(before);
      expect_nothing_overlaps();
    }
  EXPECT_EQ(drawn().hosts[0].devices.size(), static_cast<std::size_t>(GetParam().devices) + 3);
  while (document_.undo_stack().canUndo()) document_.undo_stack().undo();
  EXPECT_EQ(drawn(), drawn_crowd(GetParam()).topology);
}

TEST_P(CrowdedCanvas, copied_hosts_do_not_overlap_the_host_of_copied_devices) {
  const std::vector<Position> before = places();
  selection_.set({.names = {"cpu0", drawn().hosts[1].devices[0].name, drawn().hosts.back().name},
                  .links = {}});
  act("duplicate");
  EXPECT_EQ(drawn().hosts.size(), before.size() + 1);
  EXPECT_EQ(drawn().hosts[0].devices.size(), static_cast<std::size_t>(GetParam().devices) + 2);
  expect_one_moved_at_most(before);
  expect_nothing_overlaps();
}

TEST_P(CrowdedCanvas, dropped_device_causes_no_overlap_of_hosts) {
  for (const PaletteKind kind : {PaletteKind::cpu, PaletteKind::gpu, PaletteKind::tpu}) {
    view_.place(kind, view_.topology_scene().layout().rect_of("host0").center());
    expect_nothing_overlaps();
  }
  EXPECT_EQ(drawn().hosts[0].devices.size(), static_cast<std::size_t>(GetParam().devices) + 3);
}

// The drop position is free, but the card of the host would overlap.
TEST_P(CrowdedCanvas, host_dropped_next_to_a_host_does_not_overlap) {
  for (const PaletteKind kind :
       {PaletteKind::cpu, PaletteKind::host, PaletteKind::network_switch}) {
    const std::vector<Position> before = places();
    const QRectF host = view_.topology_scene().layout().rect_of("host0");
    view_.place(kind, host.topLeft() - QPointF(4, 4));
    view_.place(kind, host.topRight() + QPointF(4, -4));
    expect_nothing_overlaps();
    for (std::size_t i = 0; i < before.size(); ++i)
      EXPECT_TRUE(before[i].x == places()[i].x && before[i].y == places()[i].y)
          << "existing items keep their position";
  }
  EXPECT_EQ(drawn().switches.size(), 3u);
  EXPECT_EQ(drawn().hosts.size(),
            static_cast<std::size_t>(GetParam().columns * GetParam().rows) + 4);
}

INSTANTIATE_TEST_SUITE_P(all, CrowdedCanvas,
                         testing::Values(Crowd{3, 1, 1, 8}, Crowd{1, 3, 2, 24}, Crowd{3, 3, 1, 8},
                                         Crowd{3, 3, 4, 48}, Crowd{2, 4, 2, 96}),
                         [](const auto& row) {
                           return std::to_string(row.param.columns) + "_by_" +
                                  std::to_string(row.param.rows) + "_of_" +
                                  std::to_string(row.param.devices) + "_devices";
                         });

TEST_F(Canvas, host_with_space_to_grow_keeps_its_position) {
  document_.reset(drawn_crowd({2, 2, 1, 400}));
  const topology::Topology before = drawn();
  selection_.set({.names = {"cpu0"}, .links = {}});
  act("duplicate");
  EXPECT_EQ(drawn().hosts[0].devices.size(), 2u);
  EXPECT_EQ(drawn().hosts[0].x, before.hosts[0].x);
  EXPECT_EQ(drawn().hosts[0].y, before.hosts[0].y);
}

TEST_F(Canvas, host_dropped_on_free_space_keeps_its_position) {
  document_.reset(drawn_crowd({2, 2, 1, 400}));
  const QRectF host = view_.topology_scene().layout().rect_of("host0");
  view_.place(PaletteKind::gpu,
              QPointF(host.right() + 96, host.center().y()));  // eight pixels away
  EXPECT_EQ(drawn().hosts.back().x, host.right() + 8);
  EXPECT_EQ(drawn().hosts.back().y, host.y());
}

TEST_F(Canvas, pasting_cut_items_restores_their_position) {
  draw_two_hosts();
  const Position before{drawn().hosts[0].x, drawn().hosts[0].y};
  click(corner("host1"));
  act("cut");
  act("paste");
  EXPECT_EQ(drawn().hosts[1].x, before.x);
  EXPECT_EQ(drawn().hosts[1].y, before.y);
}

TEST_F(Canvas, copied_device_joins_the_selected_host) {
  draw_two_hosts();
  click(pixel("cpu1"));
  act("copy");
  click(corner("host2"));
  act("paste");
  ASSERT_EQ(drawn().hosts[1].devices.size(), 2u);
  EXPECT_EQ(drawn().hosts[1].devices[1].name, "cpu3");
}

TEST_F(Canvas, invalid_clipboard_data_are_ignored) {
  auto* data = new QMimeData;
  data->setData(kTopologyMime, "{\"version\": 1, \"topology\": {\"hosts\": [{\"nme\": 3}]}}");
  QGuiApplication::clipboard()->setMimeData(data);
  act("paste");
  EXPECT_EQ(drawn(), topology::Topology{});
}

}  // namespace
}  // namespace trainyard::ui
