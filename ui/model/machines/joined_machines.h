// SPDX-License-Identifier: GPL-3.0-or-later
// Machines that joined this one by invitation, and the valid invitations, as
// `trainyard-cli hosts list` prints them. The process is started repeatedly while this user's
// listener runs.
#pragma once

#include <QObject>
#include <QTimer>
#include <optional>
#include <vector>

#include "ui/model/machines/hosts_process.h"

namespace trainyard::ui {

struct JoinedMachine {
  session::Machine machine;   // its destination is joined:NAME
  double seconds = 0;         // until its consent ends
  double silent_seconds = 0;  // since anything arrived from it
};

struct ValidInvitation {
  QString invitation;  // HOST:PORT/CODE
  std::int64_t machines = 0;
};

// Returns "no contact for 12 s"; empty if the machine has answered recently.
QString contact_text(const JoinedMachine& machine);
bool is_joined_address(const QString& address);  // "joined:NAME"

class JoinedMachines : public QObject {
  Q_OBJECT
 public:
  explicit JoinedMachines(const Services& services, QObject* parent = nullptr);

  const std::vector<JoinedMachine>& machines() const { return machines_; }  // sorted by name
  const std::vector<ValidInvitation>& invitations() const { return invitations_; }
  // Reason why the machines could not be listed. The previous list is kept.
  const std::optional<base::Problem>& problem() const { return problem_; }
  // If true, lists the machines once a second, even if no listener is found. Otherwise every 2 s,
  // or every 10 s while there are no machines and invitations.
  void set_frequent(bool frequent);
  bool frequent() const { return frequent_; }
  void refresh();  // lists the machines again now

 signals:
  void changed();

 private:
  void tick();
  void read(const HostsLine& line);
  void finish(const base::Problems& problems);
  void take(std::vector<JoinedMachine> machines, std::vector<ValidInvitation> invitations);

  const Services& services_;
  HostsProcess process_;
  QTimer timer_;
  std::vector<JoinedMachine> machines_, read_machines_;
  std::vector<ValidInvitation> invitations_, read_invitations_;
  std::optional<base::Problem> problem_;
  bool frequent_ = false;
  int idle_ticks_ = 0;                // ticks to skip
  QStringList announced_{QString()};  // state at the last `changed`
};

}  // namespace trainyard::ui
