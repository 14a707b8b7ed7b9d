// SPDX-License-Identifier: GPL-3.0-or-later
// Tab "By invitation" of the dialog that adds a machine.
#include "ui/machines/invite_page.h"

#include <QClipboard>
#include <QComboBox>
#include <QGuiApplication>
#include <QLineEdit>
#include <QPushButton>
#include <QSpinBox>
#include <QTest>
#include <QTreeWidget>

#include "tests/ui/machines/fake_hosts.h"
#include "ui/machines/add_machine_dialog.h"
#include "ui/machines/qr_code_view.h"
#include "ui/theme/manual_topic.h"
#include "ui/theme/theme.h"

namespace trainyard::ui {
namespace {

using InviteState = InvitePage::State;

class Invite : public testing::Test {
 protected:
  ~Invite() override { Theme::instance().apply(Theme::Kind::light); }

  void open(const char* program, const std::vector<OwnAddress>& addresses = {
                                     {"192.168.1.2", "eth0"}, {"10.0.0.7", "eth1"}}) {
    fake_.emplace(program);
    services_ = fake_->services();
    services_.own_addresses = [addresses] { return addresses; };
    joined_ = std::make_unique<JoinedMachines>(services_);
    dialog_ =
        std::make_unique<AddMachineDialog>(services_, *joined_, QStringList(), "joined:x", nullptr);
    QObject::connect(dialog_.get(), &AddMachineDialog::added,
                     [this](const session::Machine& machine) { added_ << machine.destination; });
    dialog_->show();
  }
  InvitePage& page() { return dialog_->invite_page(); }
  void press() { QTest::mouseClick(&dialog_->accept_button(), Qt::LeftButton); }
  bool invites() {
    page().address().setCurrentIndex(1);
    press();
    return QTest::qWaitFor([&] { return page().state() == InviteState::invited; }, 20'000);
  }
  bool lists(int rows) {
    return QTest::qWaitFor([&] { return page().table().topLevelItemCount() == rows; }, 20'000);
  }
  QStringList cells(int row) {
    QStringList cells;
    for (int column = 0; column < 4; ++column)
      cells << page().table().topLevelItem(row)->text(column);
    return cells;
  }

  std::optional<test::FakeHosts> fake_;
  Services services_;
  std::unique_ptr<JoinedMachines> joined_;
  std::unique_ptr<AddMachineDialog> dialog_;
  QList<std::string> added_;
};

TEST_F(Invite, shows_the_command_to_run_on_the_other_machines) {
  open(test::kInvites);
  EXPECT_EQ(dialog_->accept_button().text(), "Invite");
  EXPECT_EQ(dialog_->focusWidget(), &page().address());
  page().machines().setValue(3);
  page().hours().setValue(2);
  ASSERT_TRUE(invites());
  EXPECT_TRUE(
      fake_->asked().contains("hosts listen --address 10.0.0.7 --machines 3 --hours 2 --json\n"))
      << fake_->asked().toStdString();
  EXPECT_EQ(page().command(), "trainyard-agent join 10.0.0.7:29700/4J2K-9QTX-0A7B-M3PD-W8ZC-E5RY");
  EXPECT_TRUE(page().text().contains("admits 3 machines until")) << page().text().toStdString();
  EXPECT_TRUE(page().text().contains("No machine has joined yet."));
  page().copy_button().click();
  EXPECT_EQ(QGuiApplication::clipboard()->text(), page().command());
  press();
  EXPECT_EQ(page().state(), InviteState::form);
  EXPECT_EQ(dialog_->accept_button().text(), "Invite");
}

TEST_F(Invite, draws_the_qr_code_dark_on_white_in_the_dark_theme) {
  Theme::instance().apply(Theme::Kind::dark);
  open(test::kInvites);
  ASSERT_TRUE(invites());
  ASSERT_TRUE(page().qr_code().isVisible());
  const QImage picture = const_cast<QrCodeView&>(page().qr_code()).grab().toImage();
  constexpr int kSide = 3 + 2 * 4;  // modules, with the margin
  const int module = picture.width() / kSide;
  const auto is_dark = [&](int x, int y) {
    return picture.pixelColor(x * module + module / 2, y * module + module / 2) ==
           QColor(Qt::black);
  };
  for (int x = 0; x < kSide; ++x)
    for (int y = 0; y < kSide; ++y) {
      constexpr const char* kRows[] = {"101", "010", "110"};
      const bool inside = x >= 4 && x < 7 && y >= 4 && y < 7;
      EXPECT_EQ(is_dark(x, y), inside && kRows[y - 4][x - 4] == '1') << x << ", " << y;
    }
  EXPECT_EQ(picture.pixelColor(0, 0), QColor(Qt::white));
}

TEST_F(Invite, asks_for_the_address_only_if_there_are_several) {
  open(test::kInvites);
  EXPECT_TRUE(page().address().isVisible());
  EXPECT_EQ(page().address().currentText(), "192.168.1.2 (eth0)");
  open(test::kInvites, {{"10.0.0.7", "eth0"}});
  EXPECT_FALSE(page().address().isVisible());
  dialog_->set_way(AddMachineDialog::Way::ssh);
  EXPECT_EQ(dialog_->focusWidget(), &dialog_->address());
  dialog_->set_way(AddMachineDialog::Way::invitation);
  EXPECT_EQ(dialog_->focusWidget(), &page().machines());
  QTest::keyClick(&page().machines(), Qt::Key_Return);
  ASSERT_TRUE(QTest::qWaitFor([&] { return page().state() == InviteState::invited; }, 20'000));
  EXPECT_TRUE(fake_->asked().contains("--address 10.0.0.7 "));
}

TEST_F(Invite, lists_machines_that_joined_and_draws_them) {
  open(test::kInvites);
  ASSERT_TRUE(invites());
  EXPECT_FALSE(page().table().isVisible());
  fake_->write("list", test::kTwoJoined);
  ASSERT_TRUE(lists(2));
  EXPECT_EQ(cells(0), QStringList({"lab1", "8", "16.6 GB", "ready"}));
  EXPECT_EQ(cells(1), QStringList({"lab2", "4", "8 GB", "no contact for 12 s"}));
  page().draw_button().click();
  EXPECT_EQ(added_, QList<std::string>({"joined:lab1"})) << "the first one is selected";
  page().table().setFocus();
  page().table().setCurrentItem(page().table().topLevelItem(1));
  QTest::keyClick(&page().table(), Qt::Key_Return);
  EXPECT_EQ(added_, QList<std::string>({"joined:lab1", "joined:lab2"}));
  EXPECT_EQ(page().state(), InviteState::invited) << "Enter pressed only the button of the list";
  EXPECT_TRUE(dialog_->isVisible());
  fake_->write("list", "");
  ASSERT_TRUE(lists(0));
  EXPECT_TRUE(page().text().contains("No machine has joined yet."));
}

TEST_F(Invite, says_when_the_invitation_is_used_up) {
  open(test::kInvites);
  fake_->write("list", test::kOneInvitation);
  ASSERT_TRUE(invites());
  ASSERT_TRUE(QTest::qWaitFor([&] { return joined_->invitations().size() == 1; }, 20'000));
  EXPECT_TRUE(page().text().contains("admits 1 machine until"));
  fake_->write("list", test::kTwoJoined);
  ASSERT_TRUE(QTest::qWaitFor(
      [&] { return page().text().contains("The invitation admits no more machines"); }, 20'000));
  EXPECT_EQ(page().state(), InviteState::over);
  EXPECT_FALSE(page().qr_code().isVisible());
  EXPECT_FALSE(page().copy_button().isVisible());
  EXPECT_TRUE(page().table().isVisible());
  EXPECT_EQ(dialog_->accept_button().text(), "New invitation");
}

TEST_F(Invite, can_be_withdrawn) {
  open(test::kInvites);
  ASSERT_TRUE(invites());
  page().withdraw_button().click();
  ASSERT_TRUE(QTest::qWaitFor([&] { return page().state() == InviteState::form; }, 20'000));
  EXPECT_TRUE(page().text().startsWith("The invitation was withdrawn"));
  EXPECT_TRUE(fake_->asked().contains(
      "hosts withdraw 10.0.0.7:29700/4J2K-9QTX-0A7B-M3PD-W8ZC-E5RY --json\n"));
}

TEST_F(Invite, says_if_the_listener_runs_at_another_address) {
  open(test::kInvites);
  press();  // with the first address
  ASSERT_TRUE(QTest::qWaitFor([&] { return page().state() == InviteState::invited; }, 20'000));
  EXPECT_TRUE(page().text().contains("To use 192.168.1.2, end it with"));
}

TEST_F(Invite, that_fails_shows_the_reason) {
  open(R"(echo '{"type":"result","status":"refused","problems":[{"id":"cannot_listen",)"
       R"("code":"unavailable","where":"10.0.0.7 port 29700","what":"cannot listen: the address )"
       R"(is in use","accepted":"","advice":"Choose another --port."}]}'; exit 2
)");
  press();
  ASSERT_TRUE(QTest::qWaitFor(
      [&] { return page().text().startsWith("The invitation was not made"); }, 20'000));
  EXPECT_TRUE(page().text().contains("Cannot listen: the address is in use."));
  EXPECT_TRUE(page().text().contains("Choose another --port."));
  EXPECT_EQ(page().state(), InviteState::form);
  ASSERT_TRUE(manual_topic_of(&page().machines()).problem);
  EXPECT_EQ(manual_topic_of(&page().machines()).problem->id, "cannot_listen");
  dialog_->set_way(AddMachineDialog::Way::ssh);
  EXPECT_FALSE(manual_topic_of(&dialog_->address()).problem);
}

TEST_F(Invite, closed_dialog_lists_machines_no_more) {
  open(test::kInvites);
  EXPECT_TRUE(joined_->frequent());
  dialog_->set_way(AddMachineDialog::Way::ssh);
  EXPECT_FALSE(joined_->frequent());
  dialog_->set_way(AddMachineDialog::Way::invitation);
  ASSERT_TRUE(invites());
  QTest::keyClick(dialog_.get(), Qt::Key_Escape);
  EXPECT_FALSE(dialog_->isVisible());
  EXPECT_FALSE(joined_->frequent());
}

TEST_F(Invite, escape_cancels_a_listener_that_does_not_answer) {
  open("[ \"$2\" = listen ] && exec sleep 60; echo '{}'\n");
  press();
  EXPECT_EQ(page().state(), InviteState::asking);
  EXPECT_FALSE(dialog_->accept_button().isVisible());
  QTest::keyClick(dialog_.get(), Qt::Key_Escape);
  EXPECT_EQ(page().state(), InviteState::form);
  EXPECT_TRUE(dialog_->isVisible());
}

}  // namespace
}  // namespace trainyard::ui
