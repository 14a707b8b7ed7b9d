// SPDX-License-Identifier: GPL-3.0-or-later
// Real runs of split models in the window: cells of pipelines in plan and run, and transfers.
#include <QPlainTextEdit>
#include <QTest>

#include "tests/ui/real_window.h"

namespace trainyard::ui::test {
namespace {

class PipelineWindow : public RealWindow {
 protected:
  const PipelinePicture& picture() { return window_->panels().timeline.pipeline().picture(); }
  const std::optional<Overlay>& overlay() { return canvas().topology_scene().overlay(); }
  const topology::Device& device(std::size_t number) {
    return window_->document().experiment().topology.hosts[0].devices[number];
  }

  void open(const char* example) {
    ASSERT_TRUE(window_->open(QString(TRAINYARD_SOURCE_DIR) + "/resources/experiments/" + example));
    window_->workspace().raise("timeline");
  }
  void run_until(std::size_t steps) {
    window_->start_run();
    ASSERT_TRUE(wait([&] {
      return window_->runs().current() &&
             window_->runs().current()->history().train_loss().size() >= steps;
    }));
    window_->workspace().raise("timeline");
  }
  void stop() {
    window_->runs().current()->stop();
    ASSERT_TRUE(
        wait([&] { return !window_->runs().live() && window_->runs().current()->complete(); }));
  }
  bool travels_on_bus() {
    return wait([&] {
      return overlay() && overlay()->buses.contains("host0") &&
             overlay()->buses.at("host0").total() > 0;
    });
  }
};

TEST_F(PipelineWindow, plan_is_shown_before_the_run_and_above_the_recording) {
  open("four_devices_pipeline_gpt_grammar.json");
  TimelinePanel& timeline = window_->panels().timeline;
  ASSERT_TRUE(wait([&] { return timeline.shows_pipeline() && picture().planned(); }));
  EXPECT_TRUE(timeline.figures().contains("(p-1)/(m+p-1) = 3/11"))
      << timeline.figures().toStdString();
  run_until(8);
  EXPECT_TRUE(travels_on_bus()) << "activations and gradients";
  EXPECT_TRUE(wait([&] {
    return canvas().topology_scene().model_share_on(device(1)).startsWith("has layers");
  })) << "during the run";
  ASSERT_TRUE(wait([&] { return picture().ran && picture().ran->step >= 5; })) << "it follows";
  stop();
  ASSERT_TRUE(wait([&] { return picture().alike() && picture().whole(); }));
  const StepCells& ran = picture().ran->cells;
  ASSERT_EQ(ran.ranks.size(), 4u);
  for (std::size_t rank = 0; rank < 4; ++rank) {
    std::vector<experiment::Cell> cells;
    for (const PassCell& cell : ran.ranks[rank]) cells.push_back(cell.of);
    EXPECT_EQ(cells, experiment::cells_of(experiment::PipelineSchedule::one_forward_one_backward,
                                          {0, 1, 2, 3}, static_cast<int>(rank), 8))
        << "rank " << rank;
  }
  EXPECT_GT(ran.bubble(), 0);
  EXPECT_LT(ran.bubble(), 1);
  timeline.pipeline().select(CellAddress{CellBlock::run, 2, 3});
  QTest::keyClick(&timeline.pipeline(), Qt::Key_Return);
  QPlainTextEdit& plan = window_->panels().plan.view();
  ASSERT_TRUE(wait([&] { return plan.textCursor().selectedText().startsWith("F.s"); }))
      << plan.textCursor().selectedText().toStdString();
  EXPECT_TRUE(plan.textCursor().selectedText().contains(
      ".m" + QString::number(ran.ranks[2][3].of.micro) + " "));
}

TEST_F(PipelineWindow, fsdp_tiles_show_shards_and_gathered_shards_move) {
  open("four_devices_fsdp_gpt_grammar.json");
  ASSERT_TRUE(wait([&] {
    return canvas().topology_scene().model_share_on(device(3)).contains(
        "1/4 of parameters, gradients and moments");
  }));
  run_until(3);
  EXPECT_TRUE(travels_on_bus());
  EXPECT_TRUE(wait([&] {
    return canvas().topology_scene().model_share_on(device(3)).contains("1/4");
  })) << "during the run";
  EXPECT_FALSE(window_->panels().timeline.shows_pipeline());
  stop();
}

}  // namespace
}  // namespace trainyard::ui::test
