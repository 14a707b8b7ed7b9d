// SPDX-License-Identifier: GPL-3.0-or-later
// Dialog that adds another machine. By ssh: asks for its address, shows the fingerprint of its host
// key, and copies the agent to it. `trainyard-cli hosts add` does the work. By invitation: see
// InvitePage.
#pragma once

#include <QDialog>
#include <optional>

#include "ui/machines/invite_page.h"
#include "ui/model/machines/hosts_process.h"

class QLabel;
class QLineEdit;
class QPlainTextEdit;
class QProgressBar;
class QPushButton;
class QTabBar;

namespace trainyard::ui {

class TintedLabel;

class AddMachineDialog : public QDialog {
  Q_OBJECT
 public:
  enum class Way { ssh, invitation };                                  // the tabs
  enum class State { address, connecting, host_key, agent, copying };  // of the addition by ssh

  // `suggestions`: addresses for completion. `address`: initial address; if it is that of a joined
  // machine, the dialog begins with an invitation.
  AddMachineDialog(const Services& services, JoinedMachines& joined, const QStringList& suggestions,
                   const QString& address, QWidget* parent);

  void set_way(Way way);
  Way way() const;
  InvitePage& invite_page() { return *invite_; }
  State state() const { return state_; }
  QString text() const;      // all visible text of the addition by ssh
  QString commands() const;  // shown commands; empty if there are none
  QLineEdit& address() { return *address_; }
  QPushButton& accept_button() { return *accept_; }

  void reject() override;  // cancels the addition; closes the dialog if there is none

 signals:
  void added(const session::Machine& machine);  // requests to draw a machine
  void help_requested();

 protected:
  void closeEvent(QCloseEvent* event) override;

 private:
  void build();
  QWidget* build_ssh();
  void connect_signals();
  void show_way();
  void proceed();
  void connect_to(const QString& address);
  void read(const HostsLine& line);
  void ask_about_key(const HostsLine& question);
  void ask_about_agent(const HostsLine& question);
  void show_progress(double sent_bytes, double total_bytes);
  void finish(const base::Problems& problems);
  void show_problem(const base::Problem& problem);
  void show_state(State state, const QString& heading, const QString& text,
                  const QString& accept = {});
  void show_commands(const QString& commands, const QString& note);
  void show_buttons();
  void grow();
  void enable();

  const Services& services_;
  HostsProcess process_;
  State state_ = State::address;
  QString destination_;
  QString proceed_text_;  // label of the button that continues the addition by ssh
  std::optional<session::Machine> machine_;
  QTabBar* tabs_;
  QWidget* ssh_;
  InvitePage* invite_;
  TintedLabel *heading_, *text_, *note_;
  QLineEdit* address_;
  QPlainTextEdit* commands_;
  QProgressBar* bar_;
  QPushButton *accept_, *cancel_;
};

}  // namespace trainyard::ui
