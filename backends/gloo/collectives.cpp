// SPDX-License-Identifier: GPL-3.0-or-later
#include <fmt/core.h>
#include <gloo/config.h>
#include <gloo/transport/tcp/device.h>

#include <algorithm>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <optional>
#include <thread>

#include "backends/gloo/calls.h"
#include "backends/gloo/gloo.h"
#include "core/comm/first_error.h"

namespace trainyard::gloo {
namespace {

using base::Problem;
using base::ProblemCode;
using base::Result;
using comm::CollectiveCall;
using Groups = std::vector<std::unique_ptr<Group>>;  // by group; null if this rank is not a member

// State that the lanes of all groups of a rank share.
struct Shared {
  int rank = 0;
  comm::FutexEvent wake_event;
  comm::FirstError reason;
};

// Returns an error message of Gloo without the source location at its start.
std::string without_source_location(const std::string& what) {
  const std::size_t end = what.starts_with('[') ? what.find("] ") : std::string::npos;
  return end == std::string::npos ? what : what.substr(end + 2);
}

std::string describe(const std::vector<int>& ranks) {
  std::string words;
  for (const int rank : ranks)
    words += fmt::format("{}rank {}", words.empty() ? "" : " and ", rank);
  return words;
}

// Lane that runs the collectives of one group. It has its own thread, because Gloo's calls block
// until they are complete.
class Lane {
 public:
  Lane(Group& group, Shared& shared)
      : group_(group), shared_(shared), thread_([this] { serve(); }) {}
  ~Lane() {
    {
      const std::lock_guard lock(mutex_);
      over_ = true;
      if (busy_) group_.give_up();
    }
    more_.notify_one();
    thread_.join();
  }
  Lane(const Lane&) = delete;
  Lane& operator=(const Lane&) = delete;

  void start(const CollectiveCall& call) {
    const std::lock_guard lock(mutex_);
    calls_.push_back(call);
    more_.notify_one();
  }
  std::uint64_t completed() const { return completed_.load(std::memory_order_acquire); }

 private:
  void serve() {
    while (const auto call = next()) {
      if (!carry_out(*call)) return;
      completed_.fetch_add(1, std::memory_order_release);
      ring(shared_.wake_event);
    }
  }

  std::optional<CollectiveCall> next() {
    std::unique_lock lock(mutex_);
    busy_ = false;
    more_.wait(lock, [&] { return over_ || !calls_.empty(); });
    if (over_) return std::nullopt;
    busy_ = true;
    const CollectiveCall call = calls_.front();
    calls_.pop_front();
    return call;
  }

  bool carry_out(const CollectiveCall& call) {
    try {
      gloo::carry_out(group_, call);
      return true;
    } catch (const std::exception& error) {
      if (!shared_.reason.get()) shared_.reason.give(problem(call, error.what()));
    }
    // Makes other ranks stop waiting for this call, which can no longer complete.
    group_.give_up();
    ring(shared_.wake_event);
    return false;
  }

  Problem problem(const CollectiveCall& call, const std::string& what) {
    const std::string lost = describe(group_.lost());
    return {"collective_failed",
            ProblemCode::failed,
            fmt::format("rank {}", shared_.rank),
            fmt::format("{}gloo could not complete {}: {}",
                        lost.empty() ? "" : fmt::format("lost {}: ", lost),
                        base::name_of(call.kind), without_source_location(what)),
            "",
            lost.empty() ? "" : fmt::format("See the log of {}.", lost)};
  }

  Group& group_;
  Shared& shared_;
  std::mutex mutex_;
  std::condition_variable more_;
  std::deque<CollectiveCall> calls_;
  bool over_ = false, busy_ = false;
  std::atomic<std::uint64_t> completed_{0};
  std::thread thread_;  // last member, because the thread uses the others
};

class GlooCollectives final : public comm::Collectives {
 public:
  GlooCollectives(int rank, comm::SpinPolicy patience, Groups groups)
      : groups_(std::move(groups)), listener_(shared_.wake_event, patience) {
    shared_.rank = rank;
    for (const auto& group : groups_)
      lanes_.push_back(group ? std::make_unique<Lane>(*group, shared_) : nullptr);
  }

  std::string name() const override { return fmt::format("gloo {}", version()); }
  int rank() const override { return shared_.rank; }

  Result<void> start(int group, const CollectiveCall& call) override {
    if (auto ok = state(); !ok) return ok;
    const auto lane = lane_of(group);
    if (!lane) return base::fail(lane.error());
    if (!supports(call.kind, call.reduction, call.dtype))
      return base::fail(comm::not_supported("gloo", call));
    (*lane)->start(call);
    return {};
  }

  Result<std::uint64_t> completed(int group) override {
    if (auto ok = state(); !ok) return base::fail(ok.error());
    return lane_of(group).map([](const Lane* lane) { return lane->completed(); });
  }

  bool wait(std::chrono::microseconds limit) override { return listener_.wait(limit); }
  void wake() override { listener_.ring(); }

  void abort(const Problem& reason) override {
    if (!shared_.reason.give(reason)) return;
    for (const auto& group : groups_)
      if (group) group->give_up();
    listener_.ring();
  }

  Result<void> state() const override { return shared_.reason.state(); }

 private:
  Result<Lane*> lane_of(int group) const {
    if (group >= 0 && static_cast<std::size_t>(group) < lanes_.size() &&
        lanes_[static_cast<std::size_t>(group)])
      return lanes_[static_cast<std::size_t>(group)].get();
    return base::fail(comm::no_member(rank(), group));
  }

  Groups groups_;
  Shared shared_;
  comm::Listener listener_;
  // Lanes by group. Must be the last member, because the threads of the lanes use the other
  // members.
  std::vector<std::unique_ptr<Lane>> lanes_;
};

// Splits a text at the character `end`. An endpoint contains the addresses of a rank for each group
// and each peer position: ";" ends a group, "," ends an address.
std::vector<std::string> split(const std::string& text, char end) {
  std::vector<std::string> parts;
  std::size_t begin = 0;
  for (std::size_t at = text.find(end); at != std::string::npos; at = text.find(end, begin)) {
    parts.push_back(text.substr(begin, at - begin));
    begin = at + 1;
  }
  return parts;
}

class Bound final : public comm::BoundCollectives {
 public:
  Bound(const Options& options, Groups groups)
      : rank_(options.rank), patience_(options.patience), groups_(std::move(groups)) {}

  std::string endpoint() const override {
    std::string text;
    for (const auto& group : groups_) {
      if (group)
        for (const std::string& address : group->addresses()) text += address + ",";
      text += ";";
    }
    return text;
  }

  Result<std::unique_ptr<comm::Collectives>> connect(
      const std::vector<std::string>& endpoints) override {
    for (std::size_t g = 0; g < groups_.size(); ++g) {
      if (!groups_[g]) continue;
      auto addresses = addresses_for(*groups_[g], g, endpoints);
      if (!addresses) return base::fail(addresses.error());
      try {
        groups_[g]->connect(*addresses);
      } catch (const std::exception& error) {
        return base::fail({"collectives_not_connected", ProblemCode::failed, where(),
                           fmt::format("gloo could not connect the ranks: {}",
                                       without_source_location(error.what())),
                           "", "See the logs of the other ranks."});
      }
    }
    return std::make_unique<GlooCollectives>(rank_, patience_, std::move(groups_));
  }

 private:
  // Returns, for each member of the group, the address at which this rank can connect to it. The
  // addresses are in the members' endpoints.
  Result<std::vector<std::string>> addresses_for(const Group& group, std::size_t number,
                                                 const std::vector<std::string>& endpoints) const {
    std::vector<std::string> found(static_cast<std::size_t>(group.size()));
    for (int peer = 0; peer < group.size(); ++peer) {
      if (peer == group.position()) continue;
      const auto rank = static_cast<std::size_t>(group.rank(peer));
      const auto of_groups =
          rank < endpoints.size() ? split(endpoints[rank], ';') : std::vector<std::string>{};
      const auto addresses =
          number < of_groups.size() ? split(of_groups[number], ',') : std::vector<std::string>{};
      if (addresses.size() != found.size())
        return base::fail({"bad_endpoint", ProblemCode::refused, where(),
                           fmt::format("the endpoint of rank {} is not a gloo endpoint", rank),
                           "an address for each peer", ""});
      found[static_cast<std::size_t>(peer)] = addresses[static_cast<std::size_t>(group.position())];
    }
    return found;
  }

  std::string where() const { return fmt::format("rank {}", rank_); }

  int rank_;
  comm::SpinPolicy patience_;
  Groups groups_;
};

std::shared_ptr<::gloo::transport::Device> device_at(const std::string& address) {
  ::gloo::transport::tcp::attr attributes(address.c_str());
  attributes.ai_family = AF_INET;
  return ::gloo::transport::tcp::CreateDevice(attributes);
}

}  // namespace

Result<std::unique_ptr<comm::BoundCollectives>> bind(const Options& options) {
  try {
    const auto device = device_at(options.address);
    Groups groups;
    for (const std::vector<int>& ranks : options.groups) {
      const auto own = std::find(ranks.begin(), ranks.end(), options.rank);
      groups.push_back(
          own == ranks.end()
              ? nullptr
              : std::make_unique<Group>(device, ranks, static_cast<int>(own - ranks.begin())));
    }
    return std::make_unique<Bound>(options, std::move(groups));
  } catch (const std::exception& error) {
    return base::fail({"cannot_listen", ProblemCode::unavailable,
                       fmt::format("rank {}", options.rank),
                       fmt::format("gloo cannot listen at {}: {}", options.address,
                                   without_source_location(error.what())),
                       "an address of this machine",
                       "Clear topology.hosts[].address, or set strategy.engine to own."});
  }
}

std::string version() {
  return fmt::format("{}.{}.{}", GLOO_VERSION_MAJOR, GLOO_VERSION_MINOR, GLOO_VERSION_PATCH);
}

}  // namespace trainyard::gloo
