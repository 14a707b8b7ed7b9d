// SPDX-License-Identifier: GPL-3.0-or-later
// A whole run in one process, for tests: the coordinator and each rank a thread, queues for
// control, memory for data, the reference for compute. A test may put its own pieces between them.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <future>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>

#include "backends/inproc/control.h"
#include "backends/inproc/transport.h"
#include "core/base/clock.h"
#include "core/compute/reference/reference.h"
#include "core/session/coordinator/coordinator.h"
#include "core/session/rank/virtual_ranks.h"
#include "core/session/replay/replay.h"
#include "core/session/system/run_directory.h"
#include "core/sim/served_clock.h"
#include "tests/drawings.h"

namespace trainyard::conformance {

inline constexpr std::int64_t kEndless = 10'000'000;  // steps: more than any test waits for

// Hooks of a test. Each is called on the thread of its rank.
struct SessionPieces {
  using Killed = std::shared_ptr<const std::atomic<bool>>;
  std::function<session::Connect(int rank, session::Connect)> connect;
  std::function<std::unique_ptr<compute::Compute>(int rank, std::unique_ptr<compute::Compute>,
                                                  Killed)>
      compute;
  std::function<std::unique_ptr<comm::Transport>(int rank, std::unique_ptr<comm::Transport>)>
      transport;
  decltype(session::RankServices::drawn_op_times) drawn_op_times;
};

class SessionThread final : public session::RankHandle {
 public:
  SessionThread(session::RankIdentity identity, const SessionPieces& pieces,
                session::Connect connect, std::unique_ptr<comm::Transport> end)
      : thread_([this, identity = std::move(identity), &pieces, connect = std::move(connect),
                 end = std::move(end)]() mutable {
          static_cast<void>(
              session::run_rank(identity, services(identity.rank, pieces, connect, end)));
          over_ = true;
        }) {}
  ~SessionThread() override {
    *killed_ = true;
    thread_.join();
  }
  std::optional<std::string> ended() override {
    return over_ ? std::optional<std::string>("its end") : std::nullopt;
  }
  bool killed() override { return false; }
  std::int64_t process() const override { return ::getpid(); }
  void kill() override { *killed_ = true; }
  bool stall(bool) override { return false; }

 private:
  class Plane final : public session::DataPlane {
   public:
    explicit Plane(std::unique_ptr<comm::Transport> end) : end_(std::move(end)) {}
    std::string endpoint() const override { return ""; }
    base::Result<std::unique_ptr<comm::Transport>> connect(
        const std::vector<std::string>&) override {
      return std::move(end_);
    }

   private:
    std::unique_ptr<comm::Transport> end_;
  };

  session::RankServices services(int rank, const SessionPieces& pieces,
                                 const session::Connect& connect,
                                 std::unique_ptr<comm::Transport>& end) {
    session::RankServices services;
    services.connect = pieces.connect ? pieces.connect(rank, connect) : connect;
    services.make_compute =
        [this, rank,
         &pieces](const topology::Device&) -> base::Result<std::unique_ptr<compute::Compute>> {
      auto plain = compute::reference::make();
      return pieces.compute ? pieces.compute(rank, std::move(plain), killed_) : std::move(plain);
    };
    services.drawn_op_times = pieces.drawn_op_times;
    services.make_data_plane =
        [rank, &pieces, &end](
            const session::DataPlaneRequest&) -> base::Result<std::unique_ptr<session::DataPlane>> {
      return std::make_unique<Plane>(pieces.transport ? pieces.transport(rank, std::move(end))
                                                      : std::move(end));
    };
    return services;
  }

  std::shared_ptr<std::atomic<bool>> killed_ = std::make_shared<std::atomic<bool>>(false);
  std::atomic<bool> over_{false};
  std::thread thread_;
};

// One thread that is all ranks; each has a handle to it.
class VirtualThread final : public session::RankHandle {
 public:
  VirtualThread(std::vector<session::RankIdentity> ranks, session::Connect connect)
      : thread_([this, ranks = std::move(ranks), connect = std::move(connect)] {
          session::VirtualServices services;
          services.connect = connect;
          services.make_compute =
              [](const topology::Device&) -> base::Result<std::unique_ptr<compute::Compute>> {
            return compute::reference::make();
          };
          services.make_clock = [](const experiment::Resolved& resolved, const plan::Plan& plan,
                                   session::VirtualServices::OnEvent on_event) {
            return sim::ServerClock::make(
                       {&plan, std::make_shared<topology::Network>(resolved.document.topology),
                        resolved.ranks, resolved.document.training.seed, 2e-6, std::move(on_event)})
                .map([](std::unique_ptr<sim::ServerClock> made)
                         -> std::unique_ptr<plan::ServerEventSource> { return made; });
          };
          static_cast<void>(session::run_virtual_ranks(ranks, services));
          over_ = true;
        }) {}
  ~VirtualThread() override { thread_.join(); }
  std::optional<std::string> ended() override {
    return over_ ? std::optional<std::string>("its end") : std::nullopt;
  }
  bool killed() override { return false; }
  std::int64_t process() const override { return ::getpid(); }
  void kill() override {}
  bool stall(bool) override { return false; }

 private:
  std::atomic<bool> over_{false};
  std::thread thread_;
};

class VirtualHandle final : public session::RankHandle {
 public:
  explicit VirtualHandle(std::shared_ptr<VirtualThread> thread) : thread_(std::move(thread)) {}
  std::optional<std::string> ended() override { return thread_->ended(); }
  bool killed() override { return false; }
  std::int64_t process() const override { return thread_->process(); }
  void kill() override {}
  bool stall(bool) override { return false; }

 private:
  std::shared_ptr<VirtualThread> thread_;
};

// A small experiment of `ranks` devices: a few hundred blobs, a perceptron.
inline experiment::Experiment session_experiment(int ranks, std::int64_t steps) {
  experiment::Experiment e;
  e.name = "Session";
  e.topology.hosts = {tests::drawn_host("alpha", ranks)};
  e.data.kind = data::DataKind::blobs;
  e.data.train_samples = 240;
  e.data.held_out_samples = 40;
  e.model.layers = {
      {model::LayerKind::linear, 12}, {model::LayerKind::relu, 0}, {model::LayerKind::linear, 0}};
  e.strategy.kind =
      ranks == 1 ? experiment::StrategyKind::one_device : experiment::StrategyKind::mirrored;
  e.strategy.bucket_bytes = 1000;
  e.training.batch_per_rank = 24 / ranks;
  e.training.steps = steps;
  e.training.optimizer.learning_rate = 0.02;
  e.run.transport = experiment::TransportKind::inproc;
  e.run.record_ops = false;
  return e;
}

// Services that recompute runs recorded by these functions.
inline session::ReplayServices replay_services() {
  session::ReplayServices services;
  services.make_compute =
      [](const topology::Device&) -> base::Result<std::unique_ptr<compute::Compute>> {
    return compute::reference::make();
  };
  services.make_transports = [](int ranks, std::size_t arena_bytes, int) {
    return inproc::make(ranks, arena_bytes);
  };
  return services;
}

// "stopped", or for example "failed: rank_died at rank 1".
inline std::string state_of(const session::CoordinatorResult& outcome) {
  return std::string(base::name_of(outcome.state)) +
         (outcome.problem ? ": " + outcome.problem->id : "") +
         (outcome.problem && !outcome.problem->where.empty() ? " at " + outcome.problem->where
                                                             : "");
}

// Runs from construction on; the coordinator has a thread.
class SessionRun {
 public:
  explicit SessionRun(const experiment::Experiment& e, SessionPieces pieces = {},
                      double unresponsive_seconds = 30)
      : pieces_(std::move(pieces)), directory_(scratch()), server_(hub_.server()) {
    session::CoordinatorParts parts;
    parts.given = e;
    parts.resolved = experiment::resolve(e, ".").value();
    parts.run_directory = session::make_run_directory(directory_, e.name).value();
    parts.server = server_.get();
    parts.launch = [this](const session::LaunchRequest& request) { return launch(request); };
    parts.interrupts = [this] { return interrupts_.load(); };
    parts.started_ns = base::now_nanoseconds();
    parts.unresponsive_seconds = unresponsive_seconds;
    parts.make_compute =
        [](const topology::Device&) -> base::Result<std::unique_ptr<compute::Compute>> {
      return compute::reference::make();
    };
    outcome_ = std::async(std::launch::async, [parts = std::move(parts)]() mutable {
      return session::coordinate(std::move(parts));
    });
  }
  ~SessionRun() {
    interrupts_ = 2;
    if (outcome_.valid()) outcome_.wait();
    std::filesystem::remove_all(directory_);
  }
  SessionRun(const SessionRun&) = delete;
  SessionRun& operator=(const SessionRun&) = delete;

  std::unique_ptr<session::ControlClient> client() { return hub_.connect()("").value(); }
  void interrupt() { ++interrupts_; }
  const std::filesystem::path& directory() const { return directory_; }

  // The end of the run; a test that waits here too long has failed.
  session::CoordinatorResult result(std::chrono::seconds limit = std::chrono::seconds(60)) {
    if (outcome_.wait_for(limit) != std::future_status::ready) {
      ADD_FAILURE() << "the run does not end";
      interrupts_ = 2;
    }
    return outcome_.get().value();
  }

 private:
  static std::filesystem::path scratch() {
    std::string name =
        (std::filesystem::temp_directory_path() / "trainyard_session_XXXXXX").string();
    if (::mkdtemp(name.data()) == nullptr) throw std::runtime_error("mkdtemp");
    return name;
  }

  base::Result<session::Launched> launch(const session::LaunchRequest& request) {
    if (request.experiment->document.run.clock == experiment::RunClock::virtual_time)
      return launch_virtual(request);
    auto ends =
        inproc::make(static_cast<int>(request.ranks.size()),
                     *std::max_element(request.shared_bytes.begin(), request.shared_bytes.end()));
    if (!ends) return base::fail(ends.error());
    session::Launched launched;
    for (std::size_t r = 0; r < request.ranks.size(); ++r)
      launched.ranks.push_back(std::make_unique<SessionThread>(
          request.ranks[r], pieces_, hub_.connect(), std::move((*ends)[r])));
    return launched;
  }

  base::Result<session::Launched> launch_virtual(const session::LaunchRequest& request) {
    const auto thread = std::make_shared<VirtualThread>(request.ranks, hub_.connect());
    session::Launched launched;
    for (std::size_t r = 0; r < request.ranks.size(); ++r)
      launched.ranks.push_back(std::make_unique<VirtualHandle>(thread));
    return launched;
  }

  SessionPieces pieces_;
  std::filesystem::path directory_;
  inproc::ControlHub hub_;
  std::unique_ptr<session::ControlServer> server_;
  std::atomic<int> interrupts_{0};
  std::future<base::Result<session::CoordinatorResult>> outcome_;
};

}  // namespace trainyard::conformance
