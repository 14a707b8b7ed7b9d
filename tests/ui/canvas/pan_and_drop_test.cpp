// SPDX-License-Identifier: GPL-3.0-or-later
// The canvas is moved under the mouse, and things of the palette are dropped on it.
#include <gmock/gmock.h>

#include <QLineF>
#include <QUrl>
#include <memory>

#include "tests/ui/canvas/canvas_fixture.h"
#include "ui/model/document/layer_mime.h"

namespace trainyard::ui {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

class Panning : public Canvas {
 protected:
  Panning() {
    draw_two_hosts();
    click({600, 700});  // on nothing
    before_ = drawn();
    steps_ = document_.undo_stack().count();
  }
  void carry(Qt::MouseButton button, QPoint from, QPoint to) {
    QTest::mousePress(view_.viewport(), button, {}, from);
    for (int step = 1; step <= 10; ++step) {
      const QPoint at = from + (to - from) * step / 10;
      QMouseEvent event(QEvent::MouseMove, at, view_.viewport()->mapToGlobal(at), Qt::NoButton,
                        button, {});
      QApplication::sendEvent(view_.viewport(), &event);
    }
    held_ = cursor();
    QTest::mouseRelease(view_.viewport(), button, {}, to);
  }
  void turn(QPoint angle) {
    const QPointF at(600, 700);
    QWheelEvent wheel(at, view_.viewport()->mapToGlobal(at), {}, angle, Qt::NoButton, {},
                      Qt::NoScrollPhase, false);
    QApplication::sendEvent(view_.viewport(), &wheel);
  }
  Qt::CursorShape cursor() { return view_.viewport()->cursor().shape(); }
  // Checks that the point under the mouse at `from` is under it at `to`, and that nothing else
  // happened.
  void expect_carried(QPointF held, QPoint to) {
    EXPECT_LT(QLineF(view_.mapToScene(to), held).length(), 1.5);
    EXPECT_EQ(drawn(), before_);
    EXPECT_EQ(document_.undo_stack().count(), steps_);
    EXPECT_THAT(selection_.picked().names, IsEmpty());
    EXPECT_NEAR(view_.zoom(), 1, 1e-9);
  }

  topology::Topology before_;
  int steps_ = 0;
  Qt::CursorShape held_ = Qt::ArrowCursor;
};

TEST_F(Panning, the_middle_button_carries_the_canvas_wherever_it_is_taken) {
  for (const bool at_a_host : {false, true}) {
    const QPoint from = at_a_host ? corner("host1") : QPoint(600, 500), to = from + QPoint(90, 60);
    const QPointF held = view_.mapToScene(from);
    carry(Qt::MiddleButton, from, to);
    expect_carried(held, to);
    EXPECT_EQ(held_, Qt::ClosedHandCursor);
    EXPECT_EQ(cursor(), Qt::ArrowCursor);
  }
}

TEST_F(Panning, the_left_button_carries_it_while_space_is_held_and_then_moves_things_again) {
  const QPoint from = corner("host1"), to = from + QPoint(-60, 90);
  const QPointF held = view_.mapToScene(from);
  QTest::keyPress(&view_, Qt::Key_Space);
  EXPECT_EQ(cursor(), Qt::OpenHandCursor);
  carry(Qt::LeftButton, from, to);
  EXPECT_EQ(cursor(), Qt::OpenHandCursor);
  QTest::keyRelease(&view_, Qt::Key_Space);
  expect_carried(held, to);
  EXPECT_EQ(held_, Qt::ClosedHandCursor);
  EXPECT_EQ(cursor(), Qt::ArrowCursor);
  carry(Qt::LeftButton, to, to + QPoint(0, 80));
  EXPECT_EQ(drawn().hosts[0].y, before_.hosts[0].y + 80);
}

TEST_F(Panning, the_wheel_scrolls_the_way_it_is_turned) {
  const QPointF start = view_.middle();
  turn({0, -240});
  const QPointF below = view_.middle();
  EXPECT_GT(below.y(), start.y());
  EXPECT_NEAR(below.x(), start.x(), 1e-9);
  turn({-240, 0});
  EXPECT_GT(view_.middle().x(), below.x());
  EXPECT_NEAR(view_.middle().y(), below.y(), 1e-9);
  turn({240, 0});
  turn({0, 240});
  EXPECT_LT(QLineF(view_.middle(), start).length(), 1e-9);
  EXPECT_EQ(drawn(), before_);
  EXPECT_NEAR(view_.zoom(), 1, 1e-9);
}

// A drag of the palette's, as Qt tells it to what is under the mouse.
class Dropping : public Canvas {
 protected:
  void take(const char* label) {
    const QModelIndex start = palette_.model()->index(0, 0);
    const QModelIndexList found =
        palette_.model()->match(start, Qt::DisplayRole, QString(label), 1, Qt::MatchExactly);
    ASSERT_EQ(found.size(), 1) << label;
    taken_.reset(palette_.model()->mimeData(found));
  }
  template <class Event>
  bool tell(QPoint at) {
    Event event(at, Qt::CopyAction, taken_.get(), Qt::LeftButton, {});
    QApplication::sendEvent(view_.viewport(), &event);
    return event.isAccepted();
  }
  void leave() {
    QDragLeaveEvent event;
    QApplication::sendEvent(view_.viewport(), &event);
  }
  std::string marked() { return view_.topology_scene().hovered().name; }

  Palette palette_;
  std::unique_ptr<QMimeData> taken_;
};

TEST_F(Dropping, everything_in_the_palette_can_be_dropped_and_lies_where_it_was) {
  const std::pair<const char*, const char*> things[] = {
      {"CPU", "cpu1"}, {"GPU", "gpu1"}, {"TPU", "tpu1"}, {"Host", "host4"}, {"Switch", "switch1"}};
  QPoint at(120, 120);
  for (const auto& [label, name] : things) {
    take(label);
    const int steps = document_.undo_stack().count();
    ASSERT_TRUE(tell<QDragEnterEvent>(at)) << label;
    EXPECT_TRUE(tell<QDragMoveEvent>(at)) << label;
    EXPECT_EQ(document_.undo_stack().count(), steps) << "nothing is placed before it is dropped";
    EXPECT_TRUE(tell<QDropEvent>(at)) << label;
    EXPECT_EQ(document_.undo_stack().count(), steps + 1) << label;
    EXPECT_THAT(selection_.picked().names, ElementsAre(name));
    const std::string node = host_of(drawn(), name) ? host_of(drawn(), name)->name : name;
    EXPECT_TRUE(view_.topology_scene().layout().rect_of(node).contains(view_.mapToScene(at)))
        << label;
    EXPECT_TRUE(view_.hasFocus()) << "the keys are for what was dropped";
    at += QPoint(220, 110);
  }
  EXPECT_THAT(names(),
              ElementsAre("cpu1", "gpu1", "host1", "host2", "host3", "host4", "switch1", "tpu1"));
}

TEST_F(Dropping, on_the_way_the_host_that_a_device_would_join_is_marked) {
  draw_two_hosts();
  take("GPU");
  ASSERT_TRUE(tell<QDragEnterEvent>({600, 700}));
  tell<QDragMoveEvent>({600, 700});
  EXPECT_EQ(marked(), "");
  tell<QDragMoveEvent>(pixel("cpu1"));
  EXPECT_EQ(marked(), "host1") << "over a device of it";
  tell<QDragMoveEvent>(corner("host2"));
  EXPECT_EQ(marked(), "host2");
  EXPECT_TRUE(tell<QDropEvent>(corner("host2")));
  EXPECT_EQ(drawn().hosts[1].devices.size(), 2u);
  EXPECT_EQ(drawn().hosts.size(), 2u);
}

TEST_F(Dropping, what_joins_no_host_marks_none) {
  draw_two_hosts();
  take("Switch");
  ASSERT_TRUE(tell<QDragEnterEvent>(corner("host1")));
  EXPECT_TRUE(tell<QDragMoveEvent>(corner("host1")));
  EXPECT_EQ(marked(), "");
}

TEST_F(Dropping, a_drag_that_leaves_changes_nothing_and_marks_nothing) {
  draw_two_hosts();
  const topology::Topology before = drawn();
  take("CPU");
  ASSERT_TRUE(tell<QDragEnterEvent>(corner("host1")));
  tell<QDragMoveEvent>(corner("host1"));
  ASSERT_EQ(marked(), "host1");
  leave();
  EXPECT_EQ(marked(), "");
  EXPECT_EQ(drawn(), before);
}

// The role of the device of that name.
topology::Role role_of(const topology::Topology& drawn, const std::string& name) {
  return find_device(drawn, name)->role;
}

TEST_F(Dropping, a_role_is_dropped_onto_a_device_and_nowhere_else) {
  draw_two_hosts();
  QString said;
  QObject::connect(&view_, &TopologyView::message, [&](const QString& text) { said = text; });
  take("Evaluator");
  ASSERT_TRUE(tell<QDragEnterEvent>(corner("host1")));
  EXPECT_FALSE(tell<QDragMoveEvent>(corner("host1"))) << "the cursor says so";
  const QImage unmarked = view_.grab().toImage();
  EXPECT_TRUE(tell<QDragMoveEvent>(pixel("cpu2")));
  EXPECT_EQ(said.toStdString(), "New role of cpu2: evaluator");
  EXPECT_NE(view_.grab().toImage(), unmarked) << "it is marked";
  const topology::Topology before = drawn();
  const int steps = document_.undo_stack().count();
  EXPECT_FALSE(tell<QDropEvent>(corner("host1")));
  EXPECT_EQ(drawn(), before);
  ASSERT_TRUE(tell<QDragEnterEvent>(corner("host1")));
  ASSERT_TRUE(tell<QDragMoveEvent>(pixel("cpu2")));
  EXPECT_TRUE(tell<QDropEvent>(pixel("cpu2")));
  EXPECT_EQ(role_of(drawn(), "cpu2"), topology::Role::evaluator);
  EXPECT_EQ(document_.undo_stack().count(), steps + 1);
  document_.undo_stack().undo();
  EXPECT_EQ(drawn(), before);
}

TEST_F(Dropping, a_role_for_one_is_taken_from_who_had_it) {
  draw_two_hosts();
  for (const char* device : {"cpu1", "gpu1"}) {
    take("Chief");
    ASSERT_TRUE(tell<QDragEnterEvent>(corner("host1")));
    ASSERT_TRUE(tell<QDragMoveEvent>(pixel(device)));
    EXPECT_TRUE(tell<QDropEvent>(pixel(device)));
    EXPECT_EQ(role_of(drawn(), device), topology::Role::chief);
  }
  EXPECT_EQ(role_of(drawn(), "cpu1"), topology::Role::worker);
  document_.undo_stack().undo();
  EXPECT_EQ(role_of(drawn(), "cpu1"), topology::Role::chief) << "in one step";
  EXPECT_EQ(role_of(drawn(), "gpu1"), topology::Role::worker);
}

TEST_F(Dropping, a_role_is_given_to_what_is_selected_by_keys_and_by_the_palette) {
  draw_two_hosts();
  QObject::connect(&palette_, &Palette::role_chosen, &view_,
                   qOverload<topology::Role>(&TopologyView::give_role));
  QString said;
  QObject::connect(&view_, &TopologyView::message, [&](const QString& text) { said = text; });
  click(pixel("cpu1"));
  act("toggle_evaluator");
  EXPECT_EQ(role_of(drawn(), "cpu1"), topology::Role::evaluator);
  act("toggle_evaluator");
  EXPECT_EQ(role_of(drawn(), "cpu1"), topology::Role::worker) << "and back";
  selection_.set({{"cpu1", "cpu2"}, {}});
  EXPECT_FALSE(actions_.action("toggle_chief")->isEnabled()) << "there is one";
  view_.give_role(topology::Role::chief);
  EXPECT_EQ(said.toStdString(), "Select one device: at most one chief is allowed.");
  const auto item = palette_.findItems("Parameter server", Qt::MatchExactly);
  ASSERT_EQ(item.size(), 1);
  emit palette_.itemActivated(item.front());
  EXPECT_EQ(role_of(drawn(), "cpu1"), topology::Role::parameter_server);
  EXPECT_EQ(role_of(drawn(), "cpu2"), topology::Role::parameter_server);
  selection_.set({});
  view_.give_role(topology::Role::idle);
  EXPECT_EQ(said.toStdString(), "Select a device first, then assign the role.");
}

TEST_F(Dropping, layers_are_dropped_onto_a_device_that_trains) {
  draw_two_hosts();
  document_.edit("idle", [](experiment::Experiment& e) {
    find_device(e.topology, "gpu1")->role = topology::Role::idle;
  });
  QString said;
  QObject::connect(&view_, &TopologyView::message, [&](const QString& text) { said = text; });
  std::pair<QStringList, std::string> dropped;
  QObject::connect(&view_, &TopologyView::layers_dropped,
                   [&](const QStringList& layers, const std::string& device) {
                     dropped = {layers, device};
                   });
  const int steps = document_.undo_stack().count();
  taken_ = to_mime(QStringList{"0", "1.4"});
  ASSERT_TRUE(tell<QDragEnterEvent>(corner("host1")));
  EXPECT_FALSE(tell<QDragMoveEvent>(corner("host1"))) << "a host has no layers";
  EXPECT_FALSE(tell<QDragMoveEvent>(pixel("gpu1"))) << "nor has what is idle";
  const QImage unmarked = view_.grab().toImage();
  EXPECT_TRUE(tell<QDragMoveEvent>(pixel("cpu2")));
  EXPECT_EQ(said.toStdString(), "cpu2 now has layers 0 and 1.4");
  EXPECT_NE(view_.grab().toImage(), unmarked) << "it is marked";
  EXPECT_TRUE(tell<QDropEvent>(pixel("cpu2")));
  EXPECT_EQ(dropped.first, (QStringList{"0", "1.4"}));
  EXPECT_EQ(dropped.second, "cpu2");
  EXPECT_EQ(document_.undo_stack().count(), steps) << "who knows the model moves them";
}

TEST_F(Dropping, devices_that_another_panel_speaks_of_are_marked_while_they_are_there) {
  draw_two_hosts();
  const QImage unmarked = view_.grab().toImage();
  view_.highlight_devices({"cpu1", "nowhere"});
  EXPECT_NE(view_.grab().toImage(), unmarked);
  view_.highlight_devices({"nowhere"});
  EXPECT_EQ(view_.grab().toImage(), unmarked);
}

TEST_F(Dropping, what_is_no_part_is_left_to_others) {
  taken_ = std::make_unique<QMimeData>();
  taken_->setUrls({QUrl::fromLocalFile("/tmp/experiment.json")});
  EXPECT_FALSE(tell<QDragEnterEvent>({300, 300})) << "files are for the window";
  taken_ = to_mime(PaletteKind::cpu);
  taken_->setData(taken_->formats().first(), "99");
  EXPECT_FALSE(tell<QDragEnterEvent>({300, 300})) << "an unknown device";
  EXPECT_THAT(drawn().hosts, IsEmpty());
}

}  // namespace
}  // namespace trainyard::ui
