// SPDX-License-Identifier: GPL-3.0-or-later
// Panning of the canvas, and drops of palette items.
#include <gmock/gmock.h>

#include <QLineF>
#include <QUrl>
#include <memory>

#include "tests/ui/canvas/canvas_fixture.h"
#include "tests/ui/has_all.h"
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

TEST_F(Panning, middle_button_pans_from_any_point) {
  for (const bool at_a_host : {false, true}) {
    const QPoint from = at_a_host ? corner("host1") : QPoint(600, 500), to = from + QPoint(90, 60);
    const QPointF held = view_.mapToScene(from);
    carry(Qt::MiddleButton, from, to);
    expect_carried(held, to);
    EXPECT_EQ(held_, Qt::ClosedHandCursor);
    EXPECT_EQ(cursor(), Qt::ArrowCursor);
  }
}

TEST_F(Panning, left_button_pans_only_while_space_is_held) {
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

TEST_F(Panning, wheel_scrolls_in_its_direction) {
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

// A drag from the palette, as Qt sends it to the widget under the pointer.
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
  bool send(QPoint at) {
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

TEST_F(Dropping, every_palette_item_is_placed_where_it_is_dropped) {
  const std::pair<const char*, const char*> things[] = {
      {"CPU", "cpu1"}, {"GPU", "gpu1"}, {"TPU", "tpu1"}, {"Host", "host4"}, {"Switch", "switch1"}};
  QPoint at(120, 120);
  for (const auto& [label, name] : things) {
    take(label);
    const int steps = document_.undo_stack().count();
    ASSERT_TRUE(send<QDragEnterEvent>(at)) << label;
    EXPECT_TRUE(send<QDragMoveEvent>(at)) << label;
    EXPECT_EQ(document_.undo_stack().count(), steps) << "items are placed on drop";
    EXPECT_TRUE(send<QDropEvent>(at)) << label;
    EXPECT_EQ(document_.undo_stack().count(), steps + 1) << label;
    EXPECT_THAT(selection_.picked().names, ElementsAre(name));
    const std::string node = host_of(drawn(), name) ? host_of(drawn(), name)->name : name;
    EXPECT_TRUE(view_.topology_scene().layout().rect_of(node).contains(view_.mapToScene(at)))
        << label;
    EXPECT_TRUE(view_.hasFocus()) << "the dropped item has the focus";
    at += QPoint(220, 110);
  }
  EXPECT_THAT(names(),
              ElementsAre("cpu1", "gpu1", "host1", "host2", "host3", "host4", "switch1", "tpu1"));
}

TEST_F(Dropping, drag_highlights_the_host_that_a_device_would_join) {
  draw_two_hosts();
  take("GPU");
  ASSERT_TRUE(send<QDragEnterEvent>({600, 700}));
  send<QDragMoveEvent>({600, 700});
  EXPECT_EQ(marked(), "");
  send<QDragMoveEvent>(pixel("cpu1"));
  EXPECT_EQ(marked(), "host1") << "over a device of it";
  send<QDragMoveEvent>(corner("host2"));
  EXPECT_EQ(marked(), "host2");
  EXPECT_TRUE(send<QDropEvent>(corner("host2")));
  EXPECT_EQ(drawn().hosts[1].devices.size(), 2u);
  EXPECT_EQ(drawn().hosts.size(), 2u);
}

TEST_F(Dropping, drag_of_hosts_and_switches_highlights_no_host) {
  draw_two_hosts();
  take("Switch");
  ASSERT_TRUE(send<QDragEnterEvent>(corner("host1")));
  EXPECT_TRUE(send<QDragMoveEvent>(corner("host1")));
  EXPECT_EQ(marked(), "");
}

TEST_F(Dropping, drag_that_leaves_the_canvas_changes_nothing) {
  draw_two_hosts();
  const topology::Topology before = drawn();
  take("CPU");
  ASSERT_TRUE(send<QDragEnterEvent>(corner("host1")));
  send<QDragMoveEvent>(corner("host1"));
  ASSERT_EQ(marked(), "host1");
  leave();
  EXPECT_EQ(marked(), "");
  EXPECT_EQ(drawn(), before);
}

// Returns the role of a device.
topology::Role role_of(const topology::Topology& drawn, const std::string& name) {
  return find_device(drawn, name)->role;
}

TEST_F(Dropping, role_can_be_dropped_only_onto_a_device) {
  draw_two_hosts();
  QString message;
  QObject::connect(&view_, &TopologyView::message, [&](const QString& text) { message = text; });
  take("Evaluator");
  ASSERT_TRUE(send<QDragEnterEvent>(corner("host1")));
  EXPECT_FALSE(send<QDragMoveEvent>(corner("host1"))) << "the drop is refused";
  const QImage unmarked = view_.grab().toImage();
  EXPECT_TRUE(send<QDragMoveEvent>(pixel("cpu2")));
  EXPECT_THAT(message, test::HasAll("cpu2", "evaluator"));
  EXPECT_NE(view_.grab().toImage(), unmarked) << "the device is highlighted";
  const topology::Topology before = drawn();
  const int steps = document_.undo_stack().count();
  EXPECT_FALSE(send<QDropEvent>(corner("host1")));
  EXPECT_EQ(drawn(), before);
  ASSERT_TRUE(send<QDragEnterEvent>(corner("host1")));
  ASSERT_TRUE(send<QDragMoveEvent>(pixel("cpu2")));
  EXPECT_TRUE(send<QDropEvent>(pixel("cpu2")));
  EXPECT_EQ(role_of(drawn(), "cpu2"), topology::Role::evaluator);
  EXPECT_EQ(document_.undo_stack().count(), steps + 1);
  document_.undo_stack().undo();
  EXPECT_EQ(drawn(), before);
}

TEST_F(Dropping, unique_role_is_removed_from_its_previous_device) {
  draw_two_hosts();
  for (const char* device : {"cpu1", "gpu1"}) {
    take("Chief");
    ASSERT_TRUE(send<QDragEnterEvent>(corner("host1")));
    ASSERT_TRUE(send<QDragMoveEvent>(pixel(device)));
    EXPECT_TRUE(send<QDropEvent>(pixel(device)));
    EXPECT_EQ(role_of(drawn(), device), topology::Role::chief);
  }
  EXPECT_EQ(role_of(drawn(), "cpu1"), topology::Role::worker);
  document_.undo_stack().undo();
  EXPECT_EQ(role_of(drawn(), "cpu1"), topology::Role::chief) << "in one step";
  EXPECT_EQ(role_of(drawn(), "gpu1"), topology::Role::worker);
}

TEST_F(Dropping, role_is_assigned_to_selected_devices_by_keys_and_palette) {
  draw_two_hosts();
  QObject::connect(&palette_, &Palette::role_chosen, &view_,
                   qOverload<topology::Role>(&TopologyView::give_role));
  QString message;
  QObject::connect(&view_, &TopologyView::message, [&](const QString& text) { message = text; });
  click(pixel("cpu1"));
  act("toggle_evaluator");
  EXPECT_EQ(role_of(drawn(), "cpu1"), topology::Role::evaluator);
  act("toggle_evaluator");
  EXPECT_EQ(role_of(drawn(), "cpu1"), topology::Role::worker) << "the role is reset";
  selection_.set({{"cpu1", "cpu2"}, {}});
  EXPECT_FALSE(actions_.action("toggle_chief")->isEnabled()) << "two devices are selected";
  view_.give_role(topology::Role::chief);
  EXPECT_THAT(message, test::HasAll("one device", "one chief"));
  const auto item = palette_.findItems("Parameter server", Qt::MatchExactly);
  ASSERT_EQ(item.size(), 1);
  emit palette_.itemActivated(item.front());
  EXPECT_EQ(role_of(drawn(), "cpu1"), topology::Role::parameter_server);
  EXPECT_EQ(role_of(drawn(), "cpu2"), topology::Role::parameter_server);
  selection_.set({});
  view_.give_role(topology::Role::idle);
  EXPECT_THAT(message, test::HasAll("Select a device"));
}

TEST_F(Dropping, layers_can_be_dropped_onto_a_worker) {
  draw_two_hosts();
  document_.edit("idle", [](experiment::Experiment& e) {
    find_device(e.topology, "gpu1")->role = topology::Role::idle;
  });
  QString message;
  QObject::connect(&view_, &TopologyView::message, [&](const QString& text) { message = text; });
  std::pair<QStringList, std::string> dropped;
  QObject::connect(&view_, &TopologyView::layers_dropped,
                   [&](const QStringList& layers, const std::string& device) {
                     dropped = {layers, device};
                   });
  const int steps = document_.undo_stack().count();
  taken_ = to_mime(QStringList{"0", "1.4"});
  ASSERT_TRUE(send<QDragEnterEvent>(corner("host1")));
  EXPECT_FALSE(send<QDragMoveEvent>(corner("host1"))) << "a host has no layers";
  EXPECT_FALSE(send<QDragMoveEvent>(pixel("gpu1"))) << "an idle device has no layers";
  const QImage unmarked = view_.grab().toImage();
  EXPECT_TRUE(send<QDragMoveEvent>(pixel("cpu2")));
  EXPECT_THAT(message, test::HasAll("cpu2", "layers 0 and 1.4"));
  EXPECT_NE(view_.grab().toImage(), unmarked) << "the device is highlighted";
  EXPECT_TRUE(send<QDropEvent>(pixel("cpu2")));
  EXPECT_EQ(dropped.first, (QStringList{"0", "1.4"}));
  EXPECT_EQ(dropped.second, "cpu2");
  EXPECT_EQ(document_.undo_stack().count(), steps) << "the model panel moves the layers";
}

TEST_F(Dropping, devices_named_by_another_panel_are_marked) {
  draw_two_hosts();
  const QImage unmarked = view_.grab().toImage();
  view_.highlight_devices({"cpu1", "nowhere"});
  EXPECT_NE(view_.grab().toImage(), unmarked);
  view_.highlight_devices({"nowhere"});
  EXPECT_EQ(view_.grab().toImage(), unmarked);
}

TEST_F(Dropping, other_mime_types_are_ignored) {
  taken_ = std::make_unique<QMimeData>();
  taken_->setUrls({QUrl::fromLocalFile("/tmp/experiment.json")});
  EXPECT_FALSE(send<QDragEnterEvent>({300, 300})) << "the window handles files";
  taken_ = to_mime(PaletteKind::cpu);
  taken_->setData(taken_->formats().first(), "99");
  EXPECT_FALSE(send<QDragEnterEvent>({300, 300})) << "an unknown device";
  EXPECT_THAT(drawn().hosts, IsEmpty());
}

}  // namespace
}  // namespace trainyard::ui
