// SPDX-License-Identifier: GPL-3.0-or-later
#include "backends/inproc/control.h"

#include <fmt/core.h>

#include <condition_variable>
#include <deque>
#include <map>
#include <mutex>

namespace trainyard::inproc {
namespace {

constexpr std::size_t queue_messages = 2000;

// Removes and returns the first element of `queue`. If the queue is empty, waits up to `limit` for
// an element.
template <class T>
std::optional<T> take(std::unique_lock<std::mutex>& lock, std::condition_variable& filled,
                      std::deque<T>& queue, std::chrono::milliseconds limit) {
  if (!filled.wait_for(lock, limit, [&queue] { return !queue.empty(); })) return std::nullopt;
  std::optional<T> first(std::move(queue.front()));
  queue.pop_front();
  return first;
}

}  // namespace

struct ControlHub::Shared {
  struct ClientQueue {
    std::deque<session::Message> messages;
    std::condition_variable filled;
  };
  std::mutex mutex;
  std::deque<session::Received> inbox;
  std::condition_variable filled;
  std::map<session::PeerId, ClientQueue> clients;
  std::uint64_t connected = 0;  // number of clients that have connected so far
};

namespace {

using Shared = ControlHub::Shared;

class Server final : public session::ControlServer {
 public:
  explicit Server(std::shared_ptr<Shared> shared) : shared_(std::move(shared)) {}

  std::string endpoint() const override { return "inproc"; }
  std::uint64_t malformed() const override { return 0; }

  base::Result<std::optional<session::Received>> receive(std::chrono::milliseconds limit) override {
    std::unique_lock lock(shared_->mutex);
    return take(lock, shared_->filled, shared_->inbox, limit);
  }

  void send(const session::PeerId& to, const session::Message& message) override {
    const std::lock_guard lock(shared_->mutex);
    const auto client = shared_->clients.find(to);
    if (client == shared_->clients.end() || client->second.messages.size() >= queue_messages)
      return;
    client->second.messages.push_back(message);
    client->second.filled.notify_one();
  }

 private:
  std::shared_ptr<Shared> shared_;
};

class Client final : public session::ControlClient {
 public:
  explicit Client(std::shared_ptr<Shared> shared) : shared_(std::move(shared)) {
    const std::lock_guard lock(shared_->mutex);
    name_ = fmt::format("client {}", shared_->connected++);
    outbox_ = &shared_->clients[name_];
  }
  ~Client() override {
    const std::lock_guard lock(shared_->mutex);
    shared_->clients.erase(name_);
  }
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  base::Result<std::optional<session::Message>> receive(std::chrono::milliseconds limit) override {
    std::unique_lock lock(shared_->mutex);
    return take(lock, outbox_->filled, outbox_->messages, limit);
  }

  base::Result<void> send(const session::Message& message) override {
    const std::lock_guard lock(shared_->mutex);
    if (shared_->inbox.size() >= queue_messages)
      return base::fail(
          {"queue_full", base::ProblemCode::unavailable, name_,
           fmt::format("the server does not accept messages: {} are waiting", queue_messages), "",
           ""});
    shared_->inbox.push_back({name_, message});
    shared_->filled.notify_one();
    return {};
  }

 private:
  std::shared_ptr<Shared> shared_;
  session::PeerId name_;
  Shared::ClientQueue* outbox_ = nullptr;  // entry of this client in `clients`
};

}  // namespace

ControlHub::ControlHub() : shared_(std::make_shared<Shared>()) {}

std::unique_ptr<session::ControlServer> ControlHub::server() const {
  return std::make_unique<Server>(shared_);
}

session::Connect ControlHub::connect() const {
  return [shared = shared_](
             const std::string&) -> base::Result<std::unique_ptr<session::ControlClient>> {
    return std::make_unique<Client>(shared);
  };
}

}  // namespace trainyard::inproc
