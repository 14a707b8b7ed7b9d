// SPDX-License-Identifier: GPL-3.0-or-later
// The field of a host that selects its machine.
#include <QCompleter>
#include <QMenu>

#include "tests/ui/inspector/inspector_fixture.h"

namespace trainyard::ui {
namespace {

class MachineField : public InspectorTest {
 protected:
  MachineField() {
    inspector_.set_machines([] { return QStringList{"me@node1", "gpu1"}; });
    selection_.set({{"host0"}, {}});
  }
  FieldEditor* editor() { return inspector_.item_form().editor("address"); }
  QLineEdit* line() { return inner<QLineEdit>(editor()); }
};

TEST_F(MachineField, is_labeled_and_shows_this_machine_if_it_is_empty) {
  ASSERT_NE(editor(), nullptr);
  EXPECT_EQ(line()->placeholderText(), "This machine");
  QStringList labels;
  for (const QLabel* label : inspector_.item_form().findChildren<QLabel*>())
    labels << label->text();
  EXPECT_TRUE(labels.contains("Machine")) << labels.join("|").toStdString();
}

TEST_F(MachineField, menu_selects_a_machine) {
  QMenu* menu = editor()->findChild<QMenu*>();
  ASSERT_NE(menu, nullptr);
  emit menu->aboutToShow();
  ASSERT_EQ(menu->actions().size(), 3);
  menu->actions()[1]->trigger();
  EXPECT_EQ(now().topology.hosts[0].address, "me@node1");
  EXPECT_EQ(line()->text(), "me@node1");
  emit menu->aboutToShow();
  EXPECT_EQ(menu->actions()[0]->text(), "This machine");
  menu->actions()[0]->trigger();
  EXPECT_EQ(now().topology.hosts[0].address, "");
}

TEST_F(MachineField, typing_completes_addresses) {
  type(editor(), "node");
  EXPECT_EQ(now().topology.hosts[0].address, "node");
  EXPECT_EQ(line()->completer()->completionCount(), 1);
  emit line()->completer()->activated("me@node1");
  EXPECT_EQ(now().topology.hosts[0].address, "me@node1");
}

}  // namespace
}  // namespace trainyard::ui
