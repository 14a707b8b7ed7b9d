// SPDX-License-Identifier: GPL-3.0-or-later
// Logical communication (sender to receiver), drawn over the devices.
#include <cmath>

#include "tests/drawings.h"
#include "tests/ui/canvas/canvas_fixture.h"

namespace trainyard::ui {
namespace {

// Four devices in a ring; the first sends the most.
LogicalTopology ring_of_four(bool pointed = true) {
  return {{"cpu0", "cpu1", "cpu2", "cpu3"},
          {{0, 1, 4000}, {1, 2, 1000}, {2, 3, 1000}, {3, 0, 2000}},
          pointed};
}

class LogicalFlows : public Canvas {
 protected:
  LogicalFlows() {
    experiment::Experiment experiment;
    experiment.topology = tests::drawn_hosts(2, 2);
    experiment.topology.hosts[1].x = 560;
    document_.reset(experiment);
    view_.zoom_to_fit();
  }
  const LogicalItem& item() { return view_.topology_scene().logical(); }
  QRectF tile(const std::string& name) { return view_.topology_scene().layout().rect_of(name); }
  const LogicalArrow& arrow(int from, int to) {
    return *std::ranges::find_if(
        item().arrows(), [&](const LogicalArrow& one) { return one.from == from && one.to == to; });
  }
  bool on_tile(QPointF point) {
    const std::string names[] = {"cpu0", "cpu1", "cpu2", "cpu3"};
    return std::ranges::any_of(names, [&](const std::string& name) {
      return tile(name).adjusted(-2, -2, 2, 2).contains(point);
    });
  }
  // Returns the center of the longest visible part of an arrow.
  QPointF beside_tiles(const LogicalArrow& arrow) {
    int begin = 0, longest = 0, middle = 0;
    for (int at = 0; at <= 1000; ++at) {
      if (on_tile(arrow.path.pointAtPercent(at / 1000.0))) begin = at + 1;
      else if (at - begin > longest) longest = at - begin, middle = begin + longest / 2;
    }
    return arrow.path.pointAtPercent(middle / 1000.0);
  }
  // Checks the pixel and its neighbors: a thin diagonal line fully covers few pixels.
  bool seen_beside(const QImage& image, QPoint at, const QColor& color) {
    for (int dy = -1; dy <= 1; ++dy)
      for (int dx = -1; dx <= 1; ++dx)
        if (image.pixelColor(at + QPoint(dx, dy)) == color) return true;
    return false;
  }
  // Returns the number of changed pixels at the arrow.
  int changed_pixels(const QImage& before, const QImage& after) {
    int count = 0;
    for (int y = 0; y < before.height(); ++y)
      for (int x = 0; x < before.width(); ++x)
        count += before.pixel(x, y) == after.pixel(x, y) ? 0 : 1;
    return count;
  }
  QImage seen() { return view_.viewport()->grab().toImage(); }
  Overlay of_run(bool ended) {
    Overlay overlay;
    overlay.devices["cpu0"].state = "running";
    overlay.ended = ended;
    return overlay;
  }
};

TEST_F(LogicalFlows, are_separate_arrows_for_each_direction) {
  view_.show_logical({{"cpu0", "cpu1"}, {{0, 1, 10}, {1, 0, 10}}, true});
  ASSERT_EQ(item().arrows().size(), 2u);
  EXPECT_NEAR(arrow(0, 1).path.pointAtPercent(0).x(), tile("cpu0").right(), 1e-6)
      << "on the border toward the other device";
  EXPECT_NEAR(arrow(0, 1).path.currentPosition().x(), tile("cpu1").left(), 1e-6);
  EXPECT_NEAR(arrow(1, 0).path.pointAtPercent(0).x(), tile("cpu1").left(), 1e-6);
  const QPointF there = arrow(0, 1).path.pointAtPercent(0.5),
                back = arrow(1, 0).path.pointAtPercent(0.5);
  EXPECT_GT(std::hypot(there.x() - back.x(), there.y() - back.y()), 8);
}

TEST_F(LogicalFlows, are_wider_with_more_bytes) {
  view_.show_logical(ring_of_four());
  EXPECT_GT(arrow(0, 1).width, arrow(3, 0).width);
  EXPECT_GT(arrow(3, 0).width, arrow(1, 2).width);
  EXPECT_EQ(arrow(1, 2).width, arrow(2, 3).width);
}

TEST_F(LogicalFlows, have_the_color_of_the_sender_in_both_themes_at_every_scale) {
  for (const Theme::Kind kind : {Theme::Kind::light, Theme::Kind::dark})
    for (const double scale : {1.0, 2.0}) {
      Theme::instance().apply(kind, scale);
      view_.zoom_to_fit();
      view_.show_logical(ring_of_four());
      const QImage image = seen();
      for (int rank = 0; rank < 4; ++rank) {
        const QPoint at =
            pixel(beside_tiles(arrow(rank, (rank + 1) % 4))) * image.devicePixelRatio();
        EXPECT_TRUE(seen_beside(image, at, Theme::instance().series_color(rank)))
            << rank << " " << scale;
        EXPECT_GE(contrast(Theme::instance().series_color(rank), Theme::instance().colors().canvas),
                  2.5);
      }
    }
  Theme::instance().apply(Theme::Kind::light);
}

// One device is between the first devices of two hosts.
TEST_F(LogicalFlows, pass_beneath_tiles) {
  for (const double scale : {1.0, 2.0}) {
    Theme::instance().apply(Theme::Kind::light, scale);
    view_.zoom_to_fit();
    view_.show_logical({});
    const QImage before = seen();
    view_.show_logical(
        {{"cpu0", "cpu1", "cpu2", "cpu3"}, {{0, 2, 10}, {2, 0, 10}, {0, 1, 10}, {3, 0, 1}}, true});
    const QImage after = seen();
    const auto part = [&](const QImage& image, const QRectF& of) {
      const double ratio = image.devicePixelRatio();
      return image.copy(QRect(pixel(of.topLeft()) * ratio, pixel(of.bottomRight()) * ratio));
    };
    for (const char* name : {"cpu0", "cpu1", "cpu2", "cpu3"}) {
      const QRectF within = tile(name).adjusted(3, 3, -3, -3);
      EXPECT_EQ(changed_pixels(part(before, within), part(after, within)), 0)
          << name << " " << scale;
    }
    const QRectF gap(tile("cpu0").right(), tile("cpu0").top(),
                     tile("cpu1").left() - tile("cpu0").right(), tile("cpu0").height());
    EXPECT_GT(changed_pixels(part(before, gap), part(after, gap)), 20);
  }
  Theme::instance().apply(Theme::Kind::light);
}

TEST_F(LogicalFlows, are_removed_completely) {
  const QImage before = seen();
  view_.show_logical(ring_of_four());
  EXPECT_GT(changed_pixels(before, seen()), 500);
  view_.show_logical({});
  EXPECT_FALSE(item().isVisible());
  EXPECT_EQ(changed_pixels(before, seen()), 0);
}

TEST_F(LogicalFlows, follow_a_dragged_host_and_undo) {
  view_.show_logical(ring_of_four());
  const QPointF before = arrow(1, 2).path.currentPosition();
  drag(corner("host1"), corner("host1") + QPoint(0, 120));
  EXPECT_TRUE(tile("cpu2").contains(arrow(1, 2).path.currentPosition()));
  EXPECT_NE(arrow(1, 2).path.currentPosition(), before);
  document_.undo_stack().undo();
  EXPECT_EQ(arrow(1, 2).path.currentPosition(), before);
}

TEST_F(LogicalFlows, are_removed_with_their_device) {
  view_.show_logical(ring_of_four());
  click(pixel("cpu3"));
  key(Qt::Key_Delete);
  ASSERT_FALSE(object_names(drawn()).contains("cpu3"));
  EXPECT_EQ(item().arrows().size(), 2u) << "those of 0 to 1 and 1 to 2";
}

TEST_F(LogicalFlows, ignore_clicks) {
  view_.show_logical(ring_of_four());
  click(pixel("cpu1"));
  EXPECT_TRUE(selection_.contains("cpu1"));
}

TEST_F(LogicalFlows, are_replaced_by_the_measurements_of_a_live_run) {
  view_.show_logical(ring_of_four(false));
  EXPECT_TRUE(item().isVisible());
  view_.set_overlay(of_run(false));
  EXPECT_FALSE(item().isVisible());
  view_.show_logical(ring_of_four(true));
  EXPECT_TRUE(item().isVisible()) << "the panel requests it";
  view_.show_logical(ring_of_four(false));
  EXPECT_FALSE(item().isVisible());
  view_.set_overlay(of_run(true));
  EXPECT_TRUE(item().isVisible()) << "the run is over";
  view_.set_overlay(of_run(false));
  view_.clear_overlay();
  EXPECT_TRUE(item().isVisible());
}

}  // namespace
}  // namespace trainyard::ui
