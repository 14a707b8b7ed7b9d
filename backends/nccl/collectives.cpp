// SPDX-License-Identifier: GPL-3.0-or-later
#include <fmt/core.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <deque>
#include <optional>
#include <string_view>
#include <thread>

#include "backends/nccl/communicator.h"
#include "backends/nccl/nccl.h"
#include "core/base/hex.h"
#include "core/comm/first_error.h"

namespace trainyard::nccl {
namespace {

using base::Problem;
using base::ProblemCode;
using base::Result;
using comm::CollectiveCall;
using comm::CollectiveKind;

constexpr std::chrono::seconds kJoinTimeout{60};  // time limit for members to join a group
constexpr std::chrono::microseconds kLook{50};  // poll interval while NCCL works in the background
constexpr std::chrono::milliseconds kMaxWait{
    100};  // Upper bound of a wait, because a broken GPU never signals the event.

// Lane that runs the collectives of one group, on its own stream.
struct Lane {
  Lane(const Library& library, int position, int size) : communicator(library, position, size) {}
  Communicator communicator;
  void* stream = nullptr;
  comm::FutexEvent* wake_event = nullptr;
  // Calls that were not enqueued on the stream yet. NCCL may process the first call in the
  // background until its peer joins, for example the first send/receive between two ranks.
  std::deque<CollectiveCall> waiting;
  bool begun = false;  // true if the first call was passed to NCCL
  std::atomic<std::uint64_t> completed{0};

  static void done(void* lane) {
    auto& self = *static_cast<Lane*>(lane);
    self.completed.fetch_add(1, std::memory_order_release);
    comm::ring(*self.wake_event);
  }
};
using Lanes = std::vector<std::unique_ptr<Lane>>;  // by group; null if this rank is not a member

// State of a rank's engine. It is created by `bind`.
struct End {
  int rank = 0;
  comm::SpinPolicy patience;
  std::chrono::milliseconds parting;
  Library library;
  std::unique_ptr<compute::Streams> streams;
  Lanes lanes;
  std::string where() const { return fmt::format("rank {}", rank); }
};

constexpr const char* kConnect = "connect the ranks";

Problem failed(const End& end, const std::string& what, const std::string& words) {
  return {"collective_failed",
          ProblemCode::failed,
          end.where(),
          fmt::format("{} could not {}: {}", end.library.name(), what, words),
          "",
          "See the logs of the other ranks, and the log of this rank with NCCL_DEBUG=INFO."};
}

class NcclCollectives final : public comm::Collectives {
 public:
  explicit NcclCollectives(std::unique_ptr<End> end)
      : end_(std::move(end)), listener_(wake_event_, end_->patience) {
    for (const auto& lane : end_->lanes)
      if (lane) lane->wake_event = &wake_event_;
  }
  ~NcclCollectives() override {
    if (reason_.state()) finalize_all();
    end_all();
    for (const auto& lane : end_->lanes)
      if (lane) end_->streams->finish(lane->stream);
  }

  std::string name() const override { return end_->library.name(); }
  int rank() const override { return end_->rank; }

  Result<void> start(int group, const CollectiveCall& call) override {
    if (auto ok = state(); !ok) return ok;
    const auto lane = lane_of(group);
    if (!lane) return base::fail(lane.error());
    if (!supports(call.kind, call.reduction, call.dtype))
      return base::fail(comm::not_supported("nccl", call));
    (*lane)->waiting.push_back(call);
    return go_on(**lane);
  }

  Result<std::uint64_t> completed(int group) override {
    if (auto ok = state(); !ok) return base::fail(ok.error());
    auto count = lane_of(group).and_then([this](Lane* lane) {
      return go_on(*lane).map([lane] { return lane->completed.load(std::memory_order_acquire); });
    });
    // After an abort, returns the error instead of the count. The count then includes calls that
    // the stream skipped.
    if (auto ok = reason_.state(); !ok) return base::fail(ok.error());
    return count;
  }

  // Waits for progress. While NCCL works in the background, the wait polls, because that work
  // signals no event.
  bool wait(std::chrono::microseconds limit) override {
    const bool looks =
        std::ranges::any_of(end_->lanes, [](const auto& lane) { return lane && lane->begun; });
    return listener_.wait(std::min<std::chrono::microseconds>(limit, looks ? kLook : kMaxWait)) ||
           looks;
  }
  void wake() override { listener_.ring(); }

  void abort(const Problem& reason) override {
    fail(reason);
    listener_.ring();
  }

  Result<void> state() const override {
    if (auto ok = reason_.state(); !ok) return ok;
    for (const auto& lane : end_->lanes) {
      if (!lane) continue;
      const auto answer = lane->communicator.look();
      if (answer.wrong.empty()) continue;
      return fail(failed(*end_, "continue", answer.wrong));
    }
    return {};
  }

 private:
  // Records the error if it is the first one. Ends all communicators, so that the GPU stops waiting
  // for peers.
  Result<void> fail(const Problem& reason) const {
    reason_.give(reason);
    end_all();
    return reason_.state();
  }

  // Enqueues waiting calls on the stream. NCCL may do background work for a call. When NCCL has
  // finished that work, the call's completion callback is enqueued, then the next call.
  Result<void> go_on(Lane& lane) {
    if (lane.waiting.empty()) return {};
    if (auto ok = end_->streams->enter(); !ok) return ok;
    for (; !lane.waiting.empty(); lane.waiting.pop_front(), lane.begun = false) {
      const CollectiveCall& call = lane.waiting.front();
      if (!lane.begun)
        if (const std::string wrong =
                lane.communicator.begin(call, static_cast<cudaStream_t>(lane.stream));
            !wrong.empty())
          return fail(failed(*end_, fmt::format("start {}", base::name_of(call.kind)), wrong));
      lane.begun = true;
      // Ignores an error of NCCL here, because `state` returns it later.
      if (!lane.communicator.look().ready) return {};
      if (auto ok = end_->streams->then(lane.stream, Lane::done, &lane); !ok) return ok;
    }
    return {};
  }

  Result<Lane*> lane_of(int group) const {
    if (group >= 0 && static_cast<std::size_t>(group) < end_->lanes.size() &&
        end_->lanes[static_cast<std::size_t>(group)])
      return end_->lanes[static_cast<std::size_t>(group)].get();
    return base::fail(comm::no_member(rank(), group));
  }

  // Finalizes all communicators. Ignores errors, because this rank has completed all its calls.
  void finalize_all() const {
    for (const auto& lane : end_->lanes)
      if (lane) lane->communicator.finalize();
    for (const auto end = std::chrono::steady_clock::now() + end_->parting;
         any_under_way() && std::chrono::steady_clock::now() < end;)
      std::this_thread::sleep_for(kLook);
  }

  bool any_under_way() const {
    return std::ranges::any_of(end_->lanes, [](const auto& lane) {
      return lane && lane->communicator.look().is_under_way();
    });
  }

  void end_all() const {
    for (const auto& lane : end_->lanes)
      if (lane) lane->communicator.end();
  }

  std::unique_ptr<End> end_;
  comm::FutexEvent wake_event_;
  mutable comm::FirstError reason_;
  comm::Listener listener_;
};

std::string to_hex(const ncclUniqueId& id) { return base::to_hex(id.internal); }

std::optional<ncclUniqueId> id_from(std::string_view text) {
  const auto bytes = base::from_hex(text);
  ncclUniqueId id;
  if (!bytes || bytes->size() != sizeof(id.internal)) return std::nullopt;
  std::ranges::copy(*bytes, id.internal);
  return id;
}

// Returns the section of an endpoint for the group with the index `group`. Each section ends with
// ";".
std::string_view section_of(std::string_view endpoint, std::size_t group) {
  for (; group > 0; --group) {
    const std::size_t end = endpoint.find(';');
    if (end == std::string_view::npos) return {};
    endpoint.remove_prefix(end + 1);
  }
  return endpoint.substr(0, endpoint.find(';'));
}

class Bound final : public comm::BoundCollectives {
 public:
  Bound(std::unique_ptr<End> end, std::vector<std::vector<int>> groups, std::string endpoint)
      : end_(std::move(end)), groups_(std::move(groups)), endpoint_(std::move(endpoint)) {}

  std::string endpoint() const override { return endpoint_; }

  // Joins this rank's groups. All ranks join groups in the same order, which prevents a deadlock.
  Result<std::unique_ptr<comm::Collectives>> connect(
      const std::vector<std::string>& endpoints) override {
    if (auto ok = end_->streams->enter(); !ok) return base::fail(ok.error());
    for (std::size_t g = 0; g < groups_.size(); ++g)
      if (end_->lanes[g])
        if (auto ok = join(g, endpoints); !ok) return base::fail(ok.error());
    return std::make_unique<NcclCollectives>(std::move(end_));
  }

 private:
  Result<void> join(std::size_t group, const std::vector<std::string>& endpoints) {
    Lane& lane = *end_->lanes[group];
    auto stream = end_->streams->stream();
    if (!stream) return base::fail(stream.error());
    lane.stream = *stream;
    if (lane.communicator.is_alone()) return {};
    const auto first = static_cast<std::size_t>(groups_[group].front());
    const auto id =
        first < endpoints.size() ? id_from(section_of(endpoints[first], group)) : std::nullopt;
    if (!id)
      return base::fail({"bad_endpoint", ProblemCode::refused, end_->where(),
                         fmt::format("the endpoint of rank {} is not an nccl endpoint", first),
                         "an id for each group", ""});
    if (const std::string wrong = lane.communicator.join(*id); !wrong.empty())
      return base::fail(failed(*end_, kConnect, wrong));
    for (const auto end = std::chrono::steady_clock::now() + kJoinTimeout;
         std::chrono::steady_clock::now() < end; std::this_thread::sleep_for(kLook)) {
      const auto answer = lane.communicator.look();
      if (!answer.wrong.empty()) return base::fail(failed(*end_, kConnect, answer.wrong));
      if (answer.ready) return {};
    }
    lane.communicator.end();
    return base::fail(failed(*end_, kConnect, "not all ranks joined within a minute"));
  }

  std::unique_ptr<End> end_;
  std::vector<std::vector<int>> groups_;
  std::string endpoint_;
};

}  // namespace

Result<std::unique_ptr<comm::BoundCollectives>> bind(const Options& options,
                                                     std::unique_ptr<compute::Streams> streams) {
  if (const char* const blocks = std::getenv("CUDA_LAUNCH_BLOCKING");
      blocks != nullptr && std::string_view(blocks) != "0")
    return base::fail({"launch_blocking", ProblemCode::bad_input, "strategy.engine",
                       fmt::format("CUDA_LAUNCH_BLOCKING={} makes NCCL deadlock: each kernel "
                                   "launch would wait for peers, which wait for other launches",
                                   blocks),
                       "own", "Unset CUDA_LAUNCH_BLOCKING, or set strategy.engine to own."});
  auto library = open_library(options.library);
  if (!library) return base::fail(library.error());
  auto end = std::make_unique<End>(
      End{options.rank, options.patience, options.parting, *library, std::move(streams), {}});
  std::string endpoint;
  for (const std::vector<int>& ranks : options.groups) {
    const auto own = std::ranges::find(ranks, options.rank);
    end->lanes.push_back(own == ranks.end()
                             ? nullptr
                             : std::make_unique<Lane>(end->library,
                                                      static_cast<int>(own - ranks.begin()),
                                                      static_cast<int>(ranks.size())));
    if (own == ranks.begin() && ranks.size() > 1) {
      ncclUniqueId id;
      if (const ncclResult_t made = end->library.unique_id(&id); made != ncclSuccess)
        return base::fail(
            failed(*end, "create the id of a group", end->library.error_string(made)));
      endpoint += to_hex(id);
    }
    endpoint += ";";
  }
  return std::make_unique<Bound>(std::move(end), options.groups, std::move(endpoint));
}

bool supports(CollectiveKind kind, base::Reduction reduction, base::DType dtype) {
  const bool reduces = kind == CollectiveKind::all_reduce || kind == CollectiveKind::reduce_scatter;
  return !reduces || ((reduction == base::Reduction::sum || reduction == base::Reduction::mean) &&
                      dtype != base::DType::byte);
}

}  // namespace trainyard::nccl
