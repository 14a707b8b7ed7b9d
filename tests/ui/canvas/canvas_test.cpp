// SPDX-License-Identifier: GPL-3.0-or-later
// The canvas with real mouse and key events on a visible view, and the resulting document.
#include <gmock/gmock.h>

#include <QLineEdit>
#include <cmath>

#include "tests/ui/canvas/canvas_fixture.h"

namespace trainyard::ui {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

TEST_F(Canvas, dropped_device_creates_a_host_or_joins_the_host_under_it) {
  draw_two_hosts();
  EXPECT_THAT(names(), ElementsAre("cpu1", "cpu2", "gpu1", "host1", "host2"));
  EXPECT_EQ(drawn().hosts[0].devices.size(), 2u);
  EXPECT_THAT(selection_.picked().names, ElementsAre("gpu1"));
}

TEST_F(Canvas, drawn_topology_can_be_undone_and_redone_completely) {
  draw_two_hosts();
  drop(PaletteKind::network_switch, {600, 600});
  click(corner("host1"));
  act("connect_tool");
  drag(corner("host1"), pixel("switch1"));
  drag(corner("host2"), pixel("switch1"));
  key(Qt::Key_Escape);
  ASSERT_EQ(drawn().links.size(), 2u);
  drag(corner("host1"), corner("host1") + QPoint(40, 80));
  act("arrange");
  const topology::Topology end = drawn();
  QUndoStack& undo = document_.undo_stack();
  const int steps = undo.count();
  EXPECT_EQ(steps, 8)
      << "three devices, a switch, two links, a move, an arrangement: one step each";
  while (undo.canUndo()) undo.undo();
  EXPECT_EQ(drawn(), topology::Topology{});
  EXPECT_FALSE(document_.dirty());
  while (undo.canRedo()) undo.redo();
  EXPECT_EQ(drawn(), end);
  EXPECT_TRUE(document_.dirty());
}

TEST_F(Canvas, link_is_dragged_from_the_hovered_port) {
  draw_two_hosts();
  const QRectF host = view_.topology_scene().layout().rect_of("host1");
  move_to(corner("host1"));
  drag(pixel(QPointF(host.right(), host.center().y())), corner("host2"));
  ASSERT_EQ(drawn().links.size(), 1u);
  EXPECT_EQ(drawn().links[0].from, "host1");
  EXPECT_EQ(drawn().links[0].to, "host2");
  EXPECT_TRUE(selection_.contains(LinkName{"host1", "host2"}));
}

TEST_F(Canvas, link_between_devices_of_two_hosts_connects_the_hosts_once) {
  draw_two_hosts();
  act("connect_tool");
  drag(pixel("cpu1"), pixel("gpu1"));
  ASSERT_EQ(drawn().links.size(), 1u);
  EXPECT_EQ(drawn().links[0].from, "host1");
  QString shown_text;
  QObject::connect(&view_, &TopologyView::message, [&](const QString& text) { shown_text = text; });
  drag(corner("host2"), corner("host1"));
  EXPECT_EQ(drawn().links.size(), 1u);
  EXPECT_TRUE(shown_text.contains("already linked")) << shown_text.toStdString();
}

TEST_F(Canvas, drag_is_one_undo_step_and_snaps_to_the_grid) {
  draw_two_hosts();
  const topology::Topology before = drawn();
  const int steps = document_.undo_stack().count();
  drag(corner("host1"), corner("host1") + QPoint(83, 45));
  EXPECT_EQ(document_.undo_stack().count(), steps + 1);
  EXPECT_EQ(drawn().hosts[0].x, before.hosts[0].x + 80);
  EXPECT_EQ(std::fmod(drawn().hosts[0].y, 8), 0);
  drag(corner("host1"), corner("host1") + QPoint(16, 0));
  EXPECT_EQ(document_.undo_stack().count(), steps + 2) << "two drags are two steps";
  document_.undo_stack().undo();
  document_.undo_stack().undo();
  EXPECT_EQ(drawn(), before);
}

TEST_F(Canvas, escape_cancels_a_drag_without_an_undo_step) {
  draw_two_hosts();
  const topology::Topology before = drawn();
  const int steps = document_.undo_stack().count();
  press(corner("host1"));
  move_to(corner("host1") + QPoint(100, 100));
  EXPECT_NE(drawn(), before);
  key(Qt::Key_Escape);
  EXPECT_EQ(drawn(), before);
  EXPECT_EQ(document_.undo_stack().count(), steps);
  release({500, 500});
}

TEST_F(Canvas, rubber_band_selection_moves_together) {
  draw_two_hosts();
  drag({20, 20}, {1150, 500});
  EXPECT_THAT(selection_.picked().names, UnorderedElementsAre("host1", "host2"));
  const topology::Topology before = drawn();
  drag(corner("host2"), corner("host2") + QPoint(0, 64));
  EXPECT_EQ(drawn().hosts[0].y, before.hosts[0].y + 64);
  EXPECT_EQ(drawn().hosts[1].y, before.hosts[1].y + 64);
}

TEST_F(Canvas, control_click_toggles_the_selection) {
  draw_two_hosts();
  click(corner("host1"));
  click(corner("host2"), Qt::ControlModifier);
  EXPECT_THAT(selection_.picked().names, UnorderedElementsAre("host1", "host2"));
  click(corner("host1"), Qt::ControlModifier);
  EXPECT_THAT(selection_.picked().names, ElementsAre("host2"));
  click({600, 700});
  EXPECT_TRUE(selection_.picked().empty());
}

TEST_F(Canvas, deleting_a_host_deletes_its_links_and_undo_restores_both) {
  draw_two_hosts();
  act("connect_tool");
  drag(corner("host1"), corner("host2"));
  act("select_tool");
  click(corner("host1"));
  act("delete");
  EXPECT_THAT(names(), ElementsAre("gpu1", "host2"));
  EXPECT_THAT(drawn().links, IsEmpty());
  EXPECT_TRUE(selection_.picked().empty());
  view_.viewport()->repaint();
  document_.undo_stack().undo();
  view_.viewport()->repaint();
  drag(corner("host1"),
       corner("host1") + QPoint(0, 160));  // a stale item would move nothing, or crash
  EXPECT_EQ(view_.topology_scene().layout().rect_of("host1").top(), drawn().hosts[0].y);
  EXPECT_EQ(drawn().links.size(), 1u);
}

TEST_F(Canvas, renaming_in_place_updates_links) {
  draw_two_hosts();
  act("connect_tool");
  drag(corner("host1"), corner("host2"));
  act("select_tool");
  click(corner("host1"));
  key(Qt::Key_F2);
  auto* editor = view_.viewport()->findChild<QLineEdit*>("name_editor");
  ASSERT_NE(editor, nullptr);
  editor->setText("host2");
  QTest::keyClick(editor, Qt::Key_Return);
  EXPECT_TRUE(editor->isVisible()) << "a duplicate name is refused and remains editable";
  editor->setText("left");
  QTest::keyClick(editor, Qt::Key_Return);
  EXPECT_EQ(drawn().hosts[0].name, "left");
  EXPECT_EQ(drawn().links[0].from, "left");
  EXPECT_THAT(selection_.picked().names, ElementsAre("left"));
}

TEST_F(Canvas, device_dragged_to_another_host_moves_there) {
  draw_two_hosts();
  drag(pixel("cpu1"), corner("host2"));
  EXPECT_EQ(drawn().hosts[0].devices.size(), 1u);
  EXPECT_EQ(host_of(drawn(), "cpu1")->name, "host2");
}

TEST_F(Canvas, topology_can_be_edited_by_keyboard_only) {
  key(Qt::Key_1, Qt::ControlModifier);
  key(Qt::Key_1, Qt::ControlModifier);  // is placed on the host of the first device
  key(Qt::Key_5, Qt::ControlModifier);
  ASSERT_THAT(names(), ElementsAre("cpu1", "cpu2", "host1", "switch1"));
  key(Qt::Key_Home);
  EXPECT_THAT(selection_.picked().names, ElementsAre("host1"));
  const Position before{drawn().hosts[0].x, drawn().hosts[0].y};
  const int steps = document_.undo_stack().count();
  for (int i = 0; i < 3; ++i) key(Qt::Key_Right, Qt::ControlModifier);
  EXPECT_EQ(drawn().hosts[0].x, before.x + 24);
  EXPECT_EQ(document_.undo_stack().count(), steps + 1);
  key(Qt::Key_Tab);
  EXPECT_THAT(selection_.picked().names, ElementsAre("cpu1"));
  key(Qt::Key_Right, Qt::ControlModifier);
  EXPECT_EQ(drawn().hosts[0].devices[1].name, "cpu1") << "ranks follow the order of drawing";
  key(Qt::Key_End);
  EXPECT_THAT(selection_.picked().names, ElementsAre("switch1"));
  key(Qt::Key_Delete);
  EXPECT_THAT(names(), ElementsAre("cpu1", "cpu2", "host1"));
  key(Qt::Key_A, Qt::ControlModifier);
  key(Qt::Key_Escape);
  EXPECT_TRUE(selection_.picked().empty());
}

TEST_F(Canvas, device_deleted_during_its_drag_is_not_dropped) {
  draw_two_hosts();
  const QPoint from = pixel("cpu1"), to = pixel("gpu1");
  press(from);
  for (int step = 1; step <= 10; ++step) move_to(from + (to - from) * step / 10);
  document_.edit("Delete", [](experiment::Experiment& e) { remove(e.topology, {{"cpu1"}, {}}); });
  EXPECT_FALSE(view_.grab().isNull());
  release(to);
  EXPECT_EQ(drawn().hosts[0].devices.size(), 1u);
  EXPECT_EQ(drawn().hosts[1].devices.size(), 1u);
}

}  // namespace
}  // namespace trainyard::ui
