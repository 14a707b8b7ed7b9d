// SPDX-License-Identifier: GPL-3.0-or-later
// Transfers between devices, on the drawing.
#include <gtest/gtest.h>

#include <cmath>

#include "tests/drawings.h"
#include "tests/ui/canvas/canvas_fixture.h"

namespace trainyard::ui {
namespace {

class CanvasTransit : public Canvas {
 protected:
  CanvasTransit() { draw(2, 2); }
  ~CanvasTransit() override { Theme::instance().set_reduced_motion(false); }
  // Side by side, the switch below them.
  void draw(int hosts, int devices) {
    experiment::Experiment experiment;
    experiment.topology = tests::drawn_hosts(hosts, devices);
    if (hosts > 1) experiment.topology.hosts[1].x = 600;
    for (topology::Switch& one : experiment.topology.switches) one.x = 400, one.y = 400;
    document_.reset(experiment);
  }
  TopologyScene& scene() { return view_.topology_scene(); }
  QRectF rect(const std::string& name) { return scene().layout().rect_of(name); }
  static QPointF foot(const QRectF& tile) { return {tile.center().x(), tile.bottom()}; }
  // Returns points of the line; Qt only returns the area of a path.
  static bool crosses(const QPainterPath& path, const QRectF& area) {
    for (int i = 0; i <= 1000; ++i)
      if (area.adjusted(1, 1, -1, -1).contains(path.pointAtPercent(i / 1000.0))) return true;
    return false;
  }
  Transit between_hosts() {
    LinkTraffic traffic(drawn());
    return {"cpu0", "cpu3", traffic.route(0, 3), "chunk 1: 7"};
  }
};

TEST_F(CanvasTransit, follows_its_route_from_device_to_device) {
  scene().set_transit(between_hosts());
  ASSERT_TRUE(scene().transit());
  const QPainterPath& path = scene().transit()->path();
  EXPECT_EQ(path.pointAtPercent(0), foot(rect("cpu0")));
  EXPECT_EQ(path.currentPosition(), foot(rect("cpu3")));
  EXPECT_TRUE(path.intersects(rect("switch")));
  for (const char* other : {"cpu1", "cpu2"}) EXPECT_FALSE(crosses(path, rect(other))) << other;
}

TEST_F(CanvasTransit, between_devices_of_a_host_uses_its_bus) {
  LinkTraffic traffic(drawn());
  scene().set_transit(Transit{"cpu0", "cpu1", traffic.route(0, 1), "chunk 0: 1"});
  ASSERT_TRUE(scene().transit());
  EXPECT_TRUE(rect("host0").contains(scene().transit()->path().boundingRect()));
}

TEST_F(CanvasTransit, passes_beside_tiles) {
  draw(1, 4);
  LinkTraffic traffic(drawn());
  scene().set_transit(Transit{"cpu0", "cpu1", traffic.route(0, 1), "chunk 0: 1"});
  for (const char* below : {"cpu2", "cpu3"})
    EXPECT_FALSE(crosses(scene().transit()->path(), rect(below))) << below;
}

TEST_F(CanvasTransit, leaves_the_only_device_of_a_host_next_to_its_link) {
  draw(2, 1);
  LinkTraffic traffic(drawn());
  scene().set_transit(Transit{"cpu0", "cpu1", traffic.route(0, 1), "chunk 0: 1"});
  const QPainterPath& path = scene().transit()->path();
  for (const char* device : {"cpu0", "cpu1"}) EXPECT_FALSE(crosses(path, rect(device))) << device;
  EXPECT_TRUE(rect("cpu1").adjusted(-1, -1, 1, 1).contains(path.currentPosition()));
}

TEST_F(CanvasTransit, moves_once_and_stays_at_its_end) {
  scene().set_transit(between_hosts());
  const QPointF begin = scene().transit()->label_rect().topLeft();
  EXPECT_TRUE(
      QTest::qWaitFor([&] { return scene().transit()->label_rect().left() > begin.x() + 100; }));
  const double end = foot(rect("cpu3")).x();
  EXPECT_TRUE(
      QTest::qWaitFor([&] { return std::abs(scene().transit()->label_rect().left() - end) < 20; }));
}

TEST_F(CanvasTransit, does_not_move_with_reduced_motion) {
  Theme::instance().set_reduced_motion(true);
  scene().set_transit(between_hosts());
  EXPECT_NEAR(scene().transit()->label_rect().left(), foot(rect("cpu3")).x(), 20);
}

TEST_F(CanvasTransit, disappears_with_a_part_of_its_route_and_at_its_end) {
  scene().set_transit(between_hosts());
  document_.set_value("topology.hosts[1].devices[1].name", "other");
  EXPECT_FALSE(scene().transit());
  document_.undo_stack().undo();
  EXPECT_TRUE(scene().transit());
  scene().set_transit({});
  EXPECT_FALSE(scene().transit());
}

TEST_F(CanvasTransit, is_painted_in_the_accent_color) {
  Theme::instance().set_reduced_motion(true);
  const int before = pixels_of(Theme::instance().colors().accent, "host0");
  scene().set_transit(between_hosts());
  EXPECT_GT(pixels_of(Theme::instance().colors().accent, "host0"), before + 20);
}

}  // namespace
}  // namespace trainyard::ui
