// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/launch.h"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <csignal>
#include <filesystem>
#include <thread>

#include "app/data_plane.h"
#include "app/devices.h"
#include "backends/inproc/transport.h"
#include "backends/shm/transport.h"
#include "backends/zmq/control.h"
#include "core/session/process.h"

namespace trainyard::app {
namespace {

using Handles = std::vector<std::unique_ptr<session::RankHandle>>;

class ProcessRank final : public session::RankHandle {
 public:
  explicit ProcessRank(session::Process process) : process_(std::move(process)) {}
  std::optional<std::string> ended() override { return process_.ended(); }
  bool killed() override { return process_.killed(); }
  std::int64_t process() const override { return process_.pid(); }
  void kill() override { process_.kill(SIGKILL); }

 private:
  session::Process process_;
};

std::string rank_program() {
  std::error_code error;
  return (std::filesystem::read_symlink("/proc/self/exe", error).parent_path() / "trainyard-rank").string();
}

// A device of several cores computes in OpenMP regions, oneDNN's and ours. Between two of them libgomp's idle threads would
// spin for milliseconds: time that peers on the same cores, and the rank's own other threads, need to get to the all-reduce
// that all wait for. So they sleep at once. (Two ranks of two cores each on two cores: a step of 5 ms instead of 53.)
// OpenBLAS's threads give their core up while they spin; to send them to sleep sooner changed nothing.
std::vector<std::string> thread_settings(std::int64_t cores) {
  if (cores <= 1) return {};
  return {"OMP_WAIT_POLICY=passive"};
}

std::int64_t cores_of(const experiment::Resolved& experiment, int rank) {
  const topology::Network network(experiment.document.topology);
  return network.device(experiment.ranks[static_cast<std::size_t>(rank)]).cores;
}

base::Result<std::unique_ptr<session::RankHandle>> start_process(const session::LaunchRequest& request, const session::RankIdentity& identity,
                                                                 int shared_memory) {
  constexpr int kSharedMemory = 3;  // its number in the child
  session::ProcessOptions options;
  options.program = rank_program();
  options.arguments = {"--rank", std::to_string(identity.rank), "--endpoint", identity.endpoint, "--parent", std::to_string(::getpid())};
  options.log_file = (request.run_directory / "logs" / ("rank-" + std::to_string(identity.rank) + ".log")).string();
  options.environment = thread_settings(cores_of(*request.experiment, identity.rank));
  options.input = identity.token + "\n";
  if (shared_memory >= 0) {
    options.descriptors = {{shared_memory, kSharedMemory}};
    options.arguments.insert(options.arguments.end(), {"--shared-memory", std::to_string(kSharedMemory)});
  }
  auto process = session::Process::start(options);
  if (!process) return base::fail(process.error());
  return std::make_unique<ProcessRank>(std::move(*process));
}

base::Result<Handles> launch_processes(const session::LaunchRequest& request) {
  int shared_memory = -1;
  if (uses_shared_memory(*request.experiment)) {
    const auto created = shm::create(request.shared_bytes, std::max(1, request.channels));
    if (!created) return base::fail(created.error());
    shared_memory = *created;
  }
  Handles handles;
  base::Result<Handles> result = Handles{};
  for (const session::RankIdentity& identity : request.ranks) {
    auto handle = start_process(request, identity, shared_memory);
    if (!handle) {
      result = base::fail(handle.error());
      break;
    }
    handles.push_back(std::move(*handle));
  }
  if (shared_memory >= 0) ::close(shared_memory);  // the ranks have it now
  if (!result) return result;
  return handles;
}

// The ends of an in-process data plane, handed out once each.
class ThreadPlane final : public session::DataPlane {
 public:
  explicit ThreadPlane(std::unique_ptr<comm::Transport> end) : end_(std::move(end)) {}
  std::string endpoint() const override { return ""; }
  base::Result<std::unique_ptr<comm::Transport>> connect(const std::vector<std::string>&) override { return std::move(end_); }

 private:
  std::unique_ptr<comm::Transport> end_;
};

class ThreadRank final : public session::RankHandle {
 public:
  ThreadRank(session::RankIdentity identity, std::unique_ptr<comm::Transport> end) {
    thread_ = std::thread([over = over_, identity = std::move(identity), end = std::move(end)]() mutable {
      session::RankServices services;
      services.connect = zmq::connect;
      services.make_compute = make_compute;
      services.make_data_plane = [&](const session::DataPlaneRequest&) -> base::Result<std::unique_ptr<session::DataPlane>> {
        return std::make_unique<ThreadPlane>(std::move(end));
      };
      static_cast<void>(session::run_rank(identity, services));
      *over = true;
    });
  }
  ~ThreadRank() override { given_up_ ? thread_.detach() : thread_.join(); }
  std::optional<std::string> ended() override {
    if (*over_) return "its end";
    return given_up_ ? std::optional<std::string>("being given up") : std::nullopt;
  }
  bool killed() override { return false; }
  std::int64_t process() const override { return ::getpid(); }
  // A thread cannot be killed. One that does not leave when told ends with this process.
  void kill() override { given_up_ = !*over_; }

 private:
  std::shared_ptr<std::atomic<bool>> over_ = std::make_shared<std::atomic<bool>>(false);
  bool given_up_ = false;
  std::thread thread_;
};

base::Result<Handles> launch_threads(const session::LaunchRequest& request) {
  const std::size_t most = *std::max_element(request.shared_bytes.begin(), request.shared_bytes.end());
  auto ends = inproc::make(static_cast<int>(request.ranks.size()), most);
  if (!ends) return base::fail(ends.error());
  Handles handles;
  for (std::size_t r = 0; r < request.ranks.size(); ++r) handles.push_back(std::make_unique<ThreadRank>(request.ranks[r], std::move((*ends)[r])));
  return handles;
}

}  // namespace

base::Result<Handles> launch(const session::LaunchRequest& request) {
  const bool threads = request.experiment->document.run.transport == experiment::TransportKind::inproc;
  return threads ? launch_threads(request) : launch_processes(request);
}

}  // namespace trainyard::app
