// SPDX-License-Identifier: GPL-3.0-or-later
// What is copied, cut, pasted and duplicated on the canvas.
#include <gmock/gmock.h>

#include <cmath>

#include "tests/ui/canvas/canvas_fixture.h"
#include "ui/model/clipboard.h"

namespace trainyard::ui {
namespace {

TEST_F(Canvas, copies_get_free_names_and_keep_the_links_among_them) {
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

TEST_F(Canvas, copies_stand_on_the_grid_where_they_cover_nothing_however_often_and_are_in_sight) {
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
    EXPECT_FALSE(view_.topology_scene().layout().links[0].path.intersects(rect)) << copy << " hides the link";
    EXPECT_TRUE(view_.viewport()->rect().contains(view_.mapFromScene(rect).boundingRect())) << copy;
  }
  EXPECT_EQ(drawn().hosts.size(), 8u);
  expect_nothing_overlaps();
  click(pixel("cpu1"));
  act("copy");
  click({3, 3});
  act("paste");
  EXPECT_EQ(drawn().hosts.size(), 9u) << "without a host it brings one";
  expect_nothing_overlaps();
}

TEST_F(Canvas, what_was_cut_comes_back_to_its_place) {
  draw_two_hosts();
  const Place before{drawn().hosts[0].x, drawn().hosts[0].y};
  click(corner("host1"));
  act("cut");
  act("paste");
  EXPECT_EQ(drawn().hosts[1].x, before.x);
  EXPECT_EQ(drawn().hosts[1].y, before.y);
}

TEST_F(Canvas, a_copied_device_joins_the_selected_host) {
  draw_two_hosts();
  click(pixel("cpu1"));
  act("copy");
  click(corner("host2"));
  act("paste");
  ASSERT_EQ(drawn().hosts[1].devices.size(), 2u);
  EXPECT_EQ(drawn().hosts[1].devices[1].name, "cpu3");
}

TEST_F(Canvas, foreign_bytes_on_the_clipboard_change_nothing) {
  auto* data = new QMimeData;
  data->setData(kTopologyMime, "{\"version\": 1, \"topology\": {\"hosts\": [{\"nme\": 3}]}}");
  QGuiApplication::clipboard()->setMimeData(data);
  act("paste");
  EXPECT_EQ(drawn(), topology::Topology{});
}

}  // namespace
}  // namespace trainyard::ui
