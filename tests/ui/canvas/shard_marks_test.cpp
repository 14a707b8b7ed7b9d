// SPDX-License-Identifier: GPL-3.0-or-later
// Parts of a split or sharded model that devices hold, shown on their tiles.
#include "tests/drawings.h"
#include "tests/ui/canvas/canvas_fixture.h"
#include "tests/ui/has_all.h"

namespace trainyard::ui {
namespace {

class ShardMarks : public Canvas {
 protected:
  ShardMarks() {
    experiment::Experiment experiment;
    experiment.topology = tests::drawn_hosts(1, 4);
    document_.reset(experiment);
    view_.zoom_to_fit();
  }
  void show_shards_of_ranks() {
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
  QString description_of(const std::string& name) {
    view_.topology_scene().set_current({TopologyObject::Kind::device, name, {}});
    run(overlay_as_drawn_);
    return view_.accessibleDescription();
  }
  bool overlay_as_drawn_ = true;
};

// Counts pixels in the color of the rank: its shard in each bar, and the number of the rank.
TEST_F(ShardMarks, show_the_shard_of_parameters_gradients_and_moments_of_a_rank) {
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
  for (int rank = 0; rank < 4; ++rank) EXPECT_EQ(middle_of_color(rank), -1) << "nothing is sharded";
  show_shards_of_ranks();
  for (int rank = 0; rank < 4; ++rank)
    EXPECT_GT(middle_of_color(rank), rank == 0 ? 0 : middle_of_color(rank - 1))
        << "the next shard is further right";
}

// For a stage that is sharded over replicas, the layers replace the figures of the device, and the
// bars are below.
TEST_F(ShardMarks, show_layers_and_shard_of_sharded_stages) {
  const auto seen = [&](const std::string& name) {
    return view_.viewport()
        ->grab(view_.mapFromScene(view_.topology_scene().layout().rect_of(name)).boundingRect())
        .toImage();
  };
  show_shards_of_ranks();
  const QImage bars = seen("cpu1");
  const int colored = pixels_of(Theme::instance().series_color(1), "cpu1");
  view_.show_layers({"0", "1\u20131.3", "2", "3"});
  EXPECT_EQ(pixels_of(Theme::instance().series_color(1), "cpu1"), colored)
      << "the bars are still there";
  EXPECT_NE(seen("cpu1"), bars) << "layers are shown too";
}

TEST_F(ShardMarks, are_shown_in_a_run_of_the_drawn_experiment_only) {
  show_shards_of_ranks();
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
  EXPECT_GT(both, pixels_of(own, "cpu2")) << "the shard is beside the layers";
}

TEST_F(ShardMarks, are_in_accessible_descriptions) {
  show_shards_of_ranks();
  EXPECT_THAT(description_of("cpu1"), test::HasAll("1/4 of parameters, gradients and moments"));
  view_.show_shards({});
  EXPECT_FALSE(description_of("cpu1").contains("keeps"));
  view_.show_layers({"0", "1\u20131.3", "2", "3"});
  EXPECT_THAT(description_of("cpu1"), test::HasAll("layers 1\u20131.3."));
  show_shards_of_ranks();
  EXPECT_THAT(description_of("cpu1"),
              test::HasAll("layers 1\u20131.3", "1/4 of parameters, gradients and moments"));
  EXPECT_THAT(description_of("cpu2"), test::HasAll("layer 2, and"));
  view_.show_shards({});
  view_.show_layers({"loss", "1\u20131.3", "2", ""});
  EXPECT_THAT(description_of("cpu0"), test::HasAll("the loss."));
  EXPECT_FALSE(description_of("cpu3").contains("It has")) << description_of("cpu3").toStdString();
  overlay_as_drawn_ = false;
  EXPECT_FALSE(description_of("cpu1").contains("layers"))
      << "a run of another experiment may have other layers";
}

}  // namespace
}  // namespace trainyard::ui
