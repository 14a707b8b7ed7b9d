// SPDX-License-Identifier: GPL-3.0-or-later
// Decides which keys may connect to a listener: those of its invitations, and those of machines
// that have joined. An address that sends unknown keys is refused for a while. Thread-safe. Times
// are base::now_nanoseconds.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "core/session/hosts/join_messages.h"

namespace trainyard::session {

// Public keys have 32 bytes.
struct IssuedInvitation {
  std::string code{};         // as printed
  std::string key{};          // of clients that know the code
  std::int64_t machines = 1;  // that it still admits
  std::int64_t expires_ns = 0;
};

struct JoinedMachine {
  JoinRequest request{};  // its name is unique among the machines
  std::string key{}, address{};
  std::int64_t expires_ns = 0;  // end of the consent
};

class Admission {
 public:
  static constexpr int kWrongKeys = 5;
  static constexpr std::int64_t kWrongKeySpan = 60'000'000'000;
  // Limits memory: addresses with wrong keys, and machines.
  static constexpr std::size_t kMaxAddresses = 4096, kMaxMachines = 1024;

  void issue(IssuedInvitation invitation);
  // Returns false if there is no such invitation.
  bool withdraw(const std::string& code);
  std::vector<IssuedInvitation> invitations(std::int64_t now_ns) const;

  // True if a client with this key may connect from the address. Counts unknown keys: after
  // kWrongKeys within kWrongKeySpan, an address may not use an invitation.
  bool admits(const std::string& key, const std::string& address, std::int64_t now_ns);
  bool is_machine(const std::string& key) const;
  // Registers a machine whose connection has the key of an invitation. `machine_key`: the key of
  // its further connections. Problems: bad_machine_name, invitation_used, too_many_machines.
  base::Result<JoinedMachine> join(const std::string& key, const std::string& machine_key,
                                   const std::string& address, JoinRequest request,
                                   std::int64_t now_ns);
  // Returns the machines whose consent has not ended. Removes the others.
  std::vector<JoinedMachine> machines(std::int64_t now_ns);
  // Returns false if there is no such machine.
  bool remove(const std::string& name);
  void remove_key(const std::string& key);

 private:
  void forget_old(std::int64_t now_ns);
  std::string unique_name(const std::string& name) const;

  mutable std::mutex mutex_;
  std::vector<IssuedInvitation> invitations_;
  std::map<std::string, JoinedMachine> machines_;          // by key
  std::map<std::string, std::deque<std::int64_t>> wrong_;  // times of unknown keys, by address
};

}  // namespace trainyard::session
