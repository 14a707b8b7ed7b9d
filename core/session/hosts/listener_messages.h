// SPDX-License-Identifier: GPL-3.0-or-later
// Requests of this user's programs to the listener, one line of JSON over its local socket, and the
// answers. After `opened`, the connection carries the bytes of a session with the machine's agent.
#pragma once

#include <filesystem>
#include <string>
#include <variant>
#include <vector>

#include "core/base/descriptor.h"
#include "core/base/field_table.h"
#include "core/base/result.h"
#include "core/session/hosts/refusal.h"

namespace trainyard::session {

// Prefix of the address of a host that is a joined machine.
inline constexpr std::string_view kJoinedPrefix = "joined:";

struct InviteMachines {
  std::int64_t machines = 1;
  double seconds = 3600;
};
struct WithdrawInvitation {
  std::string code{};
};
struct ListJoined {};
struct RemoveJoined {
  std::string name{};
};
struct OpenJoined {
  std::string name{};
};
struct StopListener {};

using ListenerRequest = std::variant<InviteMachines, WithdrawInvitation, ListJoined, RemoveJoined,
                                     OpenJoined, StopListener>;

struct Invited {
  std::string invitation{};  // as text
  std::int64_t machines = 1;
  double seconds = 0;  // until it expires
};
// A joined machine, as the listener knows it.
struct JoinedState {
  std::string name{}, address{}, software{}, architecture{};
  std::int64_t cores = 1, memory_bytes = 0;
  double seconds = 0;         // until its consent ends
  double silent_seconds = 0;  // since anything arrived from it
  std::int64_t sessions = 0;  // with coordinators
};
struct ListenerState {
  std::string address{};  // at which it listens, with the port
  std::vector<Invited> invitations{};
  std::vector<JoinedState> machines{};
};
struct ListenerOpened {};
struct ListenerDone {};

using ListenerAnswer = std::variant<Invited, ListenerState, ListenerOpened, ListenerDone, Refusal>;

std::string to_text(const ListenerRequest& request);
std::string to_text(const ListenerAnswer& answer);
base::Result<ListenerRequest> listener_request_from(const std::string& text);
base::Result<ListenerAnswer> listener_answer_from(const std::string& text);

// Returns the directory of the listener's socket, lock and log, mode 0700. Creates it.
base::Result<std::filesystem::path> listener_directory();
inline constexpr std::string_view kListenerSocket = "socket", kListenerLog = "log";

// Sends a request to this user's listener. Problems: no_listener, and those of the answer.
base::Result<ListenerAnswer> ask_listener(const ListenerRequest& request);
// Opens a session with the agent of a machine. Returns the socket that carries its bytes.
base::Result<base::Descriptor> open_joined(const std::string& name);

}  // namespace trainyard::session
