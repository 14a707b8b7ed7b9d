// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/session/hosts/agent.h"

#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <fstream>
#include <future>
#include <map>
#include <set>

#include "core/base/clock.h"
#include "core/session/hosts/probe.h"
#include "core/session/system/clock_offset.h"
#include "core/session/system/process.h"
#include "core/session/system/process_exits.h"
#include "core/session/system/rank_environment.h"

namespace trainyard::session {
namespace {

using base::Result;

constexpr std::chrono::milliseconds kTick{100};
// The agent ends after this long without any frame from the coordinator, which asks for the time
// every second. Time for which the agent itself was suspended does not count.
constexpr std::int64_t kSilence = 10'000'000'000, kOwnSuspension = 2'000'000'000;
// The same limit while all ranks are suspended: a day.
constexpr std::int64_t kSuspendedSilence = 86'400 * std::int64_t{1'000'000'000};
// Each rank has three connections to the coordinator; others are for ranks that start again.
constexpr int kConnectionsPerRank = 3, kSpareConnections = 16;

// Bytes that are queued or on the way from which on telemetry events are dropped. Over 1 Mbit/s,
// the smaller number takes 2 s, for which a heartbeat waits in the buffers of the network.
constexpr std::size_t kSomeBacklog = std::size_t{256} << 10, kSevereBacklog = std::size_t{2} << 20;

// A hash becomes the name of a file.
bool is_hash(const std::string& text) {
  return text.size() == 32 && text.find_first_not_of("0123456789abcdef") == std::string::npos;
}

// Returns the text that was appended to a file since the last call.
class LogReader {
 public:
  explicit LogReader(std::filesystem::path path) : path_(std::move(path)) {}
  std::string next() {
    constexpr std::size_t kAtOnce = std::size_t{256} << 10;
    std::ifstream file(path_, std::ios::binary);
    file.seekg(static_cast<std::streamoff>(at_));
    std::string text(kAtOnce, '\0');
    file.read(text.data(), static_cast<std::streamsize>(text.size()));
    text.resize(static_cast<std::size_t>(std::max<std::streamsize>(0, file.gcount())));
    at_ += text.size();
    return text;
  }

 private:
  std::filesystem::path path_;
  std::size_t at_ = 0;
};

struct LocalRank {
  Process process;
  LogReader log;
};

class Agent {
 public:
  explicit Agent(AgentParts parts) : p_(std::move(parts)) {}

  Result<void> run() {
    send(p_.hello);
    last_frame_ns_ = base::now_nanoseconds();
    while (true) {
      if (auto ok = wait(); !ok) return ok;
      const auto read = p_.stream->read();
      while (auto message = p_.stream->take()) take(*message);
      if (!read) return read.error().id == "end_of_stream" ? Result<void>{} : read;
      relay();
      watch_ranks();
      send_probe_results();
      if (is_abandoned()) return {};
      if (auto ok = p_.stream->write(); !ok) return ok;
    }
  }

 private:
  void send(const AgentMessage& message) {
    p_.stream->send(kCommandChannel, to_text(message), true);
  }

  Result<void> wait() {
    std::vector<pollfd> items{{p_.stream->input(), POLLIN, 0}, {exits_.descriptor(), POLLIN, 0}};
    if (p_.stream->has_output()) items.push_back({p_.stream->output(), POLLOUT, 0});
    if (relay_) return relay_->wait(items, kTick);
    ::poll(items.data(), items.size(), static_cast<int>(kTick.count()));
    return {};
  }

  void take(const ChannelMessage& message) {
    last_frame_ns_ = base::now_nanoseconds();
    if (message.channel == kFileChannel) return take_bytes(message.bytes);
    if (message.channel != kCommandChannel) {
      if (const auto known = peers_.find(message.channel); relay_ && known != peers_.end())
        relay_->send(known->second, message.bytes);
      return;
    }
    const auto request = agent_message_from(message.bytes, "coordinator");
    if (!request) return refuse(-1, request.error());
    if (const auto* prepare = std::get_if<PrepareRun>(&*request)) take_prepare(*prepare);
    else if (const auto* start = std::get_if<StartRank>(&*request)) take_start(*start);
    else if (const auto* signal = std::get_if<SignalRank>(&*request)) take_signal(*signal);
    else if (const auto* listens = std::get_if<ProbeListenRequest>(&*request)) take_probe(*listens);
    else if (const auto* probes = std::get_if<ProbeRequest>(&*request)) take_probe(*probes);
    else if (const auto* time = std::get_if<TimeRequest>(&*request))
      send(TimeAnswer{time->sent_ns, base::now_nanoseconds(), wall_nanoseconds()});
    else if (const auto* arrived = std::get_if<BytesArrived>(&*request))
      arrived_bytes_ = static_cast<std::uint64_t>(arrived->bytes);
  }

  void refuse(std::int32_t rank, const base::Problem& problem) {
    send(RequestRefused{rank, problem.id, base::to_string(problem), "", ""});
  }

  void take_prepare(const PrepareRun& run) {
    if (run.software != p_.hello.software) {
      send(RequestRefused{-1, "other_version",
                          fmt::format("the agent has version {}, and the coordinator version {}",
                                      p_.hello.software, run.software),
                          "equal versions", "Copy this version of the agent to the host."});
      return;
    }
    if (relay_)
      return refuse(-1, {"already_prepared", base::ProblemCode::bad_usage, "",
                         "the agent already serves a run", "", ""});
    for (const SharedFile& file : run.files)
      if (!is_hash(file.hash))
        return refuse(-1, {"bad_message", base::ProblemCode::bad_input, file.path,
                           "the hash of a file is not one", "32 hexadecimal digits", ""});
    auto shared = p_.prepare(run);
    if (!shared) return refuse(-1, shared.error());
    endpoint_ = "ipc://" + (p_.directory / "control").string();
    auto relay = p_.relay_ranks(endpoint_, kConnectionsPerRank * run.ranks + kSpareConnections);
    if (!relay) return refuse(-1, relay.error());
    apply_kernel_settings(run.kernels);
    run_ = run;
    shared_ = std::move(*shared);
    relay_ = std::move(*relay);
    find_files();
  }

  std::filesystem::path files_directory() const { return p_.directory / "files"; }

  // Links to the files that the cache has, and requests the next one that it lacks. Once there are
  // all, the run is prepared.
  void find_files() {
    for (; found_files_ < run_.files.size(); ++found_files_) {
      const SharedFile& file = run_.files[found_files_];
      const auto cached = p_.files->find(file);
      if (!cached) return request_file(file);
      if (auto ok = link(file, *cached); !ok) return refuse(-1, ok.error());
    }
    send(RunPrepared{!run_.shared_bytes.empty(), files_directory().string()});
  }

  void request_file(const SharedFile& file) {
    const auto offset = p_.files->begin(file);
    if (!offset) return refuse(-1, offset.error());
    resumed_ = *offset > 0;
    if (*offset == file.bytes) return take_bytes("");
    send(FileRequest{file.hash, *offset});
  }

  void take_bytes(std::string_view bytes) {
    if (found_files_ >= run_.files.size()) return;
    const auto complete = p_.files->append(bytes);
    if (complete && !*complete) return;
    // An earlier transfer may have left wrong bytes. They are removed, and this one starts again.
    if (!complete && !std::exchange(resumed_, false)) return refuse(-1, complete.error());
    find_files();
  }

  base::Result<void> link(const SharedFile& file, const std::filesystem::path& target) const {
    const std::filesystem::path relative(file.path), path = files_directory() / relative;
    std::error_code error;
    if (relative.is_absolute() || std::ranges::find(relative, "..") != relative.end())
      error = std::make_error_code(std::errc::invalid_argument);
    if (!error) std::filesystem::create_directories(path.parent_path(), error);
    if (!error) std::filesystem::create_symlink(target, path, error);
    if (error)
      return base::fail(base::system_problem(path.string(), "cannot make the link", error.value()));
    return {};
  }

  void take_start(const StartRank& start) {
    if (!relay_)
      return refuse(start.rank, {"not_prepared", base::ProblemCode::bad_usage, "",
                                 "the agent has no run", "a message \"prepare\" before", ""});
    const std::filesystem::path log = p_.directory / fmt::format("rank-{}.log", start.rank);
    std::error_code ignored;
    std::filesystem::remove(log, ignored);
    ProcessOptions options;
    options.program = p_.rank_program;
    options.arguments = {"--rank",   std::to_string(start.rank), "--endpoint", endpoint_,
                         "--parent", std::to_string(::getpid())};
    options.arguments.insert(options.arguments.end(), shared_.arguments.begin(),
                             shared_.arguments.end());
    if (!run_.address.empty())
      options.arguments.insert(options.arguments.end(), {"--address", run_.address});
    options.descriptors = shared_.descriptors;
    options.environment = shared_.environment;
    for (const std::vector<std::string>& settings :
         {thread_settings(start.cores), cpu_level_settings(run_.cpu_level),
          place_variables({start.rank, start.local_rank, start.world})})
      options.environment.insert(options.environment.end(), settings.begin(), settings.end());
    options.log_file = log.string();
    options.input = fmt::format("{}\n{}\n{}\n", start.token, run_.public_key, run_.secret_key);
    auto process = Process::start(options);
    if (!process) return refuse(start.rank, process.error());
    ranks_.erase(start.rank);
    const auto [at, added] =
        ranks_.emplace(start.rank, LocalRank{std::move(*process), LogReader(log)});
    exits_.add(at->second.process.descriptor());
    send(RankStarted{start.rank, at->second.process.pid()});
  }

  void take_signal(const SignalRank& request) {
    const auto at = ranks_.find(request.rank);
    if (at == ranks_.end() || at->second.process.pid() != request.process) return;
    if (request.signal == RankSignal::suspend) suspended_.insert(request.rank);
    else suspended_.erase(request.rank);
    switch (request.signal) {
      case RankSignal::kill: return at->second.process.kill(SIGKILL);
      case RankSignal::suspend: return at->second.process.kill(SIGSTOP);
      case RankSignal::resume: return at->second.process.kill(SIGCONT);
    }
  }

  static ProbeResult result_of(std::int64_t id, const base::Problem& problem) {
    return {id, 0, 0, problem.id, problem.where, problem.what, problem.accepted, problem.advice};
  }

  void take_probe(const ProbeListenRequest& request) {
    auto listener = ProbeListener::listen(request.address, request.token);
    if (!listener) return send(result_of(request.id, listener.error()));
    send(ProbeListening{request.id, listener->port()});
    answers_.push_back(std::async(std::launch::async, [one = std::move(*listener)] {
      static_cast<void>(one.answer(kProbeLimit));
    }));
  }

  void take_probe(const ProbeRequest& request) {
    probes_.push_back(std::async(std::launch::async, [request] {
      const auto figures = probe(request.address, request.port, request.token, kProbeLimit);
      if (!figures) return result_of(request.id, figures.error());
      return ProbeResult{request.id, figures->latency_seconds, figures->bandwidth_bits_per_second};
    }));
  }

  void send_probe_results() {
    const auto is_done = [](const auto& future) {
      return future.wait_for(std::chrono::seconds(0)) == std::future_status::ready;
    };
    for (std::future<ProbeResult>& one : probes_)
      if (is_done(one)) send(one.get());
    std::erase_if(probes_, [](const auto& one) { return !one.valid(); });
    std::erase_if(answers_, is_done);
  }

  // Compares what the ranks send with what arrives at the coordinator.
  Congestion congestion() const {
    const std::uint64_t made = p_.stream->made_bytes();
    const std::uint64_t backlog =
        p_.stream->queued_bytes() + (made - std::min(made, arrived_bytes_));
    return backlog > kSevereBacklog ? Congestion::severe
           : backlog > kSomeBacklog ? Congestion::some
                                    : Congestion::none;
  }

  // Passes frames of ranks on to the coordinator.
  void relay() {
    while (relay_) {
      auto frame = relay_->receive(congestion());
      if (!frame) return;
      auto [at, is_new] = channels_.try_emplace(frame->peer, Channel{});
      if (is_new) {
        at->second = {next_channel_++, false};
        peers_[at->second.number] = frame->peer;
        send(OpenChannel{at->second.number, frame->peer});
      }
      Channel& channel = at->second;
      // The first frame of a connection for heartbeats is none. Frames must not overtake it.
      if (frame->is_heartbeat && !p_.stream->is_queued(channel.number)) channel.is_urgent = true;
      p_.stream->send(channel.number, std::move(frame->bytes), channel.is_urgent);
    }
  }

  void watch_ranks() {
    exits_.clear();
    for (auto at = ranks_.begin(); at != ranks_.end();) {
      LocalRank& rank = at->second;
      const auto ended = rank.process.ended();
      for (std::string text = rank.log.next(); !text.empty(); text = rank.log.next())
        p_.stream->send(kLogChannel, to_text(RankLog{at->first, std::move(text)}));
      if (ended) send(RankEnded{at->first, *ended, rank.process.killed()});
      if (ended) suspended_.erase(at->first);
      at = ended ? ranks_.erase(at) : std::next(at);
    }
  }

  bool is_abandoned() {
    const std::int64_t now = base::now_nanoseconds();
    if (looked_ns_ > 0 && now - looked_ns_ > kOwnSuspension) last_frame_ns_ += now - looked_ns_;
    looked_ns_ = now;
    // The coordinator suspends all ranks before it is suspended itself.
    const bool is_suspended = !ranks_.empty() && suspended_.size() == ranks_.size();
    return now - last_frame_ns_ > (is_suspended ? kSuspendedSilence : kSilence);
  }

  struct Channel {
    std::uint32_t number = 0;
    bool is_urgent = false;  // carries heartbeats
  };

  AgentParts p_;
  PrepareRun run_;
  RankProcessParts shared_;
  std::string endpoint_;
  std::unique_ptr<Relay> relay_;  // null before `prepare`
  std::map<std::int32_t, LocalRank> ranks_;
  std::set<std::int32_t> suspended_;  // ranks that the coordinator suspended
  ProcessExits exits_;
  std::map<PeerId, Channel> channels_;
  std::map<std::uint32_t, PeerId> peers_;  // by channel
  std::uint32_t next_channel_ = kFileChannel + 1;
  std::vector<std::future<ProbeResult>> probes_;
  std::vector<std::future<void>> answers_;
  std::size_t found_files_ = 0;  // number of the run's files that are there
  bool resumed_ = false;         // the file that is received continues an earlier transfer
  std::int64_t last_frame_ns_ = 0, looked_ns_ = 0;
  std::uint64_t arrived_bytes_ = 0;  // at the coordinator
};

}  // namespace

Result<void> run_agent(AgentParts parts) { return Agent(std::move(parts)).run(); }

}  // namespace trainyard::session
