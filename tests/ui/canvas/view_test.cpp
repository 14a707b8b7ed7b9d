// SPDX-License-Identifier: GPL-3.0-or-later
// Views of the drawing: zoom, font sizes for a projector, a live run, the tree beside it.
#include <gmock/gmock.h>

#include "tests/ui/canvas/canvas_fixture.h"
#include "ui/canvas/topology_tree.h"

namespace trainyard::ui {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

TEST_F(Canvas, focused_item_is_in_the_accessible_description) {
  draw_two_hosts();
  EXPECT_EQ(view_.accessibleDescription().toStdString(),
            "gpu1: emulated gpu, rank 2, on host2. 1 core, 16 GB.");
  QString message;
  QObject::connect(&view_, &TopologyView::message, [&](const QString& text) { message = text; });
  act("toggle_idle");
  EXPECT_EQ(message.toStdString(), "gpu1: gpu, idle, on host2. 1 core, 16 GB.");
  document_.undo_stack().undo();
  EXPECT_TRUE(message.contains("rank 2")) << "the description follows the drawing";
}

TEST_F(Canvas, accessible_description_states_emulation_like_the_tile) {
  draw_two_hosts();
  const auto description = [&] { return view_.accessibleDescription().contains("emulated"); };
  EXPECT_TRUE(description());
  document_.set_value("run.emulate", false);
  EXPECT_FALSE(description()) << "emulation is off";
  Overlay overlay;
  overlay.devices["gpu1"] = {.rank = 2, .state = "running", .step = 12};
  view_.set_overlay(overlay);
  EXPECT_TRUE(description()) << "the run emulates it";
  view_.clear_overlay();
  EXPECT_FALSE(description());
  document_.set_value("run.emulate", true);
  EXPECT_TRUE(description());
  click(pixel("cpu1"));
  EXPECT_FALSE(description());
}

TEST_F(Canvas, device_shows_slowdown_of_the_drawing_or_of_the_run) {
  draw_two_hosts();
  const auto description = [&] { return view_.accessibleDescription().toStdString(); };
  const QImage free = view_.grab().toImage();
  experiment::Experiment slow = document_.experiment();
  slow.topology.hosts[1].devices[0].slow_down = 3;
  document_.reset(slow);
  click(pixel("gpu1"));
  EXPECT_THAT(description(), AllOf(HasSubstr("SLOWED 3x"), Not(HasSubstr("PACED"))));
  document_.set_value("run.devices", "paced");
  EXPECT_THAT(description(), HasSubstr("SLOWED 3x, PACED"));
  EXPECT_NE(view_.grab().toImage(), free) << "the tile shows it";
  Overlay overlay;
  overlay.devices["gpu1"] = {.rank = 2, .state = "running", .imposed = {"JITTER 0.5"}};
  view_.set_overlay(overlay);
  EXPECT_THAT(description(), AllOf(HasSubstr("JITTER 0.5"), Not(HasSubstr("SLOWED"))))
      << "the value of the run, not of the edited drawing";
}

TEST_F(Canvas, tree_states_emulation_in_accessible_texts) {
  TopologyTree tree(document_, selection_);
  draw_two_hosts();
  const QAbstractItemModel* items = tree.model();
  const auto description = [&](int host) {
    return items->index(0, 0, items->index(host, 0))
        .data(Qt::AccessibleTextRole)
        .toString()
        .toStdString();
  };
  EXPECT_TRUE(description(0).starts_with("cpu1, cpu rank 0")) << description(0);
  EXPECT_TRUE(description(1).starts_with("gpu1, emulated gpu rank 2")) << description(1);
  document_.set_value("run.emulate", false);
  EXPECT_TRUE(description(1).starts_with("gpu1, gpu rank 2")) << description(1);
}

TEST_F(Canvas, zoom_keeps_the_point_under_the_pointer_and_fit_shows_all_items) {
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

TEST_F(Canvas, drawing_grows_with_the_projector_scale) {
  draw_two_hosts();
  act("zoom_actual");
  const int before = view_.mapFromScene(QRectF(0, 0, 100, 100)).boundingRect().width();
  Theme::instance().apply(Theme::Kind::dark, 2);
  EXPECT_NEAR(view_.mapFromScene(QRectF(0, 0, 100, 100)).boundingRect().width(), 2 * before, 3);
  EXPECT_NEAR(view_.zoom(), 1, 1e-9);
  Theme::instance().apply(Theme::Kind::light);
}

TEST_F(Canvas, fit_shows_all_items_at_projector_scale_in_any_size) {
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
  EXPECT_GT(view_.transform().m11(), 1.5) << "the text has the size of the window text";
  view_.resize(700, 500);
  EXPECT_TRUE(seen_whole()) << "the view remains fitted";
  Theme::instance().apply(Theme::Kind::light);
}

TEST_F(Canvas, failed_device_is_marked_until_the_drawing_or_the_run_changes) {
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
  EXPECT_FALSE(view_.topology_scene().live()) << "the overlay of the run is removed";
  const QColor error = Theme::instance().colors().error;
  document_.set_value("training.epochs", 3);
  document_.edit("move", [](experiment::Experiment& e) { e.topology.hosts[0].x += 80; });
  click(corner("host2"));
  EXPECT_GT(pixels_of(error, "cpu1"), 40) << "the drawing is the same";
  click(corner("host1"));
  act("place_cpu");
  EXPECT_EQ(pixels_of(error, "cpu1"), 0) << "the drawing changed";
  view_.set_overlay(failed);
  EXPECT_GT(pixels_of(error, "cpu1"), 40);
  Overlay next;
  next.devices["cpu1"] = {.rank = 0, .state = "running", .step = 0};
  view_.set_overlay(next);
  EXPECT_EQ(pixels_of(error, "cpu1"), 0) << "another run";
}

// Converts an image to gray, as seen without colors.
QImage gray(const QImage& picture) { return picture.convertToFormat(QImage::Format_Grayscale8); }

TEST_F(Canvas, lost_stalled_and_rejoining_ranks_differ_in_shape_at_every_zoom) {
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

TEST_F(Canvas, emulated_device_is_marked_before_during_and_after_a_run) {
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
  EXPECT_EQ(badge("gpu1"), 0) << "emulation is off";
  document_.set_value("run.emulate", true);
  document_.set_value("topology.hosts[1].devices[0].role", "idle");
  EXPECT_EQ(badge("gpu1"), 0) << "an idle device runs nothing";
}

TEST_F(Canvas, editing_is_possible_during_a_live_run_and_does_not_affect_it) {
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

TEST_F(Canvas, tree_shows_the_same_items_and_shares_the_selection) {
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
