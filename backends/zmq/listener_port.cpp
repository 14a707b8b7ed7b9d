// SPDX-License-Identifier: GPL-3.0-or-later
#include "backends/zmq/listener_port.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <fmt/core.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "core/base/clock.h"
#include "core/session/hosts/tcp.h"

namespace trainyard::zmq {
namespace {

using base::Descriptor;
using base::Problem;
using base::Result;

constexpr std::int64_t kFirstBytesNs = 2'000'000'000;  // limit of the time until the first bytes
constexpr int kTickMilliseconds = 200;
constexpr std::size_t kBufferBytes = std::size_t{64} << 10;
// First byte of ZMTP 3 (RFC 37 of ZeroMQ).
constexpr char kZmtp = '\xff';
constexpr int kSocketFlags = SOCK_CLOEXEC | SOCK_NONBLOCK;

std::string numeric_address(const sockaddr_storage& address, socklen_t length) {
  std::array<char, INET6_ADDRSTRLEN + 32> text{};
  ::getnameinfo(reinterpret_cast<const sockaddr*>(&address), length, text.data(), text.size(),
                nullptr, 0, NI_NUMERICHOST);
  return text.data();
}

Result<Descriptor> listen_at(const std::string& address, int port) {
  const auto at = session::numeric_address(address, port);
  if (!at) return base::fail(at.error());
  Descriptor socket = session::open_tcp_socket(**at);
  const int yes = 1;
  ::setsockopt(socket.get(), SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  if (::bind(socket.get(), (*at)->ai_addr, (*at)->ai_addrlen) != 0 ||
      ::listen(socket.get(), SOMAXCONN) != 0) {
    Problem problem =
        base::system_problem(fmt::format("{} port {}", address, port), "cannot listen", errno);
    problem.id = "cannot_listen";
    problem.advice = "Choose another --port, or an --address of this machine.";
    return base::fail(std::move(problem));
  }
  return socket;
}

sockaddr_in address_of(std::uint32_t host, int port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  address.sin_addr.s_addr = htonl(host);
  return address;
}

}  // namespace

void RemoteAddresses::set(const std::string& loopback, const std::string& remote) {
  const std::lock_guard lock(mutex_);
  remotes_[loopback] = remote;
}

void RemoteAddresses::forget(const std::string& loopback) {
  const std::lock_guard lock(mutex_);
  remotes_.erase(loopback);
}

std::string RemoteAddresses::of(const std::string& loopback) const {
  const std::lock_guard lock(mutex_);
  const auto known = remotes_.find(loopback);
  return known == remotes_.end() ? loopback : known->second;
}

// One direction of a connection that is passed on.
struct ListenerPort::Direction {
  std::string bytes{};
  std::size_t sent = 0;
  bool has_ended = false;  // the source closed its direction

  bool is_empty() const { return sent == bytes.size(); }

  // Returns false if a side failed.
  bool move(int from, int to, bool can_read) {
    if (can_read && is_empty() && !has_ended) {
      bytes.resize(kBufferBytes);
      const ssize_t got = ::recv(from, bytes.data(), bytes.size(), 0);
      const int error = errno;
      bytes.resize(static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
      sent = 0;
      if (got < 0 && error != EAGAIN && error != EINTR) return false;
      has_ended = got == 0;
      if (has_ended) ::shutdown(to, SHUT_WR);
    }
    while (!is_empty()) {
      const ssize_t put = ::send(to, bytes.data() + sent, bytes.size() - sent, MSG_NOSIGNAL);
      if (put < 0) return errno == EAGAIN || errno == EINTR;
      sent += static_cast<std::size_t>(put);
    }
    return true;
  }
};

struct ListenerPort::Connection {
  Descriptor client;
  std::string address;
  std::int64_t since_ns;
  std::string first{};  // bytes until it is known what the client wants
  Descriptor upstream{-1};
  std::string loopback_address{};
  Direction to_upstream{}, to_client{};
  bool is_over = false;

  short wanted(const Direction& reads, const Direction& writes) const {
    return static_cast<short>((reads.is_empty() && !reads.has_ended ? POLLIN : 0) |
                              (writes.is_empty() ? 0 : POLLOUT));
  }
};

Result<std::unique_ptr<ListenerPort>> ListenerPort::open(const std::string& address, int port,
                                                         const std::string& public_key,
                                                         int upstream_port,
                                                         std::shared_ptr<RemoteAddresses> remotes) {
  auto listening = listen_at(address, port);
  if (!listening) return base::fail(listening.error());
  std::array<int, 2> stop{};
  if (::pipe2(stop.data(), O_CLOEXEC | O_NONBLOCK) != 0)
    return base::fail(base::system_problem(address, "cannot make a pipe", errno));
  std::unique_ptr<ListenerPort> opened(
      new ListenerPort(std::move(*listening), public_key, upstream_port, std::move(remotes)));
  opened->stop_reading_ = Descriptor(stop[0]);
  opened->stop_writing_ = Descriptor(stop[1]);
  opened->thread_ = std::thread([raw = opened.get()] { raw->serve(); });
  return opened;
}

ListenerPort::ListenerPort(Descriptor listening, const std::string& public_key, int upstream_port,
                           std::shared_ptr<RemoteAddresses> remotes)
    : listening_(std::move(listening)),
      key_answer_(fmt::format("{}{}\n", kKeyAnswer, public_key)),
      port_(session::port_of(listening_.get())),
      upstream_port_(upstream_port),
      remotes_(std::move(remotes)) {}

ListenerPort::~ListenerPort() {
  stop_writing_.close();
  if (thread_.joinable()) thread_.join();
}

void ListenerPort::serve() {
  while (true) {
    std::vector<pollfd> items{{stop_reading_.get(), POLLIN, 0}, {listening_.get(), POLLIN, 0}};
    for (const auto& connection : connections_) {
      items.push_back({connection->client.get(),
                       connection->wanted(connection->to_upstream, connection->to_client), 0});
      items.push_back({connection->upstream.get(),
                       connection->wanted(connection->to_client, connection->to_upstream), 0});
    }
    ::poll(items.data(), items.size(), kTickMilliseconds);
    if (items[0].revents != 0) return;
    for (std::size_t i = 0; i < connections_.size(); ++i)
      serve_connection(*connections_[i], items[2 + 2 * i].revents, items[3 + 2 * i].revents);
    for (const auto& connection : connections_)
      if (connection->is_over) remotes_->forget(connection->loopback_address);
    std::erase_if(connections_, [](const auto& connection) { return connection->is_over; });
    if (items[1].revents != 0) accept();
  }
}

void ListenerPort::accept() {
  while (true) {
    sockaddr_storage address{};
    socklen_t length = sizeof address;
    Descriptor client(
        ::accept4(listening_.get(), reinterpret_cast<sockaddr*>(&address), &length, kSocketFlags));
    if (!client.is_open()) return;
    session::disable_delay(client.get());
    std::string name = numeric_address(address, length);
    const auto of_address = std::ranges::count_if(
        connections_, [&](const auto& connection) { return connection->address == name; });
    if (connections_.size() >= kMaxConnections ||
        of_address >= static_cast<std::ptrdiff_t>(kMaxConnectionsPerAddress))
      continue;  // closes the connection
    connections_.push_back(std::make_unique<Connection>(
        Connection{std::move(client), std::move(name), base::now_nanoseconds()}));
  }
}

void ListenerPort::serve_connection(Connection& connection, short client_events,
                                    short upstream_events) {
  if (!connection.upstream.is_open()) {
    if (client_events != 0) read_first(connection);
    if (!connection.upstream.is_open() &&
        base::now_nanoseconds() - connection.since_ns > kFirstBytesNs)
      connection.is_over = true;
    return;
  }
  constexpr short kReadable = POLLIN | POLLHUP | POLLERR;
  const bool moved = connection.to_upstream.move(connection.client.get(), connection.upstream.get(),
                                                 (client_events & kReadable) != 0) &&
                     connection.to_client.move(connection.upstream.get(), connection.client.get(),
                                               (upstream_events & kReadable) != 0);
  // ZMTP has no use for half of a connection
  connection.is_over = !moved ||
                       (connection.to_upstream.has_ended && connection.to_upstream.is_empty()) ||
                       (connection.to_client.has_ended && connection.to_client.is_empty());
}

void ListenerPort::read_first(Connection& connection) {
  std::array<char, 64> bytes{};
  const ssize_t got = ::recv(connection.client.get(), bytes.data(), bytes.size(), 0);
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (got <= 0) {
    connection.is_over = true;
    return;
  }
  connection.first.append(bytes.data(), static_cast<std::size_t>(got));
  if (connection.first.front() == kZmtp) return connect_upstream(connection);
  if (connection.first == kKeyRequest)
    static_cast<void>(
        ::send(connection.client.get(), key_answer_.data(), key_answer_.size(), MSG_NOSIGNAL));
  connection.is_over =
      !kKeyRequest.starts_with(connection.first) || connection.first == kKeyRequest;
}

void ListenerPort::connect_upstream(Connection& connection) {
  constexpr std::uint32_t kFirst = 0x7f400000, kAddresses = 0x3ffffe;  // 127.64.0.0/10
  connection.upstream = Descriptor(::socket(AF_INET, SOCK_STREAM | kSocketFlags, IPPROTO_TCP));
  session::disable_delay(connection.upstream.get());
  const sockaddr_in from = address_of(kFirst + next_loopback_, 0),
                    to = address_of(INADDR_LOOPBACK, upstream_port_);
  next_loopback_ = next_loopback_ % kAddresses + 1;
  std::array<char, INET_ADDRSTRLEN> text{};
  ::inet_ntop(AF_INET, &from.sin_addr, text.data(), text.size());
  connection.loopback_address = text.data();
  remotes_->set(connection.loopback_address, connection.address);
  const bool is_bound =
      ::bind(connection.upstream.get(), reinterpret_cast<const sockaddr*>(&from), sizeof from) == 0;
  const int connected =
      ::connect(connection.upstream.get(), reinterpret_cast<const sockaddr*>(&to), sizeof to);
  connection.is_over = !is_bound || (connected != 0 && errno != EINPROGRESS);
  connection.to_upstream.bytes = std::move(connection.first);
}

}  // namespace trainyard::zmq
