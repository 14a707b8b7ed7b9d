// SPDX-License-Identifier: GPL-3.0-or-later
// Ranks of a bench: processes of this program, or threads for inproc. Collects their times.
#include <fmt/core.h>
#include <sched.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <future>
#include <memory>
#include <optional>
#include <thread>

#include "app/cli/bench_allreduce.h"
#include "app/cli/verbs.h"
#include "backends/inproc/transport.h"
#include "backends/shm/transport.h"
#include "backends/zmq/transport.h"
#include "core/base/fields.h"
#include "core/base/file.h"
#include "core/session/system/process.h"
#include "core/session/system/socket_directory.h"

namespace trainyard::cli {
namespace {

namespace fs = std::filesystem;
using base::Problem;
using base::ProblemCode;
using base::Result;

constexpr int kSharedMemory = 3;  // descriptor of the memfd in a rank's process
constexpr std::size_t kMaxReport = std::size_t{256} << 20;

std::string socket_of(const fs::path& directory, std::int64_t rank) {
  return "ipc://" + (directory / ("bench-" + std::to_string(rank))).string();
}

// One rank, in a separate process
// ------------------------------------------------------------

struct RankArguments {
  std::string job;  // the BenchJob as JSON
  int rank = 0;
  std::string sockets;
  std::int64_t parent = 0;
};

Result<std::unique_ptr<comm::Transport>> open_sockets(const BenchJob& job,
                                                      const RankArguments& arguments) {
  zmq::TransportOptions options;
  options.channels = kBenchChannels;
  auto bound = zmq::bind(arguments.rank, static_cast<int>(job.ranks), 1,
                         socket_of(arguments.sockets, arguments.rank), options);
  if (!bound) return base::fail(bound.error());
  std::vector<std::string> endpoints;
  for (std::int64_t rank = 0; rank < job.ranks; ++rank)
    endpoints.push_back(socket_of(arguments.sockets, rank));
  auto connected = (*bound)->connect(endpoints);
  if (!connected) return base::fail(connected.error());
  return std::unique_ptr<comm::Transport>(std::move(*connected));
}

// Pins this process to one of the usable cores: the core with the index `rank` modulo the number of
// usable cores.
void pin_to_core(int rank) {
  cpu_set_t usable, own;
  if (::sched_getaffinity(0, sizeof usable, &usable) != 0) return;
  int turn = rank % std::max(1, CPU_COUNT(&usable)), core = 0;
  while (core < CPU_SETSIZE - 1 && (!CPU_ISSET(core, &usable) || turn-- > 0)) ++core;
  CPU_ZERO(&own);
  CPU_SET(core, &own);
  ::sched_setaffinity(0, sizeof own, &own);
}

Result<BenchTimes> measure_in_process(const RankArguments& arguments) {
  const auto json = base::parse_json(arguments.job, "--job");
  if (!json) return base::fail(json.error());
  BenchJob job;
  base::Problems problems;
  base::read_document(*json, job, "", problems);
  if (!problems.empty()) return base::fail(problems.front());
  auto transport = job.transport == BenchTransport::shm ? shm::open(kSharedMemory, arguments.rank)
                                                        : open_sockets(job, arguments);
  if (!transport) return base::fail(transport.error());
  // Pins the process after the transport was opened, because the transport counts the cores that it
  // may use.
  if (job.bind) pin_to_core(arguments.rank);
  return bench_rank(job, **transport);
}

// Prints the rank's report as the last line, which the parent process reads.
int run_rank(const RankArguments& arguments) {
  if (::prctl(PR_SET_PDEATHSIG, SIGKILL) != 0 ||
      ::getppid() != static_cast<pid_t>(arguments.parent))
    return 3;
  const auto times = measure_in_process(arguments);
  if (!times) return complain({times.error()}, false);
  print_json(to_json(*times));
  return 0;
}

// All ranks
// ------------------------------------------------------------

// Returns the path of the file to which a rank writes its measurements. It is in the socket
// directory, and is removed with that directory.
fs::path report_of(const session::SocketDirectory& scratch, std::size_t rank) {
  return scratch.path() / ("report-" + std::to_string(rank));
}

Result<std::vector<session::Process>> start_ranks(const BenchJob& job,
                                                  const session::SocketDirectory& scratch,
                                                  int shared_memory) {
  std::vector<session::Process> processes;
  std::error_code error;
  const std::string self = fs::read_symlink("/proc/self/exe", error).string();
  for (std::size_t rank = 0; rank < static_cast<std::size_t>(job.ranks); ++rank) {
    session::ProcessOptions options;
    options.program = self;
    options.arguments = {"bench-rank",
                         "--job",
                         base::write_document(job).dump(),
                         "--rank",
                         std::to_string(rank),
                         "--sockets",
                         scratch.path().string(),
                         "--parent",
                         std::to_string(::getpid())};
    options.log_file = report_of(scratch, rank).string();
    if (shared_memory >= 0) options.descriptors = {{shared_memory, kSharedMemory}};
    auto process = session::Process::start(options);
    if (!process) return base::fail(process.error());
    processes.push_back(std::move(*process));
  }
  return processes;
}

std::string last_line(const std::string& text) {
  const std::size_t end = text.find_last_not_of('\n');
  if (end == std::string::npos) return "";
  const std::size_t before = text.rfind('\n', end);
  return text.substr(before == std::string::npos ? 0 : before + 1,
                     end - (before == std::string::npos ? 0 : before + 1) + 1);
}

// Fails unless the report has the times of every repeat.
Result<BenchTimes> expect_repeats(BenchTimes times, std::int64_t repeats,
                                  const std::string& where) {
  if (std::ssize(times.begin_ns) == repeats && std::ssize(times.end_ns) == repeats) return times;
  return base::fail({"wrong_length", ProblemCode::failed, where,
                     fmt::format("has {} begins and {} ends of repeats", times.begin_ns.size(),
                                 times.end_ns.size()),
                     fmt::format("{} of each", repeats), "Run the benchmark again."});
}

Result<BenchTimes> read_report(const session::SocketDirectory& scratch, std::size_t rank,
                               const session::Process& process, const std::string& how,
                               std::int64_t repeats) {
  const auto report = base::read_file(report_of(scratch, rank), kMaxReport);
  if (!report) return base::fail(report.error());
  if (!process.ended_well())
    return base::fail({"rank_died", ProblemCode::failed, fmt::format("rank {}", rank),
                       fmt::format("ended with {}: {}", how, last_line(*report)), "", ""});
  const std::string where = "the report of rank " + std::to_string(rank);
  return base::parse_json(last_line(*report), where)
      .and_then(bench_times)
      .and_then([&](BenchTimes times) { return expect_repeats(std::move(times), repeats, where); });
}

// Waits for all ranks. The first failure ends the others, which would otherwise hang.
Result<BenchAllTimes> gather(const session::SocketDirectory& scratch,
                             std::vector<session::Process>& processes, std::int64_t repeats) {
  BenchAllTimes all(processes.size());
  std::vector<bool> over(processes.size(), false);
  for (std::size_t left = processes.size(); left > 0;
       std::this_thread::sleep_for(std::chrono::milliseconds(2))) {
    for (std::size_t rank = 0; rank < processes.size(); ++rank) {
      if (over[rank]) continue;
      const auto how = processes[rank].ended();
      if (!how) continue;
      auto times = read_report(scratch, rank, processes[rank], *how, repeats);
      if (!times) return base::fail(times.error());
      all[rank] = std::move(*times);
      over[rank] = true;
      --left;
    }
  }
  return all;
}

Result<BenchAllTimes> measure_processes(const BenchJob& job) {
  const auto scratch = session::SocketDirectory::make();
  if (!scratch) return base::fail(scratch.error());
  int shared_memory = -1;
  if (job.transport == BenchTransport::shm) {
    const auto created =
        shm::create(std::vector<std::size_t>(static_cast<std::size_t>(job.ranks),
                                             static_cast<std::size_t>(bench_arena_bytes(job))),
                    kBenchChannels);
    if (!created) return base::fail(created.error());
    shared_memory = *created;
  }
  auto processes = start_ranks(job, *scratch, shared_memory);
  if (shared_memory >= 0) ::close(shared_memory);
  if (!processes) return base::fail(processes.error());
  return gather(*scratch, *processes, job.repeat);
}

Result<BenchAllTimes> measure_threads(const BenchJob& job) {
  auto ends = inproc::make(static_cast<int>(job.ranks),
                           static_cast<std::size_t>(bench_arena_bytes(job)), {kBenchChannels});
  if (!ends) return base::fail(ends.error());
  std::vector<std::future<Result<BenchTimes>>> ranks;
  for (auto& end : *ends)
    ranks.push_back(std::async(
        std::launch::async, [&job, transport = end.get()] { return bench_rank(job, *transport); }));
  BenchAllTimes all;
  std::optional<Problem> problem;
  for (auto& rank : ranks) {
    auto times = rank.get();
    if (times) all.push_back(std::move(*times));
    else if (!problem) problem = times.error();
  }
  if (problem) return base::fail(*problem);
  return all;
}

}  // namespace

Result<BenchAllTimes> measure_allreduce(const BenchJob& job) {
  return job.transport == BenchTransport::inproc ? measure_threads(job) : measure_processes(job);
}

// Adds the hidden verb that `bench` runs in the process of each rank.
void add_bench_rank(Verb& program) {
  Verb verb = program.add_verb("bench-rank", "One rank of a bench");
  verb.hide();
  RankArguments& arguments = verb.on_run(run_rank);
  verb.option("--job", arguments.job).required();
  verb.option("--rank", arguments.rank).required();
  verb.option("--sockets", arguments.sockets).required();
  verb.option("--parent", arguments.parent).required();
}

}  // namespace trainyard::cli
