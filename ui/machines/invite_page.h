// SPDX-License-Identifier: GPL-3.0-or-later
// Page of the dialog that adds a machine: makes an invitation by `trainyard-cli hosts listen`,
// shows the command to run on the other machine, and lists the machines that have joined.
#pragma once

#include <QDateTime>
#include <QPointer>
#include <QWidget>
#include <optional>

#include "ui/model/machines/joined_machines.h"

class QComboBox;
class QFormLayout;
class QLabel;
class QPushButton;
class QSpinBox;
class QTreeWidget;

namespace trainyard::ui {

class QrCodeView;
class TintedLabel;

class InvitePage : public QWidget {
  Q_OBJECT
 public:
  // form: fields of a new invitation; asking: the process runs; invited: an invitation is shown;
  // over: the invitation admits no more machines
  enum class State { form, asking, invited, over };

  // Lists the joined machines once a second while the page is visible.
  InvitePage(const Services& services, JoinedMachines& joined, QWidget* parent = nullptr);

  State state() const { return state_; }
  void invite();       // makes an invitation with the values of the fields
  void show_form();    // shows the fields again
  void cancel();       // ends the process
  void draw_chosen();  // emits `chosen` for each selected machine

  QString text() const;     // all visible text
  QString command() const;  // shown command; empty if there is none
  QComboBox& address() { return *address_; }
  QSpinBox& machines() { return *machines_; }
  QSpinBox& hours() { return *hours_; }
  QTreeWidget& table() { return *table_; }
  QPushButton& draw_button() { return *draw_; }
  QPushButton& copy_button() { return *copy_; }
  QPushButton& withdraw_button() { return *withdraw_; }
  const QrCodeView& qr_code() const { return *qr_code_; }

 signals:
  void changed();  // state, text or size
  void problem_changed(const std::optional<base::Problem>& problem);
  void chosen(const session::Machine& machine);  // requests to draw a joined machine

 protected:
  void showEvent(QShowEvent* event) override;
  void hideEvent(QHideEvent* event) override;

 private:
  void build();
  QWidget* build_form();
  QWidget* build_invitation();
  QWidget* build_joined();
  void withdraw();
  void read(const HostsLine& line);
  void finish(const base::Problems& problems);
  void show_state(State state, const QString& heading, const QString& text);
  void show_invitation();
  void show_problem(const QString& heading, const base::Problem& problem);
  void fill_table();
  void list_machines();
  void follow_invitation();
  QString note_text(std::int64_t machines) const;

  const Services& services_;
  QPointer<JoinedMachines> joined_;  // null while the main window is destroyed
  HostsProcess process_, withdrawal_;
  State state_ = State::form;
  HostsLine invited_;       // result of `listen`
  QDateTime expires_;       // time at which the invitation expires
  bool is_listed_ = false;  // the list of valid invitations contains the invitation
  TintedLabel *heading_, *text_, *note_, *none_;
  QWidget *form_, *invitation_, *joined_box_;
  QComboBox* address_;
  QFormLayout* rows_;
  QSpinBox *machines_, *hours_;
  QLabel* command_;
  QrCodeView* qr_code_;
  QTreeWidget* table_;
  QPushButton *copy_, *withdraw_, *draw_;
};

}  // namespace trainyard::ui
