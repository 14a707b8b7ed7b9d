// SPDX-License-Identifier: GPL-3.0-or-later
// Machines in the palette: offered, drawn, dragged onto the canvas and removed.
#include <QSignalSpy>

#include "tests/ui/canvas/canvas_fixture.h"
#include "ui/model/document/clipboard.h"
#include "ui/model/machines/known_machines.h"

namespace trainyard::ui {
namespace {

class MachinePalette : public Canvas {
 protected:
  MachinePalette() {
    palette_.offer_machines({drawn_host(this_machine()),
                             drawn_host({"me@node1", "node1", "x86_64", 8, 16'600'000'000, {}})});
  }
  QListWidgetItem* item(const QString& text) {
    const auto found = palette_.findItems(text, Qt::MatchExactly);
    return found.size() == 1 ? found.front() : nullptr;
  }
  Palette palette_;
};

TEST_F(MachinePalette, lists_this_machine_and_added_ones_above_the_roles) {
  ASSERT_NE(item("This machine"), nullptr);
  ASSERT_NE(item("me@node1"), nullptr);
  EXPECT_EQ(palette_.row(item("Machines")) + 1, palette_.row(item("This machine")));
  EXPECT_EQ(palette_.row(item("me@node1")) + 1, palette_.row(item("Roles")));
  EXPECT_TRUE(item("me@node1")->toolTip().contains("8 cores, 16.6 GB"))
      << item("me@node1")->toolTip().toStdString();
  const int before = palette_.count();
  palette_.offer_machines({drawn_host(this_machine())});
  EXPECT_EQ(palette_.count(), before - 1);
}

TEST_F(MachinePalette, state_is_shown_beside_the_machine_whose_row_keeps_the_focus) {
  palette_.setCurrentItem(item("me@node1"));
  const std::vector<topology::Host> machines{
      drawn_host(this_machine()), drawn_host({"me@node1", "node1", "", 8, 16'600'000'000, {}})};
  QListWidgetItem* row = item("me@node1");
  palette_.offer_machines(machines, {{"me@node1", "no contact for 12 s"}});
  EXPECT_EQ(palette_.currentItem(), row);
  EXPECT_EQ(row->text(), "me@node1 · no contact for 12 s");
  EXPECT_TRUE(row->toolTip().contains("no contact for 12 s"));
  palette_.offer_machines(
      {drawn_host({"joined:lab1", "lab1", "", 2, 4'000'000'000, {}}), machines[0], machines[1]});
  ASSERT_NE(palette_.currentItem(), nullptr);
  EXPECT_EQ(palette_.currentItem()->text(), "me@node1") << "another row was inserted above";
}

TEST_F(MachinePalette, name_that_looks_like_html_is_shown_as_it_is) {
  palette_.offer_machines({drawn_host({"joined:<b>x</b>", "<b>x</b>", "", 2, 4'000'000'000, {}})});
  ASSERT_NE(item("joined:<b>x</b>"), nullptr);
  EXPECT_TRUE(item("joined:<b>x</b>")->toolTip().contains("&lt;b&gt;x"));
}

TEST_F(MachinePalette, activated_machine_is_drawn_with_its_address_cores_and_memory) {
  QObject::connect(&palette_, &Palette::machine_chosen,
                   [&](const topology::Host& machine) { view_.place_in_middle(machine); });
  emit palette_.itemActivated(item("me@node1"));
  emit palette_.itemActivated(item("This machine"));
  ASSERT_EQ(drawn().hosts.size(), 2u);
  EXPECT_EQ(drawn().hosts[0].name, "node1");
  EXPECT_EQ(drawn().hosts[0].address, "me@node1");
  EXPECT_EQ(drawn().hosts[0].devices[0].cores, 8);
  EXPECT_EQ(drawn().hosts[1].address, "");
  expect_nothing_overlaps();
  document_.undo_stack().undo();
  EXPECT_EQ(drawn().hosts.size(), 1u);
}

TEST_F(MachinePalette, dropped_machine_is_drawn_at_the_pointer) {
  Fragment fragment;
  fragment.topology.hosts = {drawn_host({"me@node1", "node1", "", 8, 16'600'000'000, {}})};
  const auto data = to_mime(fragment);
  QDragEnterEvent enter({300, 300}, Qt::CopyAction, data.get(), Qt::LeftButton, {});
  QApplication::sendEvent(view_.viewport(), &enter);
  ASSERT_TRUE(enter.isAccepted());
  QDropEvent event(QPointF(300, 300), Qt::CopyAction, data.get(), Qt::LeftButton, {});
  QApplication::sendEvent(view_.viewport(), &event);
  ASSERT_EQ(drawn().hosts.size(), 1u);
  EXPECT_EQ(drawn().hosts[0].address, "me@node1");
  EXPECT_TRUE(view_.topology_scene().layout().rect_of("node1").contains(
      view_.mapToScene(QPoint(300, 300))));
}

TEST_F(MachinePalette, delete_key_removes_added_machines_only) {
  QSignalSpy removed(&palette_, &Palette::removal_requested);
  palette_.setCurrentItem(item("This machine"));
  QTest::keyClick(&palette_, Qt::Key_Delete);
  EXPECT_EQ(removed.size(), 0);
  palette_.setCurrentItem(item("me@node1"));
  QTest::keyClick(&palette_, Qt::Key_Delete);
  ASSERT_EQ(removed.size(), 1);
  EXPECT_EQ(removed[0][0].toString(), "me@node1");
}

}  // namespace
}  // namespace trainyard::ui
