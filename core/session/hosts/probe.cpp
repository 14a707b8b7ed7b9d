// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/session/hosts/probe.h"

#include <fmt/core.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>
#include <string_view>
#include <vector>

#include "core/base/clock.h"
#include "core/session/hosts/tcp.h"

// A probe: the token, then `kPings` bytes, each of which is returned, then bulk until the client
// closes its direction; the listener answers with one byte.
namespace trainyard::session {
namespace {

using base::Descriptor;
using base::Problem;
using base::ProblemCode;
using base::Result;
using std::chrono::milliseconds;

constexpr int kPings = 20;
constexpr std::size_t kBlockBytes = std::size_t{64} << 10;
constexpr std::int64_t kBulkNs = 300'000'000;

// A nonblocking connection with a time limit for everything.
class Connection {
 public:
  Connection(Descriptor socket, std::int64_t end_ns) : socket_(std::move(socket)), end_ns_(end_ns) {
    disable_delay(socket_.get());
  }

  bool send(std::string_view bytes) const {
    while (!bytes.empty()) {
      const ssize_t sent = ::send(socket_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (sent > 0) bytes.remove_prefix(static_cast<std::size_t>(sent));
      else if (errno != EAGAIN && errno != EINTR) return false;
      else if (!wait(POLLOUT)) return false;
    }
    return true;
  }

  // Receives exactly the bytes.
  bool receive(char* bytes, std::size_t count) const {
    while (count > 0) {
      const ssize_t got = receive_some(bytes, count);
      if (got <= 0) return false;
      bytes += got;
      count -= static_cast<std::size_t>(got);
    }
    return true;
  }

  // Receives until the peer closes its direction.
  bool drain() const {
    std::vector<char> block(kBlockBytes);
    ssize_t got = 0;
    while ((got = receive_some(block.data(), block.size())) > 0) {
    }
    return got == 0;
  }

  void close_sending() const { ::shutdown(socket_.get(), SHUT_WR); }

  bool wait(short events) const { return wait_for_socket(socket_.get(), events, end_ns_); }

 private:
  ssize_t receive_some(char* bytes, std::size_t count) const {
    while (true) {
      const ssize_t got = ::recv(socket_.get(), bytes, count, 0);
      if (got >= 0 || (errno != EAGAIN && errno != EINTR)) return got;
      if (!wait(POLLIN)) return -1;
    }
  }

  Descriptor socket_;
  std::int64_t end_ns_;
};

Problem unreachable(const std::string& address, int port, int error) {
  return {"port_unreachable",
          ProblemCode::unavailable,
          place_of(address, port),
          fmt::format("no connection: {}", std::strerror(error)),
          "a TCP connection between all machines of the run",
          "Open the firewall for TCP between these machines, or correct the route."};
}

bool answer_probe(const Connection& connection, const std::string& token) {
  std::string first(token.size(), '\0');
  if (!connection.receive(first.data(), first.size()) || first != token) return false;
  for (int ping = 0; ping < kPings; ++ping) {
    char byte = 0;
    if (!connection.receive(&byte, 1) || !connection.send({&byte, 1})) return false;
  }
  return connection.drain() && connection.send("k");
}

}  // namespace

Result<ProbeListener> ProbeListener::listen(const std::string& address, std::string token) {
  const auto at = numeric_address(address, 0);
  if (!at) return base::fail(at.error());
  Descriptor socket = open_tcp_socket(**at);
  if (!socket.is_open() || ::bind(socket.get(), (*at)->ai_addr, (*at)->ai_addrlen) != 0 ||
      ::listen(socket.get(), 4) != 0)
    return base::fail(base::system_problem(address, "cannot listen at the address", errno));
  const int port = port_of(socket.get());
  return ProbeListener(std::move(socket), port, std::move(token));
}

Result<void> ProbeListener::answer(milliseconds limit) const {
  const std::int64_t end = base::now_nanoseconds() + std::chrono::nanoseconds(limit).count();
  while (base::now_nanoseconds() < end) {
    pollfd item{socket_.get(), POLLIN, 0};
    const std::int64_t left = (end - base::now_nanoseconds()) / 1'000'000;
    if (::poll(&item, 1, static_cast<int>(std::max<std::int64_t>(0, left))) <= 0) continue;
    Descriptor accepted(::accept4(socket_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (accepted.is_open() && answer_probe(Connection(std::move(accepted), end), token_)) return {};
  }
  return base::fail(Problem{"no_probe", ProblemCode::unavailable, std::to_string(port_),
                            "no probe arrived", "", ""});
}

Result<ProbeFigures> probe(const std::string& address, int port, const std::string& token,
                           milliseconds limit) {
  const auto at = numeric_address(address, port);
  if (!at) return base::fail(at.error());
  const std::int64_t end = base::now_nanoseconds() + std::chrono::nanoseconds(limit).count();
  Descriptor socket = open_tcp_socket(**at);
  if (!socket.is_open()) return base::fail(unreachable(address, port, errno));
  if (const int error = connect_until(socket, **at, end); error != 0)
    return base::fail(unreachable(address, port, error));
  const Connection connection(std::move(socket), end);
  if (!connection.send(token)) return base::fail(unreachable(address, port, ECONNRESET));
  std::int64_t shortest = limit.count() * 1'000'000;
  for (int ping = 0; ping < kPings; ++ping) {
    char byte = '.';
    const std::int64_t sent = base::now_nanoseconds();
    if (!connection.send({&byte, 1}) || !connection.receive(&byte, 1))
      return base::fail(unreachable(address, port, ECONNRESET));
    shortest = std::min(shortest, base::now_nanoseconds() - sent);
  }
  const std::string block(kBlockBytes, 'x');
  const std::int64_t begun = base::now_nanoseconds();
  std::int64_t bytes = 0;
  bool arrived = true;
  for (; arrived && base::now_nanoseconds() - begun < kBulkNs; bytes += std::ssize(block))
    arrived = connection.send(block);
  connection.close_sending();
  char done = 0;
  if (!arrived || !connection.receive(&done, 1))
    return base::fail(
        Problem{"large_packets_lost", ProblemCode::unavailable, place_of(address, port),
                "a connection is made and short messages arrive, but a bulk of data does not",
                "packets of full size in both directions",
                "Lower the MTU of the interface, or allow ICMP \"fragmentation needed\" in "
                "firewalls on the way."});
  return ProbeFigures{
      base::seconds(shortest) / 2,
      8.0 * static_cast<double>(bytes) / base::seconds(base::now_nanoseconds() - begun)};
}

}  // namespace trainyard::session
