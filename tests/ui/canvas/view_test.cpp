// SPDX-License-Identifier: GPL-3.0-or-later
// Views of the drawing: zoom, font sizes for a projector, a live run, the tree beside it.
#include <gmock/gmock.h>

#include "tests/ui/canvas/canvas_fixture.h"
#include "ui/canvas/topology_tree.h"

namespace trainyard::ui {
namespace {

using ::testing::ElementsAre;

TEST_F(Canvas, what_is_focused_is_said_to_a_screen_reader) {
  draw_two_hosts();
  EXPECT_EQ(view_.accessibleDescription().toStdString(),
            "gpu1: emulated gpu, rank 2, on host2. 1 core, 16 GB.");
  QString said;
  QObject::connect(&view_, &TopologyView::message, [&](const QString& text) { said = text; });
  act("toggle_idle");
  EXPECT_EQ(said.toStdString(), "gpu1: gpu, idle, on host2. 1 core, 16 GB.");
  document_.undo_stack().undo();
  EXPECT_TRUE(said.contains("rank 2")) << "what is said follows the drawing";
}

TEST_F(Canvas, a_screen_reader_is_told_that_a_device_is_emulated_exactly_where_its_tile_is_marked) {
  draw_two_hosts();
  const auto told = [&] { return view_.accessibleDescription().contains("emulated"); };
  EXPECT_TRUE(told());
  document_.set_value("run.emulate", false);
  EXPECT_FALSE(told()) << "it may not, and cannot run";
  Overlay overlay;
  overlay.devices["gpu1"] = {.rank = 2, .state = "running", .step = 12};
  view_.set_overlay(overlay);
  EXPECT_TRUE(told()) << "it runs so";
  view_.clear_overlay();
  EXPECT_FALSE(told());
  document_.set_value("run.emulate", true);
  EXPECT_TRUE(told());
  click(pixel("cpu1"));
  EXPECT_FALSE(told());
}

TEST_F(Canvas, a_device_is_marked_with_what_holds_it_back_as_drawn_and_in_a_run_as_it_is_there) {
  draw_two_hosts();
  const auto told = [&] { return view_.accessibleDescription().toStdString(); };
  const QImage free = view_.grab().toImage();
  experiment::Experiment slow = document_.experiment();
  slow.topology.hosts[1].devices[0].slow_down = 3;
  document_.reset(slow);
  click(pixel("gpu1"));
  EXPECT_THAT(told(), testing::EndsWith("16 GB. SLOWED 3x."));
  document_.set_value("run.devices", "paced");
  EXPECT_THAT(told(), testing::EndsWith("16 GB. SLOWED 3x, PACED."));
  EXPECT_NE(view_.grab().toImage(), free) << "the tile shows it";
  Overlay overlay;
  overlay.devices["gpu1"] = {.rank = 2, .state = "running", .imposed = {"JITTER 0.5"}};
  view_.set_overlay(overlay);
  EXPECT_THAT(told(), testing::EndsWith("16 GB. JITTER 0.5."))
      << "of the run, which was asked for something else since";
}

TEST_F(Canvas, the_tree_tells_a_screen_reader_that_a_device_is_emulated) {
  TopologyTree tree(document_, selection_);
  draw_two_hosts();
  const QAbstractItemModel* items = tree.model();
  const auto told = [&](int host) {
    return items->index(0, 0, items->index(host, 0))
        .data(Qt::AccessibleTextRole)
        .toString()
        .toStdString();
  };
  EXPECT_TRUE(told(0).starts_with("cpu1, cpu rank 0")) << told(0);
  EXPECT_TRUE(told(1).starts_with("gpu1, emulated gpu rank 2")) << told(1);
  document_.set_value("run.emulate", false);
  EXPECT_TRUE(told(1).starts_with("gpu1, gpu rank 2")) << told(1);
}

TEST_F(Canvas, zoom_keeps_the_point_under_the_mouse_and_fit_shows_everything) {
  draw_two_hosts();
  const QPoint at(300, 300);
  const QPointF before = view_.mapToScene(at);
  QWheelEvent wheel(at, view_.mapToGlobal(at), {}, {0, 480}, Qt::NoButton, Qt::ControlModifier,
                    Qt::NoScrollPhase, false);
  QApplication::sendEvent(view_.viewport(), &wheel);
  EXPECT_GT(view_.zoom(), 1.5);
  EXPECT_LT(QLineF(view_.mapToScene(at), before).length(), 2);
  act("zoom_fit");
  EXPECT_TRUE(
      QRectF(view_.viewport()->rect())
          .contains(view_.mapFromScene(view_.topology_scene().layout().bounds).boundingRect()));
  EXPECT_LE(view_.zoom(), 1);
}

TEST_F(Canvas, the_drawing_grows_with_the_projector_scale) {
  draw_two_hosts();
  act("zoom_actual");
  const int before = view_.mapFromScene(QRectF(0, 0, 100, 100)).boundingRect().width();
  Theme::instance().apply(Theme::Kind::dark, 2);
  EXPECT_NEAR(view_.mapFromScene(QRectF(0, 0, 100, 100)).boundingRect().width(), 2 * before, 3);
  EXPECT_NEAR(view_.zoom(), 1, 1e-9);
  Theme::instance().apply(Theme::Kind::light);
}

TEST_F(Canvas, fit_shows_everything_under_a_projector_whatever_the_room) {
  draw_two_hosts();
  Theme::instance().apply(Theme::Kind::light, 2);
  const QRectF bounds = view_.topology_scene().layout().bounds;
  const auto seen_whole = [&] {
    return view_.viewport()->rect().contains(view_.mapFromScene(bounds).boundingRect());
  };
  for (const QSize room : {QSize(1000, 500), QSize(700, 500), QSize(300, 300), QSize(2400, 1600)}) {
    view_.resize(room);
    act("zoom_fit");
    EXPECT_TRUE(seen_whole()) << room.width() << " x " << room.height();
  }
  EXPECT_GT(view_.transform().m11(), 1.5)
      << "where there is room it is as large as the text of the window";
  view_.resize(700, 500);
  EXPECT_TRUE(seen_whole()) << "it stays fitted";
  Theme::instance().apply(Theme::Kind::light);
}

TEST_F(
    Canvas,
    a_failed_device_is_marked_near_and_far_until_something_else_is_drawn_or_another_run_is_shown) {
  draw_two_hosts();
  Overlay failed;
  failed.ended = true;
  failed.devices["cpu1"] = {
      .rank = 0, .state = "failed", .step = 12, .utilization = -1, .failed = true};
  for (const auto kind : {Theme::Kind::dark, Theme::Kind::light}) {
    Theme::instance().apply(kind);
    const QColor error = Theme::instance().colors().error;
    for (const char* zoom : {"zoom_actual", "zoom_out"}) {
      for (int i = 0; i < (zoom == std::string("zoom_out") ? 6 : 1); ++i) act(zoom);
      view_.clear_overlay();
      EXPECT_EQ(pixels_of(error, "cpu1"), 0);
      view_.set_overlay(failed);
      EXPECT_GT(pixels_of(error, "cpu1"), 40) << zoom;
      EXPECT_EQ(pixels_of(error, "cpu2"), 0) << zoom;
    }
  }
  EXPECT_FALSE(view_.topology_scene().live()) << "nothing of a run goes on";
  const QColor error = Theme::instance().colors().error;
  document_.set_value("training.epochs", 3);
  document_.edit("move", [](experiment::Experiment& e) { e.topology.hosts[0].x += 80; });
  click(corner("host2"));
  EXPECT_GT(pixels_of(error, "cpu1"), 40) << "the drawing is the same";
  click(corner("host1"));
  act("place_cpu");
  EXPECT_EQ(pixels_of(error, "cpu1"), 0) << "it is another drawing";
  view_.set_overlay(failed);
  EXPECT_GT(pixels_of(error, "cpu1"), 40);
  Overlay next;
  next.devices["cpu1"] = {.rank = 0, .state = "running", .step = 0};
  view_.set_overlay(next);
  EXPECT_EQ(pixels_of(error, "cpu1"), 0) << "another run";
}

// A picture without colors, for those who do not see them.
QImage gray(const QImage& picture) { return picture.convertToFormat(QImage::Format_Grayscale8); }

TEST_F(Canvas,
       ranks_that_are_lost_stalled_and_returning_differ_near_and_far_and_not_by_color_alone) {
  draw_two_hosts();
  const auto shown = [&](const char* state, Absence absence) {
    Overlay overlay;
    overlay.devices["cpu1"] = {.rank = 0, .state = state, .step = 12, .absence = absence};
    view_.set_overlay(overlay);
    return gray(view_.grab().toImage());
  };
  for (const auto kind : {Theme::Kind::dark, Theme::Kind::light})
    for (const double size : {1.0, 2.0}) {
      Theme::instance().apply(kind, size);
      for (const char* zoom : {"zoom_actual", "zoom_out"}) {
        for (int i = 0; i < (zoom == std::string("zoom_out") ? 6 : 1); ++i) act(zoom);
        view_.centerOn(view_.topology_scene().layout().rect_of("cpu1").center());
        view_.clear_overlay();
        std::vector<QImage> all{shown("running", Absence::none)};
        for (const Absence absence : {Absence::stalled, Absence::lost, Absence::returning}) {
          all.push_back(shown("running", absence));
          EXPECT_GT(pixels_of(Theme::instance().colors().warning, "cpu1"), 40) << zoom;
          EXPECT_EQ(pixels_of(Theme::instance().colors().warning, "cpu2"), 0) << zoom;
          for (std::size_t other = 0; other + 1 < all.size(); ++other)
            EXPECT_NE(all.back(), all[other]) << zoom << size << " " << other;
        }
      }
    }
  Theme::instance().apply(Theme::Kind::light);
}

TEST_F(Canvas, a_device_that_is_not_what_it_is_drawn_as_says_so_before_during_and_after_a_run) {
  draw_two_hosts();
  act("zoom_actual");
  const auto badge = [&](const char* name) {
    return pixels_of(Theme::instance().colors().warning, name);
  };
  click(corner("host1"));
  EXPECT_GT(badge("gpu1"), 40) << "before any run";
  EXPECT_EQ(badge("cpu1"), 0);
  Overlay overlay;
  overlay.devices["gpu1"] = {.rank = 2, .state = "running", .step = 12};
  view_.set_overlay(overlay);
  EXPECT_GT(badge("gpu1"), 40);
  view_.set_overlay({.devices = {}, .links = {}, .buses = {}, .ended = true});
  EXPECT_GT(badge("gpu1"), 40) << "its figures are still on the charts";
  view_.clear_overlay();
  document_.set_value("run.emulate", false);
  EXPECT_EQ(badge("gpu1"), 0) << "it may not, and cannot run";
  document_.set_value("run.emulate", true);
  document_.set_value("topology.hosts[1].devices[0].role", "idle");
  EXPECT_EQ(badge("gpu1"), 0) << "nothing runs there";
}

TEST_F(Canvas, a_live_run_neither_stops_editing_nor_is_touched_by_it) {
  draw_two_hosts();
  Overlay overlay;
  overlay.devices["cpu1"] = {.rank = 0, .state = "training", .step = 12, .utilization = 0.5};
  view_.set_overlay(overlay);
  const QImage before = view_.grab().toImage();
  click(pixel("cpu2"));
  act("delete");
  EXPECT_EQ(find_device(drawn(), "cpu2"), nullptr);
  document_.undo_stack().undo();
  EXPECT_TRUE(view_.topology_scene().live());
  view_.clear_overlay();
  EXPECT_NE(view_.grab().toImage(), before) << "the overlay was drawn";
}

TEST_F(Canvas, the_tree_shows_the_same_and_shares_the_selection) {
  TopologyTree tree(document_, selection_);
  draw_two_hosts();
  QAbstractItemModel* items = tree.model();
  ASSERT_EQ(items->rowCount(), 2);
  const QModelIndex cpu2 = items->index(1, 0, items->index(0, 0));
  EXPECT_EQ(cpu2.data().toString().toStdString(), "cpu2");
  tree.selectionModel()->select(cpu2,
                                QItemSelectionModel::ClearAndSelect | QItemSelectionModel::Rows);
  EXPECT_THAT(selection_.picked().names, ElementsAre("cpu2"));
  click(corner("host2"));
  EXPECT_EQ(tree.selectionModel()->selectedRows().value(0).data().toString().toStdString(),
            "host2");
  EXPECT_TRUE(items->setData(cpu2, "second"));
  EXPECT_NE(find_device(drawn(), "second"), nullptr);
  EXPECT_FALSE(items->setData(cpu2, "host1"));
}

}  // namespace
}  // namespace trainyard::ui
