// SPDX-License-Identifier: GPL-3.0-or-later
// Dialog that adds another machine: asks for its address, shows the fingerprint of its host key,
// and copies the agent to it. `trainyard-cli hosts add` does the work.
#pragma once

#include <QDialog>
#include <optional>

#include "ui/model/machines/hosts_process.h"

class QLabel;
class QLineEdit;
class QPlainTextEdit;
class QProgressBar;
class QPushButton;

namespace trainyard::ui {

class TintedLabel;

class AddMachineDialog : public QDialog {
  Q_OBJECT
 public:
  enum class State { address, connecting, host_key, agent, copying };

  // `suggestions`: addresses for completion. `address`: initial address.
  AddMachineDialog(const Services& services, const QStringList& suggestions, const QString& address,
                   QWidget* parent);

  State state() const { return state_; }
  QString text() const;      // all visible text
  QString commands() const;  // shown commands; empty if there are none
  QLineEdit& address() { return *address_; }
  QPushButton& accept_button() { return *accept_; }

  void reject() override;  // cancels the addition; closes the dialog if there is none

 signals:
  void added(const session::Machine& machine);
  void help_requested();

 protected:
  void closeEvent(QCloseEvent* event) override;

 private:
  void build();
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
  void grow();
  void enable();

  const Services& services_;
  HostsProcess process_;
  State state_ = State::address;
  QString destination_;
  std::optional<session::Machine> machine_;
  TintedLabel *heading_, *text_, *note_;
  QLineEdit* address_;
  QPlainTextEdit* commands_;
  QProgressBar* bar_;
  QPushButton *accept_, *cancel_;
};

}  // namespace trainyard::ui
