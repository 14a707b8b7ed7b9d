// SPDX-License-Identifier: GPL-3.0-or-later
// Who sends to whom, drawn over the devices.
#include <cmath>

#include "tests/drawings.h"
#include "tests/ui/canvas/canvas_fixture.h"

namespace trainyard::ui {
namespace {

// Around four devices; the first sends the most.
LogicalPicture ring_of_four(bool pointed = true) {
  return {{"cpu0", "cpu1", "cpu2", "cpu3"}, {{0, 1, 4000}, {1, 2, 1000}, {2, 3, 1000}, {3, 0, 2000}}, pointed};
}

class Logical : public Canvas {
 protected:
  Logical() {
    experiment::Experiment experiment;
    experiment.topology = tests::drawn_hosts(2, 2);
    experiment.topology.hosts[1].x = 560;
    document_.reset(experiment);
    view_.zoom_to_fit();
  }
  const LogicalItem& item() { return view_.topology_scene().logical(); }
  QRectF tile(const std::string& name) { return view_.topology_scene().layout().rect_of(name); }
  const LogicalArrow& arrow(int from, int to) {
    return *std::ranges::find_if(item().arrows(), [&](const LogicalArrow& one) { return one.from == from && one.to == to; });
  }
  // Pixels that are not what they were, where the arrow is.
  int changed_pixels(const QImage& before, const QImage& after) {
    int count = 0;
    for (int y = 0; y < before.height(); ++y)
      for (int x = 0; x < before.width(); ++x) count += before.pixel(x, y) == after.pixel(x, y) ? 0 : 1;
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

TEST_F(Logical, an_arrow_goes_from_tile_to_tile_and_the_way_back_is_another) {
  view_.show_logical({{"cpu0", "cpu1"}, {{0, 1, 10}, {1, 0, 10}}, true});
  ASSERT_EQ(item().arrows().size(), 2u);
  EXPECT_TRUE(tile("cpu0").contains(arrow(0, 1).path.pointAtPercent(0)));
  EXPECT_TRUE(tile("cpu1").contains(arrow(0, 1).path.currentPosition()));
  EXPECT_TRUE(tile("cpu1").contains(arrow(1, 0).path.pointAtPercent(0)));
  const QPointF there = arrow(0, 1).path.pointAtPercent(0.5), back = arrow(1, 0).path.pointAtPercent(0.5);
  EXPECT_GT(std::hypot(there.x() - back.x(), there.y() - back.y()), 8);
}

TEST_F(Logical, more_bytes_are_wider) {
  view_.show_logical(ring_of_four());
  EXPECT_GT(arrow(0, 1).width, arrow(3, 0).width);
  EXPECT_GT(arrow(3, 0).width, arrow(1, 2).width);
  EXPECT_EQ(arrow(1, 2).width, arrow(2, 3).width);
}

TEST_F(Logical, is_seen_in_the_colour_of_who_sends_in_both_themes_and_at_every_scale) {
  for (const Theme::Kind kind : {Theme::Kind::light, Theme::Kind::dark})
    for (const double scale : {1.0, 2.0}) {
      Theme::instance().apply(kind, scale);
      view_.zoom_to_fit();
      view_.show_logical(ring_of_four());
      const QImage image = seen();
      for (int rank = 0; rank < 4; ++rank) {
        const QPoint at = pixel(arrow(rank, (rank + 1) % 4).path.pointAtPercent(0.2)) * image.devicePixelRatio();
        EXPECT_EQ(image.pixelColor(at), Theme::instance().series_colour(rank)) << rank << " " << scale;
        EXPECT_GE(contrast(Theme::instance().series_colour(rank), Theme::instance().colours().canvas), 2.5);
      }
    }
  Theme::instance().apply(Theme::Kind::light);
}

TEST_F(Logical, goes_without_a_trace) {
  const QImage before = seen();
  view_.show_logical(ring_of_four());
  EXPECT_GT(changed_pixels(before, seen()), 500);
  view_.show_logical({});
  EXPECT_FALSE(item().isVisible());
  EXPECT_EQ(changed_pixels(before, seen()), 0);
}

TEST_F(Logical, follows_a_host_that_is_dragged_and_undo) {
  view_.show_logical(ring_of_four());
  const QPointF before = arrow(1, 2).path.currentPosition();
  drag(corner("host1"), corner("host1") + QPoint(0, 120));
  EXPECT_TRUE(tile("cpu2").contains(arrow(1, 2).path.currentPosition()));
  EXPECT_NE(arrow(1, 2).path.currentPosition(), before);
  document_.undo_stack().undo();
  EXPECT_EQ(arrow(1, 2).path.currentPosition(), before);
}

TEST_F(Logical, a_device_that_is_gone_has_no_arrows) {
  view_.show_logical(ring_of_four());
  click(pixel("cpu3"));
  key(Qt::Key_Delete);
  ASSERT_FALSE(all_names(drawn()).contains("cpu3"));
  EXPECT_EQ(item().arrows().size(), 2u) << "those of 0 to 1 and 1 to 2";
}

TEST_F(Logical, takes_no_clicks) {
  view_.show_logical(ring_of_four());
  click(pixel("cpu1"));
  EXPECT_TRUE(selection_.contains("cpu1"));
}

TEST_F(Logical, what_is_but_kept_in_sight_gives_way_to_what_a_live_run_measures) {
  view_.show_logical(ring_of_four(false));
  EXPECT_TRUE(item().isVisible());
  view_.set_overlay(of_run(false));
  EXPECT_FALSE(item().isVisible());
  view_.show_logical(ring_of_four(true));
  EXPECT_TRUE(item().isVisible()) << "somebody asks for it";
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
