// SPDX-License-Identifier: GPL-3.0-or-later
#include "backends/zmq/control.h"

#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <random>
#include <span>
#include <unordered_map>
#include <zmq.hpp>

#include "backends/zmq/codec.h"
#include "backends/zmq/control_endpoint.h"
#include "core/base/clock.h"
#include "core/base/hash.h"
#include "core/base/log.h"

namespace trainyard::zmq {
namespace {

using base::Problem;
using base::ProblemCode;
using base::Result;
using std::chrono::milliseconds;

constexpr int kQueueMessages = 1000;  // limit of queued messages, per direction and peer
constexpr std::size_t kRememberedPeers = 4096;

Problem problem(const std::string& endpoint, const std::string& what, int error_number) {
  return {"control_connection_failed",
          ProblemCode::unavailable,
          endpoint,
          fmt::format("{}: {}", what, zmq_strerror(error_number)),
          "",
          ""};
}

void configure_control(::zmq::socket_t& socket) {
  using namespace ::zmq;
  socket.set(sockopt::maxmsgsize, static_cast<std::int64_t>(kMaxControlBytes));
  socket.set(sockopt::sndhwm, kQueueMessages);
  socket.set(sockopt::rcvhwm, kQueueMessages);
  socket.set(sockopt::linger, 2000);
  socket.set(sockopt::handshake_ivl, 2000);
  socket.set(sockopt::connect_timeout, 5000);
}

// Returns 32 hexadecimal digits that cannot be guessed.
std::string random_routing_id() {
  std::random_device entropy;
  const auto draw = [&entropy] { return std::uint64_t{entropy()} << 32 | entropy(); };
  const std::uint64_t first = draw();
  return base::hex(first) + base::hex(draw());
}

std::span<const std::byte> bytes_of(const ::zmq::message_t& part) {
  return {part.data<std::byte>(), part.size()};
}

// Receives the next message into `parts`, without waiting. Returns false if there is none. `whole`
// becomes true if the message has exactly `parts.size()` parts.
bool take_parts(::zmq::socket_t& socket, std::span<::zmq::message_t> parts, bool& whole) {
  std::size_t count = 0;
  ::zmq::message_t rest;
  do {
    ::zmq::message_t& part = count < parts.size() ? parts[count] : rest;
    if (zmq_msg_recv(part.handle(), socket.handle(), ZMQ_DONTWAIT) < 0) return false;
    ++count;
    whole = count == parts.size() && !part.more();
    if (!part.more()) return true;
  } while (true);
}

// Waits until `socket` may have a message, or until the time `end` in nanoseconds. Returns true if
// there may be a message, and false after a time-out or a signal.
Result<bool> wait(::zmq::socket_t& socket, std::int64_t end, const std::string& endpoint) {
  zmq_pollitem_t item{socket.handle(), 0, ZMQ_POLLIN, 0};
  int ready = 0;
  do {  // zmq_poll has a coarse clock: it may return half a millisecond early
    const std::int64_t left = std::max<std::int64_t>(0, end - base::now_nanoseconds());
    ready = zmq_poll(&item, 1, static_cast<long>((left + 999'999) / 1'000'000));
  } while (ready == 0 && base::now_nanoseconds() < end);
  if (ready < 0 && zmq_errno() != EINTR)
    return base::fail(problem(endpoint, "cannot wait for messages", zmq_errno()));
  return ready > 0;
}

std::int64_t end_of(milliseconds limit) {
  return base::now_nanoseconds() + std::chrono::nanoseconds(limit).count();
}

class Server final : public session::ControlServer {
 public:
  Server(const std::string& endpoint, const ServeOptions& options)
      : socket_(context_, ::zmq::socket_type::router),
        header_{base::xxh64(std::string_view(options.run)), options.generation,
                static_cast<std::uint64_t>(
                    // Starts sequence numbers at the current time, so that those of a restarted
                    // server are higher than those of its predecessor.
                    base::now_nanoseconds())} {
    configure_control(socket_);
    // Allows a client to reconnect under the same routing id, even if this server has not detected
    // yet that the client's old connection is lost.
    socket_.set(::zmq::sockopt::router_handover, true);
    socket_.bind(endpoint);
    endpoint_ = socket_.get(::zmq::sockopt::last_endpoint);
  }

  // Removes the socket file before the socket closes. Afterwards, the file could already be that of
  // another server.
  ~Server() override {
    if (endpoint_.starts_with("ipc://")) ::unlink(endpoint_.c_str() + 6);
  }
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  std::string endpoint() const override { return endpoint_; }
  std::uint64_t malformed() const override { return malformed_; }

  Result<std::optional<session::Received>> receive(milliseconds limit) override {
    const std::int64_t end = end_of(limit);
    do {
      const auto ready = wait(socket_, end, endpoint_);
      if (!ready) return base::fail(ready.error());
      if (!*ready) break;
      if (auto received = take()) return received;
    } while (base::now_nanoseconds() < end);
    return std::nullopt;
  }

  void send(const session::PeerId& to, const session::Message& message) override {
    ++header_.sequence;
    const auto frame = encode_message(header_, message);
    if (!frame)
      return base::log_error(
          fmt::format("A message was not sent: {}", base::to_string(frame.error())));
    if (zmq_send(socket_.handle(), to.data(), to.size(), ZMQ_DONTWAIT | ZMQ_SNDMORE) < 0) return;
    zmq_send(socket_.handle(), frame->data(), frame->size(), ZMQ_DONTWAIT);
  }

 private:
  std::optional<session::Received> take() {
    std::array<::zmq::message_t, 2> parts;
    bool whole = false;
    if (!take_parts(socket_, parts, whole)) return std::nullopt;
    auto frame = whole ? decode_message(bytes_of(parts[1])) : base::fail(Problem{});
    session::PeerId peer = parts[0].to_string();
    if (frame && is_of_this_run(frame->header) && is_newer(peer, frame->header.sequence))
      return session::Received{std::move(peer), std::move(frame->message)};
    ++malformed_;
    return std::nullopt;
  }

  // True if the frame belongs to the run of this server. A client that has received no frame yet
  // does not know the run, so it sends 0.
  bool is_of_this_run(const ControlHeader& header) const {
    return header.run == 0 ||
           (header.run == header_.run && header.generation == header_.generation);
  }

  bool is_newer(const session::PeerId& peer, std::uint64_t sequence) {
    const auto known = last_.find(peer);
    if (known != last_.end()) return sequence > known->second && (known->second = sequence, true);
    // Limits the number of remembered peers. Clients choose their routing ids, so a foreign process
    // could otherwise fill the memory.
    if (last_.size() >= kRememberedPeers) last_.erase(last_.begin());
    last_.emplace(peer, sequence);
    return true;
  }

  ::zmq::context_t context_;
  ::zmq::socket_t socket_;
  ControlHeader header_;
  std::string endpoint_;
  std::unordered_map<session::PeerId, std::uint64_t> last_;  // last sequence number of each peer
  std::uint64_t malformed_ = 0;
};

class Client final : public session::ControlClient {
 public:
  explicit Client(const std::string& endpoint)
      : endpoint_(endpoint), socket_(context_, ::zmq::socket_type::dealer) {
    configure_control(socket_);
    socket_.set(::zmq::sockopt::routing_id, random_routing_id());
    socket_.set(::zmq::sockopt::reconnect_ivl, 10);
    socket_.set(::zmq::sockopt::reconnect_ivl_max, 500);
    socket_.connect(endpoint);
  }

  Result<std::optional<session::Message>> receive(milliseconds limit) override {
    const std::int64_t end = end_of(limit);
    do {
      const auto ready = wait(socket_, end, endpoint_);
      if (!ready) return base::fail(ready.error());
      if (!*ready) break;
      if (auto message = take()) return message;
    } while (base::now_nanoseconds() < end);
    return std::nullopt;
  }

  Result<void> send(const session::Message& message) override {
    ++header_.sequence;
    const auto frame = encode_message(header_, message);
    if (!frame) return base::fail(frame.error());
    if (zmq_send(socket_.handle(), frame->data(), frame->size(), ZMQ_DONTWAIT) >= 0) return {};
    if (zmq_errno() != EAGAIN) return base::fail(problem(endpoint_, "cannot send", zmq_errno()));
    return base::fail(
        {"queue_full", ProblemCode::unavailable, endpoint_,
         fmt::format("the peer does not accept messages: {} are waiting", kQueueMessages), "",
         "Check that the coordinator runs."});
  }

 private:
  std::optional<session::Message> take() {
    std::array<::zmq::message_t, 1> parts;
    bool whole = false;
    if (!take_parts(socket_, parts, whole) || !whole) return std::nullopt;
    auto frame = decode_message(bytes_of(parts[0]));
    if (!frame || !is_newer(frame->header)) return std::nullopt;
    return std::move(frame->message);
  }

  // True if the frame is of this client's run and newer than the last frame. The first frame
  // determines the run. If a server of another run later uses the same endpoint, its frames are
  // dropped.
  bool is_newer(const ControlHeader& header) {
    if (header_.run == 0) {
      header_.run = header.run;
      header_.generation = header.generation;
    }
    if (header.run != header_.run || header.generation != header_.generation ||
        header.sequence <= heard_)
      return false;
    heard_ = header.sequence;
    return true;
  }

  std::string endpoint_;
  ::zmq::context_t context_;
  ::zmq::socket_t socket_;
  ControlHeader header_;
  std::uint64_t heard_ = 0;
};

}  // namespace

Result<std::unique_ptr<session::ControlServer>> serve(const std::string& endpoint,
                                                      const ServeOptions& options) {
  if (const auto ok = check_bind_endpoint(endpoint); !ok) return base::fail(ok.error());
  try {
    return std::make_unique<Server>(endpoint, options);
  } catch (const ::zmq::error_t& error) {
    Problem taken = problem(endpoint, "cannot listen", error.num());
    taken.advice = "Choose another endpoint, or stop the process that listens there.";
    return base::fail(taken);
  }
}

Result<std::unique_ptr<session::ControlClient>> connect(const std::string& endpoint) {
  if (const auto ok = check_connect_endpoint(endpoint); !ok) return base::fail(ok.error());
  try {
    return std::make_unique<Client>(endpoint);
  } catch (const ::zmq::error_t& error) {
    return base::fail(problem(endpoint, "cannot connect", error.num()));
  }
}

}  // namespace trainyard::zmq
