// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/machines/add_machine_dialog.h"

#include <QCompleter>
#include <QLineEdit>
#include <QProgressBar>
#include <QPushButton>
#include <QTest>

#include "tests/ui/machines/fake_hosts.h"
#include "ui/theme/manual_topic.h"

namespace trainyard::ui {
namespace {

using State = AddMachineDialog::State;

class AddMachine : public testing::Test {
 protected:
  void open(const char* program, const QString& address = "me@node1") {
    fake_.emplace(program);
    services_ = fake_->services();
    joined_ = std::make_unique<JoinedMachines>(services_);
    dialog_ = std::make_unique<AddMachineDialog>(services_, *joined_,
                                                 QStringList{"me@node1", "gpu1"}, address, nullptr);
    QObject::connect(dialog_.get(), &AddMachineDialog::added,
                     [this](const session::Machine& machine) { added_.push_back(machine); });
    dialog_->show();
  }
  void press() { QTest::mouseClick(&dialog_->accept_button(), Qt::LeftButton); }
  bool reaches(State state) {
    return QTest::qWaitFor([&] { return dialog_->state() == state; }, 20'000);
  }

  std::optional<test::FakeHosts> fake_;
  Services services_;
  std::unique_ptr<JoinedMachines> joined_;
  std::unique_ptr<AddMachineDialog> dialog_;
  std::vector<session::Machine> added_;
};

TEST_F(AddMachine, asks_about_key_and_agent_and_reports_the_machine) {
  open(test::kAddsMachine);
  press();
  ASSERT_TRUE(reaches(State::host_key));
  EXPECT_EQ(fake_->asked(), "hosts add me@node1 --ask\n");
  EXPECT_EQ(dialog_->commands(), "SHA256:abc");
  EXPECT_TRUE(dialog_->text().contains("ssh-keygen -l -f /etc/ssh/ssh_host_ed25519_key.pub"));
  EXPECT_FALSE(dialog_->accept_button().hasFocus()) << "Enter must not trust a key";
  press();
  ASSERT_TRUE(reaches(State::agent));
  EXPECT_TRUE(dialog_->text().contains("0.1.0-cafe, 32.7 MB")) << dialog_->text().toStdString();
  press();
  ASSERT_TRUE(QTest::qWaitFor([&] { return !added_.empty(); }, 20'000));
  EXPECT_EQ(fake_->read("answers"), "yes\nyes\n");
  EXPECT_EQ(added_[0].destination, "me@node1");
  EXPECT_EQ(added_[0].host, "node1.lab");
  EXPECT_EQ(added_[0].cores, 8);
  EXPECT_EQ(added_[0].memory_bytes, 16'600'000'000);
  EXPECT_EQ(dialog_->result(), QDialog::Accepted);
}

TEST_F(AddMachine, shows_progress_that_can_be_canceled) {
  open(test::kAddsMachine);
  QFile(QFileInfo(fake_->program()).dir().filePath("wait")).open(QFile::WriteOnly);
  press();
  ASSERT_TRUE(reaches(State::host_key));
  press();
  ASSERT_TRUE(reaches(State::agent));
  press();
  ASSERT_TRUE(QTest::qWaitFor([&] { return dialog_->text().contains("16.4 MB of 32.7 MB"); }))
      << dialog_->text().toStdString();
  EXPECT_EQ(dialog_->findChild<QProgressBar*>()->value(), 500);
  dialog_->reject();
  EXPECT_EQ(dialog_->state(), State::address);
  EXPECT_TRUE(dialog_->isVisible());
  EXPECT_TRUE(dialog_->text().contains("canceled"));
  dialog_->reject();
  EXPECT_FALSE(dialog_->isVisible());
  EXPECT_TRUE(added_.empty());
}

TEST_F(AddMachine, refused_key_adds_nothing) {
  open(test::kAddsMachine);
  press();
  ASSERT_TRUE(reaches(State::host_key));
  dialog_->reject();
  EXPECT_EQ(dialog_->state(), State::address);
  QTest::qWait(200);
  EXPECT_FALSE(fake_->read("answers").contains("yes"));
  EXPECT_TRUE(added_.empty());
}

TEST_F(AddMachine, refused_login_shows_the_commands_that_copy_a_key) {
  open(test::kRefusesLogin);
  press();
  ASSERT_TRUE(QTest::qWaitFor([&] { return !dialog_->commands().isEmpty(); }, 20'000));
  EXPECT_EQ(dialog_->commands(), "ssh-keygen -t ed25519\nssh-copy-id me@node1");
  EXPECT_TRUE(dialog_->text().startsWith("me@node1 was not added"));
  EXPECT_TRUE(dialog_->text().contains("The host does not accept a key of this user."));
  EXPECT_EQ(dialog_->accept_button().text(), "Try again");
  ASSERT_TRUE(manual_topic_of(&dialog_->address()).problem);
  EXPECT_EQ(manual_topic_of(&dialog_->address()).problem->id, "login_refused");
  press();
  EXPECT_EQ(dialog_->state(), State::connecting);
}

TEST_F(AddMachine, program_that_fails_or_is_missing_is_reported) {
  open("echo 'no such verb' >&2; exit 2\n");
  press();
  ASSERT_TRUE(QTest::qWaitFor([&] { return dialog_->text().contains("no such verb"); }, 20'000));
  services_.command_line_program = "/nowhere/trainyard-cli";
  press();
  ASSERT_TRUE(QTest::qWaitFor([&] { return dialog_->text().contains("cannot be started"); }));
}

TEST_F(AddMachine, completes_addresses_and_needs_one) {
  open(test::kAddsMachine, "");
  EXPECT_FALSE(dialog_->accept_button().isEnabled());
  QTest::keyClicks(&dialog_->address(), "gp");
  EXPECT_TRUE(dialog_->accept_button().isEnabled());
  QCompleter* completer = dialog_->address().completer();
  ASSERT_EQ(completer->completionCount(), 1);
  EXPECT_EQ(completer->currentCompletion(), "gpu1");
}

}  // namespace
}  // namespace trainyard::ui
