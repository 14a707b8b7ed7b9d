// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/launch.h"

#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <csignal>
#include <filesystem>
#include <iterator>
#include <map>
#include <thread>

#include "app/data_plane.h"
#include "app/devices.h"
#include "app/drawn_times.h"
#include "app/engine.h"
#include "app/remote_machines.h"
#include "backends/inproc/transport.h"
#include "backends/shm/transport.h"
#include "backends/zmq/control.h"
#include "core/base/machine.h"
#include "core/comm/shaped_transport.h"
#include "core/session/system/process.h"
#include "core/session/system/rank_environment.h"

namespace trainyard::app {
namespace {

class ProcessRank final : public session::RankHandle {
 public:
  explicit ProcessRank(session::Process process) : process_(std::move(process)) {}
  std::optional<std::string> ended() override { return process_.ended(); }
  bool killed() override { return process_.killed(); }
  std::int64_t process() const override { return process_.pid(); }
  int end_descriptor() const override { return process_.descriptor(); }
  std::optional<double> cpu_seconds() override { return process_.cpu_seconds(); }
  void kill() override { process_.kill(SIGKILL); }
  bool stall(bool on) override { return process_.kill(on ? SIGSTOP : SIGCONT), true; }

 private:
  session::Process process_;
};

std::string rank_program() {
  std::error_code error;
  return (std::filesystem::read_symlink("/proc/self/exe", error).parent_path() / "trainyard-rank")
      .string();
}

std::int64_t cores_of(const experiment::Resolved& experiment, int rank) {
  const topology::Network network(experiment.document.topology);
  return network.device(experiment.ranks[static_cast<std::size_t>(rank)]).cores;
}

// Returns the environment variables for the libraries (OpenMP, NCCL, ...) in the process of a rank.
std::vector<std::string> settings_of(const experiment::Resolved& experiment, int rank) {
  std::vector<std::string> settings = session::thread_settings(cores_of(experiment, rank));
  std::ranges::move(engine_settings(experiment, rank), std::back_inserter(settings));
  std::ranges::move(session::place_variables(session::place_of(rank, experiment.hosts)),
                    std::back_inserter(settings));
  return settings;
}

// Files of shared memory that the ranks inherit. The launcher closes them once it will start no
// more ranks.
class InheritedFiles {
 public:
  InheritedFiles() = default;
  ~InheritedFiles() {
    for (const int file : {files_.shared_memory, files_.shaped_links})
      if (file >= 0) ::close(file);
  }
  InheritedFiles(const InheritedFiles&) = delete;
  InheritedFiles& operator=(const InheritedFiles&) = delete;

  base::Result<void> make(const session::LaunchRequest& request) {
    const int channels = std::max(1, request.channels);
    if (uses_shared_memory(*request.experiment)) {
      const auto created = shm::create(request.shared_bytes, channels);
      if (!created) return base::fail(created.error());
      files_.shared_memory = *created;
    }
    if (!imposes_links(*request.experiment)) return {};
    return imposed_links(*request.experiment)
        .and_then([&](const comm::DrawnLinks& drawn) {
          return comm::create_shaped_links(drawn, channels);
        })
        .map([&](int created) { files_.shaped_links = created; });
  }

  int shaped_links() const { return files_.shaped_links; }

  void pass_files(session::ProcessOptions& options) const {
    pass_files(options, "--shared-memory", files_.shared_memory, 3);
    pass_files(options, "--shaped-links", files_.shaped_links, 4);
  }

 private:
  static void pass_files(session::ProcessOptions& options, const char* argument, int file,
                         int number_in_child) {
    if (file < 0) return;
    options.descriptors.emplace_back(file, number_in_child);
    options.arguments.insert(options.arguments.end(), {argument, std::to_string(number_in_child)});
  }

  Inherited files_;
};

// Parameters of the launch that are common to all rank processes of a run.
struct Start {
  std::filesystem::path run_directory;
  std::vector<std::vector<std::string>> settings;  // environment variables, by rank
  InheritedFiles files;
  std::shared_ptr<RemoteMachines> machines;  // null if all ranks run on this machine
};

base::Result<std::unique_ptr<session::RankHandle>> start_process(
    const Start& start, const session::RankIdentity& identity) {
  if (start.machines && start.machines->is_remote(identity.rank))
    return start.machines->start(identity);
  session::ProcessOptions options;
  options.program = rank_program();
  options.arguments = {"--rank",   std::to_string(identity.rank), "--endpoint", identity.endpoint,
                       "--parent", std::to_string(::getpid())};
  options.log_file =
      (start.run_directory / "logs" / ("rank-" + std::to_string(identity.rank) + ".log")).string();
  options.environment = start.settings[static_cast<std::size_t>(identity.rank)];
  options.input = identity.token + "\n";
  if (start.machines) {
    options.arguments.insert(options.arguments.end(), {"--address", start.machines->own_address()});
    const zmq::CurveKeys& keys = start.machines->keys();
    options.input += fmt::format("{}\n{}\n", keys.public_key, keys.secret_key);
  }
  start.files.pass_files(options);
  auto process = session::Process::start(options);
  if (!process) return base::fail(process.error());
  return std::make_unique<ProcessRank>(std::move(*process));
}

// Returns a function that sets the speed of a drawn link during a run. The link is given by its
// index in the drawing.
decltype(session::Launched::set_link) link_setter(std::shared_ptr<comm::ShapedLinks> links,
                                                  const experiment::Resolved& experiment) {
  std::map<int, int> edges;
  const topology::Network network(experiment.document.topology);
  for (std::size_t edge = 0; edge < network.edges().size(); ++edge)
    edges[network.edges()[edge].link] = static_cast<int>(edge);
  return [links = std::move(links), edges = std::move(edges)](int link, double part) {
    return links->set_fraction(edges.at(link), part);
  };
}

base::Result<session::Launched> launch_processes(const session::LaunchRequest& request) {
  const auto start = std::make_shared<Start>();
  start->run_directory = request.run_directory;
  if (auto ok = start->files.make(request); !ok) return base::fail(ok.error());
  if (uses_other_machines(*request.experiment)) {
    auto machines = RemoteMachines::connect(request);
    if (!machines) return base::fail(machines.error());
    start->machines = std::move(*machines);
  }
  session::Launched launched;
  launched.cpu_level = start->machines                ? start->machines->cpu_level()
                       : base::is_cpu_level_limited() ? base::cpu_level()
                                                      : 0;
  for (const session::RankIdentity& identity : request.ranks) {
    start->settings.push_back(settings_of(*request.experiment, identity.rank));
    std::ranges::move(session::cpu_level_settings(launched.cpu_level),
                      std::back_inserter(start->settings.back()));
    if (start->machines && start->machines->is_remote(identity.rank))
      launched.files[identity.rank] = start->machines->files_of(identity.rank);
    auto handle = start_process(*start, identity);
    if (!handle) return base::fail(handle.error());
    launched.ranks.push_back(std::move(*handle));
  }
  launched.again = [start](const session::RankIdentity& identity) {
    return start_process(*start, identity);
  };
  if (start->files.shaped_links() < 0) return launched;
  auto links = comm::ShapedLinks::open(start->files.shaped_links());
  if (!links) return base::fail(links.error());
  launched.set_link = link_setter(*links, *request.experiment);
  return launched;
}

// A rank that shares one process with all other ranks. Killing the process kills all of them.
class SharedProcessRank final : public session::RankHandle {
 public:
  explicit SharedProcessRank(std::shared_ptr<session::Process> process)
      : process_(std::move(process)) {}
  std::optional<std::string> ended() override { return process_->ended(); }
  bool killed() override { return process_->killed(); }
  std::int64_t process() const override { return process_->pid(); }
  int end_descriptor() const override { return process_->descriptor(); }
  std::optional<double> cpu_seconds() override { return process_->cpu_seconds(); }
  void kill() override { process_->kill(SIGKILL); }
  bool stall(bool on) override { return process_->kill(on ? SIGSTOP : SIGCONT), true; }

 private:
  std::shared_ptr<session::Process> process_;
};

base::Result<session::Launched> launch_virtual(const session::LaunchRequest& request) {
  session::ProcessOptions options;
  options.program = rank_program();
  options.arguments = {"--virtual",
                       "--rank",
                       std::to_string(request.ranks.size() - 1),
                       "--endpoint",
                       request.ranks.front().endpoint,
                       "--parent",
                       std::to_string(::getpid())};
  options.log_file = (request.run_directory / "logs" / "ranks.log").string();
  for (const session::RankIdentity& rank : request.ranks) options.input += rank.token + "\n";
  auto process = session::Process::start(options);
  if (!process) return base::fail(process.error());
  const auto shared = std::make_shared<session::Process>(std::move(*process));
  session::Launched launched;
  for (std::size_t r = 0; r < request.ranks.size(); ++r)
    launched.ranks.push_back(std::make_unique<SharedProcessRank>(shared));
  return launched;
}

// Data plane of one rank that is a thread. `connect` returns the transport and may be called once.
class ThreadPlane final : public session::DataPlane {
 public:
  explicit ThreadPlane(std::unique_ptr<comm::Transport> end) : end_(std::move(end)) {}
  std::string endpoint() const override { return ""; }
  base::Result<std::unique_ptr<comm::Transport>> connect(const std::vector<std::string>&) override {
    return std::move(end_);
  }

 private:
  std::unique_ptr<comm::Transport> end_;
};

class ThreadRank final : public session::RankHandle {
 public:
  ThreadRank(session::RankIdentity identity, std::unique_ptr<comm::Transport> end) {
    thread_ =
        std::thread([over = over_, identity = std::move(identity), end = std::move(end)]() mutable {
          session::RankServices services;
          services.connect = zmq::connect;
          services.make_compute = make_compute;
          services.drawn_op_times = drawn_op_times;
          services.make_data_plane = [&](const session::DataPlaneRequest&)
              -> base::Result<std::unique_ptr<session::DataPlane>> {
            return std::make_unique<ThreadPlane>(std::move(end));
          };
          services.make_engine = make_engine;
          static_cast<void>(session::run_rank(identity, services));
          *over = true;
        });
  }
  ~ThreadRank() override { given_up_ ? thread_.detach() : thread_.join(); }
  std::optional<std::string> ended() override {
    if (*over_) return "its end";
    return given_up_
               ? std::optional<std::string>("a stop request, to which it did not respond in time")
               : std::nullopt;
  }
  bool killed() override { return false; }
  std::int64_t process() const override { return ::getpid(); }
  // Stops waiting for the rank, because a thread cannot be killed. If the thread ignores the
  // request to stop, it runs until this process ends.
  void kill() override { given_up_ = !*over_; }
  bool stall(bool) override { return false; }

 private:
  std::shared_ptr<std::atomic<bool>> over_ = std::make_shared<std::atomic<bool>>(false);
  bool given_up_ = false;
  std::thread thread_;
};

using Ends = std::vector<std::unique_ptr<comm::Transport>>;

int channels_of(const session::LaunchRequest& request) {
  return std::max(inproc::Options{}.channels, request.channels);
}

base::Result<Ends> shaped(Ends ends, const std::shared_ptr<comm::ShapedLinks>& links) {
  for (auto& end : ends) {
    auto made = comm::ShapedTransport::make(std::move(end), links);
    if (!made) return base::fail(made.error());
    end = std::move(*made);
  }
  return ends;
}

// Creates the transports of all ranks. A null `links` means that link speeds are not imposed.
base::Result<Ends> make_ends(const session::LaunchRequest& request,
                             const std::shared_ptr<comm::ShapedLinks>& links) {
  const std::size_t most =
      *std::max_element(request.shared_bytes.begin(), request.shared_bytes.end());
  inproc::Options options;
  options.channels = channels_of(request);
  options.patience = patience_of(*request.experiment);
  auto ends = inproc::make(static_cast<int>(request.ranks.size()), most, options);
  if (!ends || !links) return ends;
  return shaped(std::move(*ends), links);
}

base::Result<session::Launched> launch_threads(const session::LaunchRequest& request) {
  session::Launched launched;
  std::shared_ptr<comm::ShapedLinks> links;
  if (imposes_links(*request.experiment)) {
    auto made = imposed_links(*request.experiment).and_then([&](const comm::DrawnLinks& drawn) {
      return comm::ShapedLinks::make(drawn, channels_of(request));
    });
    if (!made) return base::fail(made.error());
    links = std::move(*made);
    launched.set_link = link_setter(links, *request.experiment);
  }
  auto ends = make_ends(request, links);
  if (!ends) return base::fail(ends.error());
  for (std::size_t r = 0; r < request.ranks.size(); ++r)
    launched.ranks.push_back(std::make_unique<ThreadRank>(request.ranks[r], std::move((*ends)[r])));
  return launched;
}

}  // namespace

base::Result<session::Launched> launch(const session::LaunchRequest& request) {
  if (request.experiment->document.run.clock == experiment::RunClock::virtual_time)
    return launch_virtual(request);
  const bool threads =
      request.experiment->document.run.transport == experiment::TransportKind::inproc;
  return threads ? launch_threads(request) : launch_processes(request);
}

}  // namespace trainyard::app
