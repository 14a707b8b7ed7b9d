// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/session/hosts/remote_host.h"

#include <fmt/core.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <deque>
#include <fstream>
#include <map>
#include <mutex>
#include <thread>

#include "core/base/clock.h"
#include "core/base/descriptor.h"
#include "core/base/log.h"
#include "core/base/units.h"

namespace trainyard::session {
namespace {

using base::Problem;
using base::ProblemCode;
using base::Result;

constexpr std::chrono::milliseconds kTick{100};
constexpr double kAnswerSeconds = 30;
constexpr int kNoRank = -2;  // no request that an agent refuses
constexpr std::int64_t kTimeRequestEvery = 1'000'000'000;
// A host is given up after this long without any frame. Its agent answers a request for the time
// every second, and ends by itself after 10 s without requests.
constexpr std::uint64_t kStateEveryBytes = 32'768;
constexpr std::int64_t kSilence = 15'000'000'000, kOwnSuspension = 2'000'000'000;
// Files are sent in pieces. Only a few are queued, so that they do not fill the memory.
constexpr std::int64_t kFilePieceBytes = std::int64_t{256} << 10;
constexpr std::size_t kMaxQueuedFileBytes = std::size_t{1} << 20;

void raise_event(int descriptor) {
  const std::uint64_t one = 1;
  [[maybe_unused]] const ssize_t written = ::write(descriptor, &one, sizeof one);
}

void clear_event(int descriptor) {
  std::uint64_t count = 0;
  [[maybe_unused]] const ssize_t got = ::read(descriptor, &count, sizeof count);
}

base::Descriptor make_event() { return base::Descriptor(::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)); }

// State of a rank's process, shared by its handle and the thread of the host.
struct RankState {
  std::mutex mutex;
  std::int64_t process = 0;
  std::optional<std::string> ended;
  bool killed = false;
  base::Descriptor end_event = make_event();

  void end(const std::string& how, bool by_signal) {
    const std::lock_guard lock(mutex);
    if (ended) return;
    ended = how;
    killed = by_signal;
    raise_event(end_event.get());
  }
};

class Host final : public RemoteHost, public std::enable_shared_from_this<Host> {
 public:
  explicit Host(RemoteHostParts parts) : p_(std::move(parts)) {}
  ~Host() override {
    {
      const std::lock_guard lock(mutex_);
      closing_ = true;
    }
    raise_event(wake_.get());
    if (thread_.joinable()) thread_.join();
  }

  Result<void> open(double limit_seconds) {
    thread_ = std::thread([this] { serve(); });
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, std::chrono::duration<double>(limit_seconds),
                      [this] { return hello_ || failure_; });
    if (hello_) return {};
    if (failure_) return base::fail(*failure_);
    return base::fail(Problem{"host_silent", ProblemCode::unavailable, p_.name,
                              fmt::format("the agent did not answer for {:.0f} s", limit_seconds),
                              "", "Check that trainyard-agent runs on the host."});
  }

  const AgentHello& hello() const override { return *hello_; }

  Result<std::string> prepare(const PrepareRun& run,
                              const std::vector<SourceFile>& files) override {
    std::unique_lock lock(mutex_);
    files_ = files;
    PrepareRun request = run;
    for (const SourceFile& one : files) request.files.push_back(one.file);
    queue(request);
    const auto prepared = [this] { return prepared_.has_value(); };
    return await(lock, prepared, -1).map([&] { return prepared_->files; });
  }

  Result<std::unique_ptr<RankHandle>> start(const StartRank& rank) override;

  Result<int> listen_for_probe(const std::string& address, const std::string& token) override {
    std::unique_lock lock(mutex_);
    const std::int64_t id = ++probe_id_;
    queue(ProbeListenRequest{id, address, token});
    const auto answered = [&] { return ports_.contains(id) || results_.contains(id); };
    if (auto ok = await(lock, answered, kNoRank); !ok) return base::fail(ok.error());
    if (const auto port = ports_.find(id); port != ports_.end()) return port->second;
    return base::fail(problem_of(results_.at(id)));
  }

  Result<ProbeFigures> probe_peer(const std::string& address, int port,
                                  const std::string& token) override {
    std::unique_lock lock(mutex_);
    const std::int64_t id = ++probe_id_;
    queue(ProbeRequest{id, address, port, token});
    if (auto ok = await(
            lock, [&] { return results_.contains(id); }, kNoRank);
        !ok)
      return base::fail(ok.error());
    const ProbeResult& result = results_.at(id);
    if (!result.problem.empty()) return base::fail(problem_of(result));
    return ProbeFigures{result.latency_seconds, result.bandwidth_bits_per_second};
  }

  double silent_seconds() const override {
    return base::seconds(base::now_nanoseconds() - heard_ns_.load());
  }

  std::optional<ClockOffset> clock_offset() const override {
    const std::lock_guard lock(mutex_);
    return offset_;
  }

  void signal(int rank, RankSignal signal, std::int64_t process) {
    const std::lock_guard lock(mutex_);
    queue(SignalRank{rank, signal, process});
  }

 private:
  static Problem problem_of(const ProbeResult& result) {
    return {result.problem, ProblemCode::unavailable, result.where,
            result.what,    result.accepted,          result.advice};
  }

  // Call with the mutex held.
  void queue(const AgentMessage& message) {
    requests_.push_back(to_text(message));
    raise_event(wake_.get());
  }

  // Waits until `done`, or until the agent refused the request of this rank. While files are sent,
  // the limit starts again.
  template <class Done>
  Result<void> await(std::unique_lock<std::mutex>& lock, const Done& done, int rank) {
    const auto refused = [&] { return refusals_.contains(rank); };
    std::int64_t sent = -1, since_ns = base::now_nanoseconds();
    while (!changed_.wait_for(lock, kTick, [&] { return done() || failure_ || refused(); })) {
      if (p_.is_canceled && p_.is_canceled())
        return base::fail(
            Problem{"canceled", ProblemCode::canceled, p_.name, "canceled by the user", "", ""});
      const std::int64_t now = base::now_nanoseconds();
      if (std::exchange(sent, file_bytes_sent_) != file_bytes_sent_) since_ns = now;
      if (base::seconds(now - since_ns) > kAnswerSeconds) break;
    }
    if (done()) return {};
    if (refused()) return base::fail(refusals_.extract(rank).mapped());
    if (failure_) return base::fail(*failure_);
    return base::fail(Problem{"host_silent", ProblemCode::unavailable, p_.name,
                              fmt::format("the agent did not answer for {:.0f} s", kAnswerSeconds),
                              "", "Check the host and the network."});
  }

  void serve() {
    Result<void> served;
    while (served) served = serve_once();
    fail_with(served.error());
  }

  Result<void> serve_once() {
    {
      const std::lock_guard lock(mutex_);
      if (closing_)
        return base::fail(Problem{"closed", ProblemCode::canceled, p_.name, "", "", ""});
      for (std::string& request : requests_)
        p_.stream->send(kCommandChannel, std::move(request), true);
      requests_.clear();
    }
    if (auto ok = check_silence(); !ok) return ok;
    ask_for_time();
    if (auto ok = send_file(); !ok) return ok;
    if (auto ok = p_.stream->write(); !ok) return ok;
    std::vector<pollfd> items{{p_.stream->input(), POLLIN, 0}, {wake_.get(), POLLIN, 0}};
    if (p_.stream->has_output()) items.push_back({p_.stream->output(), POLLOUT, 0});
    if (relay_) {
      if (auto ok = relay_->wait(items, kTick); !ok) return ok;
    } else {
      ::poll(items.data(), items.size(), static_cast<int>(kTick.count()));
    }
    clear_event(wake_.get());
    const auto read = p_.stream->read();
    while (const auto message = p_.stream->take())
      if (auto ok = take(*message); !ok) return ok;
    state_arrived_bytes();
    while (relay_) {
      auto frame = relay_->receive(Congestion::none);
      if (!frame) break;
      if (const auto channel = channels_.find(frame->peer); channel != channels_.end())
        p_.stream->send(channel->second, std::move(frame->bytes));
    }
    return read;
  }

  // Gives up a host whose agent sends nothing, although ssh still runs. Time for which this process
  // was suspended does not count.
  Result<void> check_silence() {
    const std::int64_t now = base::now_nanoseconds();
    if (looked_ns_ > 0 && now - looked_ns_ > kOwnSuspension)
      heard_ns_.store(heard_ns_.load() + now - looked_ns_);
    looked_ns_ = now;
    if (!p_.stream->has_begun() || now - heard_ns_.load() <= kSilence) return {};
    return base::fail(
        Problem{"host_silent", ProblemCode::unavailable, p_.name,
                fmt::format("nothing arrived from the agent for {:.0f} s", base::seconds(kSilence)),
                "", "Check the machine and the network."});
  }

  Result<void> begin_file(const FileRequest& request) {
    const auto is_requested = [&](const SourceFile& one) { return one.file.hash == request.hash; };
    const auto file = std::ranges::find_if(files_, is_requested);
    if (file == files_.end() || request.offset >= file->file.bytes)
      return base::fail(Problem{"bad_message", ProblemCode::bad_input, p_.name,
                                "the host requested a file that is not of this run", "", ""});
    base::log_info(
        fmt::format("sends {} to {}: {}", file->source.filename().string(), p_.name,
                    base::format_bytes(static_cast<double>(file->file.bytes - request.offset))));
    sending_ = file->source;
    source_.close();
    source_.clear();
    source_.open(file->source, std::ios::binary);
    source_.seekg(request.offset);
    unsent_bytes_ = file->file.bytes - request.offset;
    return {};
  }

  // Queues the next bytes of a requested file, if few others are queued.
  Result<void> send_file() {
    while (unsent_bytes_ > 0 && p_.stream->queued_bytes() < kMaxQueuedFileBytes) {
      std::string bytes(static_cast<std::size_t>(std::min(unsent_bytes_, kFilePieceBytes)), '\0');
      if (!source_.read(bytes.data(), std::ssize(bytes)))
        return base::fail(Problem{"file_changed", ProblemCode::unavailable, sending_.string(),
                                  "the file became shorter while it was sent", "",
                                  "Do not change data files while a run starts. Run again."});
      unsent_bytes_ -= std::ssize(bytes);
      {
        const std::lock_guard lock(mutex_);
        file_bytes_sent_ += std::ssize(bytes);
      }
      p_.stream->send(kFileChannel, std::move(bytes));
    }
    return {};
  }

  void state_arrived_bytes() {
    const std::uint64_t arrived = p_.stream->arrived_bytes();
    if (arrived - stated_bytes_ < kStateEveryBytes) return;
    stated_bytes_ = arrived;
    p_.stream->send(kCommandChannel, to_text(BytesArrived{static_cast<std::int64_t>(arrived)}),
                    true);
  }

  void ask_for_time() {
    const std::int64_t now = base::now_nanoseconds();
    if (!p_.stream->has_begun() || now - asked_ns_ < kTimeRequestEvery) return;
    asked_ns_ = now;
    p_.stream->send(kCommandChannel, to_text(TimeRequest{now}), true);
  }

  Result<void> take(const ChannelMessage& message) {
    heard_ns_.store(base::now_nanoseconds());
    if (message.channel > kFileChannel) {
      if (const auto peer = peers_.find(message.channel); relay_ && peer != peers_.end())
        relay_->send(peer->second, message.bytes);
      return {};
    }
    const auto command = agent_message_from(message.bytes, p_.name);
    if (!command) return base::fail(command.error());
    if (const auto* log = std::get_if<RankLog>(&*command)) {
      if (p_.log) p_.log(log->rank, log->text);
      return {};
    }
    if (const auto* open = std::get_if<OpenChannel>(&*command)) return open_channel(*open);
    const std::lock_guard lock(mutex_);
    if (const auto* hello = std::get_if<AgentHello>(&*command)) hello_ = *hello;
    else if (const auto* prepared = std::get_if<RunPrepared>(&*command)) prepared_ = *prepared;
    else if (const auto* request = std::get_if<FileRequest>(&*command)) return begin_file(*request);
    else if (const auto* started = std::get_if<RankStarted>(&*command)) take_started(*started);
    else if (const auto* ended = std::get_if<RankEnded>(&*command)) take_ended(*ended);
    else if (const auto* answer = std::get_if<TimeAnswer>(&*command)) take_time(*answer);
    else if (const auto* listening = std::get_if<ProbeListening>(&*command))
      ports_[listening->id] = listening->port;
    else if (const auto* result = std::get_if<ProbeResult>(&*command))
      results_[result->id] = *result;
    else if (const auto* refused = std::get_if<RequestRefused>(&*command))
      refusals_.insert_or_assign(refused->rank,
                                 Problem{refused->id, ProblemCode::failed, p_.name, refused->what,
                                         refused->accepted, refused->advice});
    changed_.notify_all();
    return {};
  }

  Result<void> open_channel(const OpenChannel& open) {
    if (!relay_) {
      auto relay = p_.relay_to_coordinator();
      if (!relay) return base::fail(relay.error());
      relay_ = std::move(*relay);
    }
    const auto number = static_cast<std::uint32_t>(open.channel);
    channels_[open.peer] = number;
    peers_[number] = open.peer;
    return {};
  }

  void take_started(const RankStarted& started) {
    const auto state = ranks_.find(started.rank);
    if (state == ranks_.end()) return;
    const std::lock_guard lock(state->second->mutex);
    state->second->process = started.process;
  }

  void take_ended(const RankEnded& ended) {
    if (const auto state = ranks_.find(ended.rank); state != ranks_.end())
      state->second->end(ended.how, ended.killed);
  }

  // The answer was made in the middle of the round trip, give or take half of it. The shortest
  // round trip gives the best estimate (Cristian 1989).
  void take_time(const TimeAnswer& answer) {
    const std::int64_t now = base::now_nanoseconds(), trip = now - answer.sent_ns;
    if (trip < 0 || (offset_ && base::seconds(trip) / 2 >= offset_->uncertainty_seconds)) return;
    offset_ = {base::seconds(answer.agent_ns - (answer.sent_ns + trip / 2)),
               base::seconds(answer.wall_ns - (wall_nanoseconds() - trip / 2)),
               base::seconds(trip) / 2};
  }

  void fail_with(const Problem& problem) {
    const std::lock_guard lock(mutex_);
    failure_ = problem;
    for (const auto& [rank, state] : ranks_)
      state->end(fmt::format("the loss of the connection to {}", p_.name), true);
    p_.stream.reset();  // ends the agent, and with it the ranks
    changed_.notify_all();
  }

  RemoteHostParts p_;
  base::Descriptor wake_ = make_event();

  // For all threads.
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::string> requests_;
  bool closing_ = false;
  std::optional<RunPrepared> prepared_;
  std::int64_t file_bytes_sent_ = 0;
  std::optional<AgentHello> hello_;
  std::optional<Problem> failure_;
  std::map<int, Problem> refusals_;  // by rank; -1: the run
  std::map<int, std::shared_ptr<RankState>> ranks_;
  std::optional<ClockOffset> offset_;
  std::atomic<std::int64_t> heard_ns_{base::now_nanoseconds()};
  std::int64_t probe_id_ = 0;
  std::map<std::int64_t, int> ports_;            // of listeners for probes, by request
  std::map<std::int64_t, ProbeResult> results_;  // of probes, by request

  // For the thread of the host.
  std::unique_ptr<Relay> relay_;  // null until the first rank connects
  std::map<PeerId, std::uint32_t> channels_;
  std::map<std::uint32_t, PeerId> peers_;
  std::int64_t asked_ns_ = 0, looked_ns_ = 0;
  std::uint64_t stated_bytes_ = 0;  // last number in BytesArrived
  std::vector<SourceFile> files_;   // set before the request is sent
  std::filesystem::path sending_;
  std::ifstream source_;
  std::int64_t unsent_bytes_ = 0;  // of the file that is sent
  std::thread thread_;
};

class RemoteRank final : public RankHandle {
 public:
  RemoteRank(std::shared_ptr<Host> host, int rank, std::shared_ptr<RankState> state)
      : host_(std::move(host)), rank_(rank), state_(std::move(state)) {}
  ~RemoteRank() override { kill(); }

  std::optional<std::string> ended() override {
    const std::lock_guard lock(state_->mutex);
    return state_->ended;
  }
  bool killed() override {
    const std::lock_guard lock(state_->mutex);
    return state_->killed;
  }
  std::int64_t process() const override {
    const std::lock_guard lock(state_->mutex);
    return state_->process;
  }
  int end_descriptor() const override { return state_->end_event.get(); }
  std::optional<ClockOffset> clock_offset() override { return host_->clock_offset(); }
  double host_silent_seconds() override { return host_->silent_seconds(); }
  void kill() override {
    if (!ended()) host_->signal(rank_, RankSignal::kill, process());
  }
  bool stall(bool on) override {
    host_->signal(rank_, on ? RankSignal::suspend : RankSignal::resume, process());
    return true;
  }

 private:
  std::shared_ptr<Host> host_;
  int rank_;
  std::shared_ptr<RankState> state_;
};

Result<std::unique_ptr<RankHandle>> Host::start(const StartRank& rank) {
  auto state = std::make_shared<RankState>();
  std::unique_lock lock(mutex_);
  ranks_[rank.rank] = state;
  queue(rank);
  const auto started = [&] {
    const std::lock_guard of_rank(state->mutex);
    return state->process > 0;
  };
  if (auto ok = await(lock, started, rank.rank); !ok) return base::fail(ok.error());
  return std::make_unique<RemoteRank>(shared_from_this(), rank.rank, std::move(state));
}

}  // namespace

Result<std::shared_ptr<RemoteHost>> RemoteHost::connect(RemoteHostParts parts,
                                                        double limit_seconds) {
  auto host = std::make_shared<Host>(std::move(parts));
  if (auto ok = host->open(limit_seconds); !ok) return base::fail(ok.error());
  return host;
}

}  // namespace trainyard::session
