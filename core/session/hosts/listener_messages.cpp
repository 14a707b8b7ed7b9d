// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/session/hosts/listener_messages.h"

#include <sys/socket.h>
#include <sys/stat.h>

#include <cerrno>

#include "core/session/hosts/message_text.h"
#include "core/session/hosts/tcp.h"
#include "core/session/system/run_directory.h"

namespace trainyard::base {

namespace {

using namespace trainyard::session;

constexpr Range kListenerText{0, 10'000}, kListenerCount{0, 9e18}, kListenerSeconds{0, 1e9};

}  // namespace

template <>
struct Fields<InviteMachines> {
  static constexpr std::string_view title = "invite";
  static auto table() {
    return std::tuple{
        field("machines", &InviteMachines::machines, "", {1, 1000}, "Machines to admit"),
        field("seconds", &InviteMachines::seconds, "s", kListenerSeconds, "Time to its end")};
  }
};

template <>
struct Fields<WithdrawInvitation> {
  static constexpr std::string_view title = "withdraw";
  static auto table() {
    return std::tuple{
        field("code", &WithdrawInvitation::code, "", kListenerText, "Code of the invitation")};
  }
};

template <>
struct Fields<ListJoined> {
  static constexpr std::string_view title = "list";
  static auto table() { return std::tuple{}; }
};

template <>
struct Fields<RemoveJoined> {
  static constexpr std::string_view title = "remove";
  static auto table() {
    return std::tuple{field("name", &RemoveJoined::name, "", kListenerText, "Name of the machine")};
  }
};

template <>
struct Fields<OpenJoined> {
  static constexpr std::string_view title = "open";
  static auto table() {
    return std::tuple{field("name", &OpenJoined::name, "", kListenerText, "Name of the machine")};
  }
};

template <>
struct Fields<StopListener> {
  static constexpr std::string_view title = "stop";
  static auto table() { return std::tuple{}; }
};

template <>
struct Fields<Invited> {
  static constexpr std::string_view title = "invited";
  static auto table() {
    return std::tuple{
        field("invitation", &Invited::invitation, "", kListenerText, "HOST:PORT/CODE"),
        field("machines", &Invited::machines, "", kListenerCount, "Machines that it still admits"),
        field("seconds", &Invited::seconds, "s", kListenerSeconds, "Time until it expires")};
  }
};

template <>
struct Fields<JoinedState> {
  using J = JoinedState;
  static constexpr std::string_view title = "machine";
  static auto table() {
    return std::tuple{
        field("name", &J::name, "", kListenerText, "Name of the machine"),
        field("address", &J::address, "", kListenerText, "Address from which it joined"),
        field("software", &J::software, "", kListenerText, "Version of its agent"),
        field("architecture", &J::architecture, "", kListenerText, "Architecture"),
        field("cores", &J::cores, "cores", kListenerCount, "Cores that ranks may use"),
        field("memory_bytes", &J::memory_bytes, "bytes", kListenerCount,
              "Memory that ranks may use"),
        field("seconds", &J::seconds, "s", kListenerSeconds, "Time until its consent ends"),
        field("silent_seconds", &J::silent_seconds, "s", kListenerSeconds,
              "Time since anything arrived"),
        field("sessions", &J::sessions, "", kListenerCount, "Sessions with coordinators")};
  }
};

template <>
struct Fields<ListenerState> {
  using S = ListenerState;
  static constexpr std::string_view title = "listener";
  static auto table() {
    return std::tuple{
        field("address", &S::address, "", kListenerText, "Address and port of the listener"),
        field("invitations", &S::invitations, "", {0, 10'000}, "Valid invitations"),
        field("machines", &S::machines, "", {0, 10'000}, "Joined machines")};
  }
};

template <>
struct Fields<ListenerOpened> {
  static constexpr std::string_view title = "opened";
  static auto table() { return std::tuple{}; }
};

template <>
struct Fields<ListenerDone> {
  static constexpr std::string_view title = "done";
  static auto table() { return std::tuple{}; }
};

}  // namespace trainyard::base

namespace trainyard::session {
namespace {

using base::Descriptor;
using base::Problem;
using base::ProblemCode;
using base::Result;

constexpr std::size_t kMaxAnswerBytes = std::size_t{4} << 20;
constexpr time_t kListenerAnswerSeconds = 10;

Problem no_listener() {
  return {"no_listener",
          ProblemCode::unavailable,
          "listener",
          "no listener of this user runs on this machine",
          "",
          "Start it with trainyard-cli hosts listen, and join the machines again."};
}

Result<Descriptor> connect_to_listener() {
  const auto directory = listener_directory();
  if (!directory) return base::fail(directory.error());
  const auto address = local_address(*directory / kListenerSocket);
  if (!address) return base::fail(no_listener());
  Descriptor socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const timeval limit{kListenerAnswerSeconds, 0};
  ::setsockopt(socket.get(), SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
  ::setsockopt(socket.get(), SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
  if (::connect(socket.get(), reinterpret_cast<const sockaddr*>(&*address), sizeof *address) != 0)
    return base::fail(no_listener());
  return socket;
}

// Sends the request, and reads exactly one line, because bytes of a session may follow it.
Result<ListenerAnswer> ask(const Descriptor& socket, const ListenerRequest& request) {
  const std::string text = to_text(request) + "\n";
  if (::send(socket.get(), text.data(), text.size(), MSG_NOSIGNAL) !=
      static_cast<ssize_t>(text.size()))
    return base::fail(no_listener());
  std::string line;
  for (char byte = 0; line.size() < kMaxAnswerBytes; line += byte) {
    if (::recv(socket.get(), &byte, 1, 0) != 1)
      return base::fail({"listener_unresponsive", ProblemCode::unavailable, "listener",
                         "the listener did not answer", "",
                         "End it with trainyard-cli hosts listen --stop, and start it again."});
    if (byte == '\n') break;
  }
  auto answer = listener_answer_from(line);
  if (!answer) return answer;
  if (const auto* refusal = std::get_if<Refusal>(&*answer))
    return base::fail(problem_of(*refusal, "listener"));
  return answer;
}

}  // namespace

std::string to_text(const ListenerRequest& request) { return text_of_message(request); }
std::string to_text(const ListenerAnswer& answer) { return text_of_message(answer); }

Result<ListenerRequest> listener_request_from(const std::string& text) {
  return message_from_text<ListenerRequest>(text, "listener");
}
Result<ListenerAnswer> listener_answer_from(const std::string& text) {
  return message_from_text<ListenerAnswer>(text, "listener");
}

Result<std::filesystem::path> listener_directory() {
  const auto runtime = make_runtime_directory();
  if (!runtime) return base::fail(runtime.error());
  const std::filesystem::path directory = *runtime / "listener";
  if (::mkdir(directory.c_str(), 0700) != 0 && errno != EEXIST)
    return base::fail(base::system_problem(directory.string(), "cannot make the directory", errno));
  return directory;
}

Result<ListenerAnswer> ask_listener(const ListenerRequest& request) {
  const auto socket = connect_to_listener();
  if (!socket) return base::fail(socket.error());
  return ask(*socket, request);
}

Result<Descriptor> open_joined(const std::string& name) {
  auto socket = connect_to_listener();
  if (!socket) return base::fail(socket.error());
  auto answer = ask(*socket, OpenJoined{name});
  if (!answer) return base::fail(answer.error());
  return socket;
}

}  // namespace trainyard::session
