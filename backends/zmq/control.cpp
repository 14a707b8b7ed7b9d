// SPDX-License-Identifier: GPL-3.0-or-later
#include "backends/zmq/control.h"

#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <random>
#include <span>
#include <unordered_map>
#include <vector>
#include <zmq.hpp>

#include "backends/zmq/codec.h"
#include "backends/zmq/connection_gate.h"
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

constexpr std::size_t kRememberedPeers = 4096;

Problem problem(const std::string& endpoint, const std::string& what, int error_number) {
  return {"control_connection_failed",
          ProblemCode::unavailable,
          endpoint,
          fmt::format("{}: {}", what, zmq_strerror(error_number)),
          "",
          ""};
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

// Waits until one of the sockets may have a message, or until the time `end` in nanoseconds.
// Returns true if there may be a message, and false after a time-out or a signal.
Result<bool> wait(std::span<zmq_pollitem_t> items, std::int64_t end, const std::string& endpoint) {
  int ready = 0;
  do {  // zmq_poll has a coarse clock: it may return half a millisecond early
    const std::int64_t left = std::max<std::int64_t>(0, end - base::now_nanoseconds());
    ready = zmq_poll(items.data(), static_cast<int>(items.size()),
                     static_cast<long>((left + 999'999) / 1'000'000));
  } while (ready == 0 && base::now_nanoseconds() < end);
  if (ready < 0 && zmq_errno() != EINTR)
    return base::fail(problem(endpoint, "cannot wait for messages", zmq_errno()));
  return ready > 0;
}

std::int64_t end_of(milliseconds limit) {
  return base::now_nanoseconds() + std::chrono::nanoseconds(limit).count();
}

// A socket that accepts clients, and the limits for them.
struct Listener {
  Listener(::zmq::context_t& context, const std::string& name, int connections,
           std::size_t max_bytes, const std::string& address)
      : socket(context, ::zmq::socket_type::router), gate(context, socket, name, connections) {
    configure_control(socket, max_bytes);
    // Allows a client to reconnect under the same routing id, even if this server has not detected
    // yet that the client's old connection is lost.
    socket.set(::zmq::sockopt::router_handover, true);
    socket.bind(address);
    endpoint = socket.get(::zmq::sockopt::last_endpoint);
    gate.set_endpoint(endpoint);
  }
  // Removes the socket file before the socket closes. Afterwards, the file could already be that of
  // another server.
  ~Listener() {
    gate.show();
    if (endpoint.starts_with("ipc://")) ::unlink(endpoint.c_str() + 6);
  }
  Listener(const Listener&) = delete;
  Listener& operator=(const Listener&) = delete;

  ::zmq::socket_t socket;
  ConnectionGate gate;
  std::string endpoint;
};

// A peer is named by one character, the number of its listener, and its routing id.
class Server final : public session::ControlServer {
 public:
  Server(const std::string& endpoint, const ServeOptions& options)
      : header_{base::xxh64(std::string_view(options.run)), options.generation,
                static_cast<std::uint64_t>(
                    // Starts sequence numbers at the current time, so that those of a restarted
                    // server are higher than those of its predecessor.
                    base::now_nanoseconds())} {
    const bool is_shared = options.rank_endpoint.empty();
    add(std::make_unique<Listener>(context_, "viewers", options.viewer_connections,
                                   is_shared ? kMaxControlBytes : kMaxViewerBytes, endpoint));
    if (!is_shared)
      add(std::make_unique<Listener>(context_, "ranks", options.rank_connections, kMaxRankBytes,
                                     options.rank_endpoint));
  }

  std::string endpoint() const override { return listeners_.front()->endpoint; }
  std::string rank_endpoint() const override { return listeners_.back()->endpoint; }
  std::uint64_t malformed() const override { return malformed_; }

  Result<std::optional<session::Received>> receive(milliseconds limit) override {
    const std::int64_t end = end_of(limit);
    do {
      const auto ready = wait(items_, end, endpoint());
      for (const auto& listener : listeners_) listener->gate.watch();
      if (!ready) return base::fail(ready.error());
      if (!*ready) break;
      // begins with another listener each time, so that neither waits for the other
      first_ = (first_ + 1) % listeners_.size();
      for (std::size_t i = 0; i < listeners_.size(); ++i)
        if (auto received = take((first_ + i) % listeners_.size())) return received;
      if (is_woken()) break;
    } while (base::now_nanoseconds() < end);
    return std::nullopt;
  }

  void wake_on(int descriptor) override {
    if (descriptor >= 0) items_.push_back({nullptr, descriptor, ZMQ_POLLIN, 0});
  }

  void send(const session::PeerId& to, const session::Message& message) override {
    const auto listener = to.empty() ? listeners_.size() : static_cast<std::size_t>(to[0] - '0');
    if (listener >= listeners_.size()) return;
    ::zmq::socket_t& socket = listeners_[listener]->socket;
    ++header_.sequence;
    const auto frame = encode_message(header_, message);
    if (!frame)
      return base::log_error(
          fmt::format("A message was not sent: {}", base::to_string(frame.error())));
    if (zmq_send(socket.handle(), to.data() + 1, to.size() - 1, ZMQ_DONTWAIT | ZMQ_SNDMORE) < 0)
      return;
    zmq_send(socket.handle(), frame->data(), frame->size(), ZMQ_DONTWAIT);
  }

 private:
  void add(std::unique_ptr<Listener> listener) {
    for (void* socket : {listener->socket.handle(), listener->gate.monitor().handle()})
      items_.push_back({socket, 0, ZMQ_POLLIN, 0});
    listeners_.push_back(std::move(listener));
  }

  bool is_woken() const {
    return std::ranges::any_of(items_, [](const zmq_pollitem_t& item) {
      return item.socket == nullptr && item.revents != 0;
    });
  }

  std::optional<session::Received> take(std::size_t listener) {
    std::array<::zmq::message_t, 2> parts;
    bool whole = false;
    if (!take_parts(listeners_[listener]->socket, parts, whole)) return std::nullopt;
    auto frame = whole ? decode_message(bytes_of(parts[1])) : base::fail(Problem{});
    session::PeerId peer = static_cast<char>('0' + listener) + parts[0].to_string();
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
  ControlHeader header_;
  std::vector<std::unique_ptr<Listener>> listeners_;  // viewers, and ranks if they have their own
  std::vector<zmq_pollitem_t> items_;
  std::size_t first_ = 0;
  std::unordered_map<session::PeerId, std::uint64_t> last_;  // last sequence number of each peer
  std::uint64_t malformed_ = 0;
};

class Client final : public session::ControlClient {
 public:
  explicit Client(const std::string& endpoint)
      : endpoint_(endpoint), socket_(context_, ::zmq::socket_type::dealer) {
    configure_control(socket_, kMaxControlBytes);
    socket_.set(::zmq::sockopt::routing_id, random_routing_id());
    socket_.set(::zmq::sockopt::reconnect_ivl, 10);
    socket_.set(::zmq::sockopt::reconnect_ivl_max, 500);
    socket_.connect(endpoint);
  }

  Result<std::optional<session::Message>> receive(milliseconds limit) override {
    const std::int64_t end = end_of(limit);
    do {
      zmq_pollitem_t item{socket_.handle(), 0, ZMQ_POLLIN, 0};
      const auto ready = wait({&item, 1}, end, endpoint_);
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
  if (!options.rank_endpoint.empty())
    if (const auto ok = check_bind_endpoint(options.rank_endpoint); !ok)
      return base::fail(ok.error());
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
