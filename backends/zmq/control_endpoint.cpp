// SPDX-License-Identifier: GPL-3.0-or-later
#include "backends/zmq/control_endpoint.h"

#include <arpa/inet.h>
#include <fmt/core.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstring>
#include <filesystem>

#include "core/session/hosts/tcp.h"

namespace trainyard::zmq {
namespace {

using base::Problem;
using base::ProblemCode;
using base::Result;

constexpr std::string_view kIpc = "ipc://", kTcp = "tcp://";
constexpr std::size_t kMaxPathLength = sizeof(sockaddr_un::sun_path) - 1;

Problem problem(const char* id, ProblemCode code, const std::string& endpoint, std::string what,
                std::string accepted = "", std::string advice = "") {
  return {id, code, endpoint, std::move(what), std::move(accepted), std::move(advice)};
}

std::string path_of(const std::string& endpoint) {
  return endpoint.starts_with(kIpc) ? endpoint.substr(kIpc.size()) : "";
}

// True if `text` is a number from 1 to 65535, or "*" (the system chooses a port) if `may_choose`.
// This check is needed because ZeroMQ would read 99999 as 34463.
bool is_port(std::string_view text, bool may_choose) {
  unsigned port = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), port);
  return (may_choose && text == "*") ||
         (error == std::errc{} && end == text.data() + text.size() && port >= 1 && port <= 65'535);
}

// True for an address in 127.0.0.0/8. Host names are refused, because they can resolve to any
// address.
bool is_loopback(const std::string& address) {
  in_addr parsed{};
  return ::inet_pton(AF_INET, address.c_str(), &parsed) == 1 && ntohl(parsed.s_addr) >> 24 == 127;
}

Result<void> check_tcp(const std::string& endpoint, bool may_choose_port) {
  const std::size_t colon = endpoint.rfind(':');
  const std::string address =
      colon < kTcp.size() ? "" : endpoint.substr(kTcp.size(), colon - kTcp.size());
  if (!is_loopback(address))
    return base::fail(problem("endpoint_not_local", ProblemCode::refused, endpoint,
                              "the endpoint is not a loopback address", "tcp://127.0.0.1:PORT"));
  if (is_port(std::string_view(endpoint).substr(colon + 1), may_choose_port)) return {};
  return base::fail(problem("bad_endpoint", ProblemCode::bad_input, endpoint,
                            "the endpoint has no port", "a port of 1 to 65535"));
}

Result<void> check_ipc(const std::string& endpoint) {
  const std::string path = path_of(endpoint);
  if (!path.starts_with('/'))
    return base::fail(problem("bad_endpoint", ProblemCode::bad_input, endpoint,
                              "this is not an endpoint of the control plane",
                              "ipc:///PATH, tcp://127.0.0.1:PORT"));
  if (path.size() <= kMaxPathLength) return {};
  return base::fail(problem("path_too_long", ProblemCode::bad_input, endpoint,
                            fmt::format("the path has {} bytes", path.size()),
                            fmt::format("up to {} bytes", kMaxPathLength),
                            "Set XDG_RUNTIME_DIR to a shorter path."));
}

// Returns a problem if other users can enter the directory. The permissions of the socket itself do
// not protect it, because they depend on the umask.
Result<void> check_directory(const std::string& endpoint) {
  const auto directory = std::filesystem::path(path_of(endpoint)).parent_path();
  struct stat status {};
  if (::stat(directory.c_str(), &status) != 0)
    return base::fail(
        base::system_problem(endpoint, "cannot use the directory of the endpoint", errno));
  if (status.st_uid == ::geteuid() && (status.st_mode & 077) == 0) return {};
  return base::fail(problem("directory_not_private", ProblemCode::refused, endpoint,
                            "other users can enter the directory",
                            "a directory of this user with mode 0700",
                            "Use chmod 700, or another directory."));
}

// Tries to connect to the socket file `path`. Returns 0 if a server answers, otherwise errno.
int try_connect(const std::string& path) {
  const auto address = session::local_address(path);
  if (!address) return ENAMETOOLONG;
  const base::Descriptor socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!socket.is_open()) return errno;
  const auto* const at = reinterpret_cast<const sockaddr*>(&*address);
  return ::connect(socket.get(), at, sizeof *address) == 0 ? 0 : errno;
}

Result<void> check_free(const std::string& endpoint) {
  const std::string path = path_of(endpoint);
  struct stat status {};
  if (::lstat(path.c_str(), &status) != 0) return {};
  if (!S_ISSOCK(status.st_mode))
    return base::fail(problem("path_taken", ProblemCode::unavailable, endpoint,
                              "a file that is not a socket has this path", "",
                              "Move the file away."));
  if (try_connect(path) == ECONNREFUSED) return {};
  return base::fail(problem("endpoint_in_use", ProblemCode::unavailable, endpoint,
                            "another server uses this endpoint", "",
                            "Stop that run, or attach to it."));
}

}  // namespace

Result<void> check_connect_endpoint(const std::string& endpoint) {
  return endpoint.starts_with(kTcp) ? check_tcp(endpoint, false) : check_ipc(endpoint);
}

Result<void> check_bind_endpoint(const std::string& endpoint) {
  if (endpoint.starts_with(kTcp)) return check_tcp(endpoint, true);
  if (auto ok = check_ipc(endpoint); !ok) return ok;
  if (auto ok = check_directory(endpoint); !ok) return ok;
  return check_free(endpoint);
}

void configure_control(::zmq::socket_t& socket, std::size_t max_bytes) {
  using namespace ::zmq;
  socket.set(sockopt::maxmsgsize, static_cast<std::int64_t>(max_bytes));
  socket.set(sockopt::sndhwm, kQueueMessages);
  socket.set(sockopt::rcvhwm, kQueueMessages);
  socket.set(sockopt::linger, 2000);
  socket.set(sockopt::handshake_ivl, 2000);
  socket.set(sockopt::connect_timeout, 5000);
}

}  // namespace trainyard::zmq
