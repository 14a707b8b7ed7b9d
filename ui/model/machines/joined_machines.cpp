// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/model/machines/joined_machines.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <utility>

#include "core/session/hosts/listener_messages.h"
#include "ui/model/text/count_text.h"

namespace trainyard::ui {
namespace {

constexpr int kTickMilliseconds = 1000;
constexpr int kListedTicks = 2, kEmptyTicks = 10;  // between two lists
constexpr double kSilentSeconds = 3;

bool has_listener() {
  const auto directory = session::listener_directory();
  std::error_code ignored;
  return directory && std::filesystem::exists(*directory / session::kListenerSocket, ignored);
}

// Returns the values that views show. `changed` is emitted only if one of them has changed.
QStringList shown_state(const std::vector<JoinedMachine>& machines,
                        const std::vector<ValidInvitation>& invitations,
                        const std::optional<base::Problem>& problem) {
  QStringList state{problem ? QString::fromStdString(problem->what) : QString()};
  for (const JoinedMachine& one : machines)
    state << QString::fromStdString(one.machine.destination) << QString::number(one.machine.cores)
          << QString::number(one.machine.memory_bytes) << contact_text(one);
  for (const ValidInvitation& one : invitations)
    state << one.invitation << QString::number(one.machines);
  return state;
}

}  // namespace

QString contact_text(const JoinedMachine& machine) {
  return machine.silent_seconds > kSilentSeconds
             ? QObject::tr("no contact for %1 s").arg(std::lround(machine.silent_seconds))
             : QString();
}

bool is_joined_address(const QString& address) {
  return address.toStdString().starts_with(session::kJoinedPrefix);
}

JoinedMachines::JoinedMachines(const Services& services, QObject* parent)
    : QObject(parent), services_(services) {
  connect(&process_, &HostsProcess::line_read, this, &JoinedMachines::read);
  connect(&process_, &HostsProcess::ended, this, &JoinedMachines::finish);
  connect(&timer_, &QTimer::timeout, this, &JoinedMachines::tick);
  timer_.start(kTickMilliseconds);
  QTimer::singleShot(0, this, &JoinedMachines::tick);
}

void JoinedMachines::set_frequent(bool frequent) {
  frequent_ = frequent;
  if (frequent) refresh();
}

void JoinedMachines::refresh() {
  read_machines_.clear(), read_invitations_.clear();
  process_.start(services_, {"list", "--json"});
}

void JoinedMachines::tick() {
  if (process_.running()) return;
  if (frequent_) return refresh();
  if (!has_listener()) {
    idle_ticks_ = 0;
    problem_.reset();
    return take({}, {});
  }
  if (--idle_ticks_ <= 0) refresh();
}

void JoinedMachines::read(const HostsLine& line) {
  if (line.type == "host" && line.joined)
    read_machines_.push_back({line.machine(), line.seconds, line.silent_seconds});
  else if (line.type == "invitation")
    read_invitations_.push_back({QString::fromStdString(line.invitation), line.machines});
}

void JoinedMachines::finish(const base::Problems& problems) {
  problem_ = problems.empty() ? std::nullopt : std::optional(problems.front());
  if (problem_) read_machines_ = machines_, read_invitations_ = invitations_;
  std::ranges::sort(read_machines_, {}, [](const JoinedMachine& one) { return one.machine.host; });
  idle_ticks_ = read_machines_.empty() && read_invitations_.empty() ? kEmptyTicks : kListedTicks;
  take(std::exchange(read_machines_, {}), std::exchange(read_invitations_, {}));
}

void JoinedMachines::take(std::vector<JoinedMachine> machines,
                          std::vector<ValidInvitation> invitations) {
  machines_ = std::move(machines), invitations_ = std::move(invitations);
  QStringList state = shown_state(machines_, invitations_, problem_);
  if (state == announced_) return;
  announced_ = std::move(state);
  emit changed();
}

}  // namespace trainyard::ui
