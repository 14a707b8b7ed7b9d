// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/session/hosts/tcp.h"

#include <fmt/core.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>

#include <cerrno>

#include "core/base/clock.h"

namespace trainyard::session {

base::Result<SocketAddress> numeric_address(const std::string& address, int port) {
  addrinfo hints{}, *found = nullptr;
  hints.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV;
  hints.ai_socktype = SOCK_STREAM;
  if (const int error =
          ::getaddrinfo(address.c_str(), std::to_string(port).c_str(), &hints, &found);
      error != 0)
    return base::fail({"bad_address", base::ProblemCode::bad_input, address,
                       "this is not a numeric address", "an IPv4 or IPv6 address",
                       "Correct the address."});
  return SocketAddress(found);
}

std::string place_of(const std::string& host, int port) {
  return host.find(':') == std::string::npos ? fmt::format("{}:{}", host, port)
                                             : fmt::format("[{}]:{}", host, port);
}

std::optional<sockaddr_un> local_address(const std::string& path) {
  sockaddr_un address{};
  if (path.size() >= sizeof address.sun_path) return {};
  address.sun_family = AF_UNIX;
  path.copy(address.sun_path, path.size());
  return address;
}

base::Descriptor open_tcp_socket(const addrinfo& address) {
  return base::Descriptor(
      ::socket(address.ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, IPPROTO_TCP));
}

void disable_delay(int socket) {
  const int yes = 1;
  ::setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
}

int port_of(int socket) {
  sockaddr_storage bound{};
  socklen_t size = sizeof bound;
  ::getsockname(socket, reinterpret_cast<sockaddr*>(&bound), &size);
  return ntohs(bound.ss_family == AF_INET6 ? reinterpret_cast<const sockaddr_in6&>(bound).sin6_port
                                           : reinterpret_cast<const sockaddr_in&>(bound).sin_port);
}

bool wait_for_socket(int socket, short events, std::int64_t end_ns) {
  pollfd item{socket, events, 0};
  const std::int64_t left = (end_ns - base::now_nanoseconds()) / 1'000'000;
  return left > 0 && ::poll(&item, 1, static_cast<int>(left)) > 0;
}

int connect_until(const base::Descriptor& socket, const addrinfo& address, std::int64_t end_ns) {
  if (::connect(socket.get(), address.ai_addr, address.ai_addrlen) == 0) return 0;
  if (errno != EINPROGRESS) return errno;
  if (!wait_for_socket(socket.get(), POLLOUT, end_ns)) return ETIMEDOUT;
  int error = 0;
  socklen_t size = sizeof error;
  ::getsockopt(socket.get(), SOL_SOCKET, SO_ERROR, &error, &size);
  return error;
}

}  // namespace trainyard::session
