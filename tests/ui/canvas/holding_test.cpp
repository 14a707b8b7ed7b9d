// SPDX-License-Identifier: GPL-3.0-or-later
// Parts of a split or sharded model that devices hold, shown on their tiles.
#include "tests/drawings.h"
#include "tests/ui/canvas/canvas_fixture.h"

namespace trainyard::ui {
namespace {

class Holding : public Canvas {
 protected:
  Holding() {
    experiment::Experiment experiment;
    experiment.topology = tests::drawn_hosts(1, 4);
    document_.reset(experiment);
    view_.zoom_to_fit();
  }
  void share_out() {
    std::vector<KeptShard> shards;
    for (int rank = 0; rank < 4; ++rank) shards.push_back({rank, 4, true, true, true});
    view_.show_shards(shards);
  }
  void run(bool trains_drawing) {
    Overlay overlay;
    for (int rank = 0; rank < 4; ++rank) {
      overlay.devices["cpu" + std::to_string(rank)].rank = rank;
      overlay.devices["cpu" + std::to_string(rank)].state = "running";
    }
    overlay.trains_drawing = trains_drawing;
    view_.set_overlay(overlay);
  }
  QString said_of(const std::string& name) {
    view_.topology_scene().set_current({TopologyObject::Kind::device, name, {}});
    run(overlay_as_drawn_);
    return view_.accessibleDescription();
  }
  bool overlay_as_drawn_ = true;
};

// In the color of the rank, of each bar the part that is its own: below the number of the rank,
// which has that color too.
TEST_F(Holding, a_tile_shows_which_part_of_parameters_gradients_and_moments_its_rank_keeps) {
  const auto middle_of_color = [&](int rank) {
    const std::string name = "cpu" + std::to_string(rank);
    const QRect where =
        view_.mapFromScene(view_.topology_scene().layout().rect_of(name)).boundingRect();
    const QImage seen = view_.viewport()->grab(where).toImage();
    double sum = 0, count = 0;
    for (int y = seen.height() / 2; y < seen.height(); ++y)
      for (int x = 0; x < seen.width() / 3; ++x)
        if (seen.pixelColor(x, y) == Theme::instance().series_color(rank)) sum += x, ++count;
    return count > 0 ? sum / count : -1;
  };
  for (int rank = 0; rank < 4; ++rank)
    EXPECT_EQ(middle_of_color(rank), -1) << "nothing is shared out";
  share_out();
  for (int rank = 0; rank < 4; ++rank)
    EXPECT_GT(middle_of_color(rank), rank == 0 ? 0 : middle_of_color(rank - 1))
        << "the next part lies further right";
}

// For a stage that is sharded over replicas, the layers replace the figures of the device, and the
// bars are below.
TEST_F(Holding, of_layers_that_are_shared_out_is_both) {
  const auto seen = [&](const std::string& name) {
    return view_.viewport()
        ->grab(view_.mapFromScene(view_.topology_scene().layout().rect_of(name)).boundingRect())
        .toImage();
  };
  share_out();
  const QImage bars = seen("cpu1");
  const int colored = pixels_of(Theme::instance().series_color(1), "cpu1");
  view_.show_layers({"0", "1\u20131.3", "2", "3"});
  EXPECT_EQ(pixels_of(Theme::instance().series_color(1), "cpu1"), colored)
      << "the bars are still there";
  EXPECT_NE(seen("cpu1"), bars) << "and the layers besides";
}

TEST_F(Holding, stays_on_the_tiles_in_a_run_of_what_is_drawn_and_in_no_other) {
  share_out();
  const QColor own = Theme::instance().series_color(2);
  const int drawn = pixels_of(own, "cpu2");
  run(false);
  const int of_another = pixels_of(own, "cpu2");
  run(true);
  EXPECT_GT(pixels_of(own, "cpu2"), of_another);
  EXPECT_GT(drawn, of_another);
  view_.show_layers({"0", "1", "2", "3"});
  const int both = pixels_of(own, "cpu2");
  view_.show_shards({});
  EXPECT_GT(both, pixels_of(own, "cpu2")) << "the part that is kept stands beside the layers";
}

TEST_F(Holding, is_said_to_those_who_do_not_see_it) {
  share_out();
  EXPECT_TRUE(said_of("cpu1").endsWith("It keeps 1/4 of parameters, gradients and moments."))
      << said_of("cpu1").toStdString();
  view_.show_shards({});
  EXPECT_FALSE(said_of("cpu1").contains("keeps"));
  view_.show_layers({"0", "1\u20131.3", "2", "3"});
  EXPECT_TRUE(said_of("cpu1").endsWith("It has layers 1\u20131.3."))
      << said_of("cpu1").toStdString();
  share_out();
  EXPECT_TRUE(said_of("cpu1").endsWith(
      "It has layers 1\u20131.3, and keeps 1/4 of parameters, gradients and moments."))
      << said_of("cpu1").toStdString();
  EXPECT_TRUE(said_of("cpu2").contains("It has layer 2, and")) << said_of("cpu2").toStdString();
  view_.show_shards({});
  view_.show_layers({"loss", "1\u20131.3", "2", ""});
  EXPECT_TRUE(said_of("cpu0").endsWith("It has the loss.")) << said_of("cpu0").toStdString();
  EXPECT_FALSE(said_of("cpu3").contains("It has")) << said_of("cpu3").toStdString();
  overlay_as_drawn_ = false;
  EXPECT_FALSE(said_of("cpu1").contains("layers"))
      << "a run of another experiment may have others there";
}

}  // namespace
}  // namespace trainyard::ui
