// SPDX-License-Identifier: GPL-3.0-or-later
// An agent and the coordinator's side of it, connected by a socket pair. Ranks are shell scripts.
#include "core/session/hosts/remote_host.h"

#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <deque>
#include <fstream>
#include <mutex>
#include <thread>

#include "core/base/clock.h"
#include "core/base/file.h"
#include "core/session/hosts/agent.h"

namespace trainyard::session {
namespace {

template <class Done>
bool comes_true(const Done& done) {
  for (const std::int64_t end = base::now_nanoseconds() + 10'000'000'000;
       !done() && base::now_nanoseconds() < end;)
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  return done();
}

// Frames that a relay passes on, and those that the test puts in. Thread-safe.
class Frames {
 public:
  void put(RelayedFrame frame) {
    const std::lock_guard lock(mutex_);
    waiting_.push_back(std::move(frame));
  }
  std::optional<RelayedFrame> next() {
    const std::lock_guard lock(mutex_);
    if (waiting_.empty()) return std::nullopt;
    RelayedFrame frame = std::move(waiting_.front());
    waiting_.pop_front();
    return frame;
  }
  void passed(const PeerId& peer, std::string_view bytes) {
    const std::lock_guard lock(mutex_);
    passed_.push_back(peer + ":" + std::string(bytes));
  }
  std::vector<std::string> passed() {
    const std::lock_guard lock(mutex_);
    return passed_;
  }

 private:
  std::mutex mutex_;
  std::deque<RelayedFrame> waiting_;
  std::vector<std::string> passed_;
};

class FakeRelay final : public Relay {
 public:
  explicit FakeRelay(Frames& frames) : frames_(frames) {}
  std::optional<RelayedFrame> receive(Congestion) override { return frames_.next(); }
  void send(const PeerId& peer, std::string_view bytes) override { frames_.passed(peer, bytes); }
  base::Result<void> wait(std::span<pollfd> also, std::chrono::milliseconds) override {
    ::poll(also.data(), also.size(), 2);
    return {};
  }

 private:
  Frames& frames_;
};

class RemoteHosts : public testing::Test {
 protected:
  RemoteHosts() {
    std::string pattern = "/tmp/trainyard-agent-test-XXXXXX";
    directory_ = ::mkdtemp(pattern.data());
    std::array<int, 2> ends{};
    EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()), 0);
    AgentParts agent;
    agent.stream = std::make_unique<FrameStream>(ends[0], ends[0], "coordinator");
    agent.hello = {.software = "1.2", .host = "far", .cores = 7, .addresses = {"10.0.0.2"}};
    agent.rank_program = directory_ / "rank";
    agent.directory = directory_;
    agent.files = std::make_unique<FileCache>(cache(), 1 << 20);
    agent.relay_ranks = [this](const std::string&, int) -> base::Result<std::unique_ptr<Relay>> {
      return std::make_unique<FakeRelay>(of_ranks_);
    };
    agent.prepare = [](const PrepareRun&) {
      return base::Result<RankProcessParts>({{"--of-host"}, {"OF_HOST=1"}, {}});
    };
    agent_ = std::thread([this, parts = std::make_shared<AgentParts>(std::move(agent))] {
      served_ = run_agent(std::move(*parts)).has_value();
      is_over_ = true;
    });
    RemoteHostParts parts;
    parts.name = "host1";
    parts.stream = std::make_unique<FrameStream>(ends[1], ends[1], "host1");
    parts.relay_to_coordinator = [this]() -> base::Result<std::unique_ptr<Relay>> {
      return std::make_unique<FakeRelay>(of_coordinator_);
    };
    parts.log = [this](int rank, const std::string& text) {
      const std::lock_guard lock(mutex_);
      log_ += std::to_string(rank) + ">" + text;
    };
    auto host = RemoteHost::connect(std::move(parts), 10);
    EXPECT_TRUE(host) << base::to_string(host.error());
    host_ = std::move(*host);
  }
  ~RemoteHosts() override {
    host_.reset();
    agent_.join();
    std::filesystem::remove_all(directory_);
  }

  // Makes the program of the ranks: a script.
  void ranks_are(const std::string& script) const {
    const std::filesystem::path program = directory_ / "rank";
    std::ofstream(program) << "#!/bin/sh\nread token; read public; read secret\n" << script << "\n";
    std::filesystem::permissions(program, std::filesystem::perms::owner_all);
  }
  std::filesystem::path cache() const { return directory_ / "cache"; }
  std::filesystem::path cache_file(const SourceFile& one, const std::string& suffix) const {
    std::filesystem::create_directories(cache());
    return cache() / (one.file.hash + suffix);
  }
  // Makes a file of this machine.
  SourceFile file(const std::string& name, const std::string& content) const {
    const std::filesystem::path source = directory_ / name;
    std::ofstream(source, std::ios::binary) << content;
    return {{"data/" + name, base::hash_of_file(source).value(), std::ssize(content)}, source};
  }
  static PrepareRun small_run() {
    return {.run = "r", .software = "1.2", .ranks = 2, .public_key = "P", .secret_key = "S"};
  }
  std::string log() {
    const std::lock_guard lock(mutex_);
    return log_;
  }

  std::filesystem::path directory_;
  Frames of_ranks_, of_coordinator_;
  std::atomic<bool> served_{false}, is_over_{false};
  std::shared_ptr<RemoteHost> host_;

 private:
  std::thread agent_;
  std::mutex mutex_;
  std::string log_;
};

TEST_F(RemoteHosts, agent_says_what_its_host_is) {
  EXPECT_EQ(host_->hello().host, "far");
  EXPECT_EQ(host_->hello().cores, 7);
  EXPECT_EQ(host_->hello().addresses, std::vector<std::string>{"10.0.0.2"});
}

TEST_F(RemoteHosts, another_version_is_refused) {
  PrepareRun run = small_run();
  run.software = "1.3";
  const auto prepared = host_->prepare(run, {});
  ASSERT_FALSE(prepared);
  EXPECT_EQ(prepared.error().id, "other_version") << base::to_string(prepared.error());
  EXPECT_EQ(prepared.error().where, "host1");
}

TEST_F(RemoteHosts, rank_starts_logs_and_ends) {
  ranks_are("echo \"$token $public $secret $OF_HOST $OPENBLAS_NUM_THREADS $*\"; exit 5");
  ASSERT_TRUE(host_->prepare(small_run(), {}));
  const auto rank = host_->start({.rank = 3, .token = "T", .cores = 2});
  ASSERT_TRUE(rank) << base::to_string(rank.error());
  EXPECT_GT((*rank)->process(), 0);
  ASSERT_TRUE(comes_true([&] { return (*rank)->ended().has_value(); }));
  EXPECT_EQ((*rank)->ended(), "exit status 5");
  EXPECT_FALSE((*rank)->killed());
  pollfd end{(*rank)->end_descriptor(), POLLIN, 0};
  EXPECT_EQ(::poll(&end, 1, 0), 1) << "the coordinator is woken";
  ASSERT_TRUE(comes_true([&] { return log().ends_with("\n"); })) << log();
  EXPECT_EQ(log().substr(0, 12), "3>T P S 1 2 ");
  EXPECT_NE(log().find("--rank 3"), std::string::npos) << log();
  EXPECT_NE(log().find("--of-host"), std::string::npos) << log();
  EXPECT_EQ(log().find("--token"), std::string::npos) << "secrets are on standard input";
}

TEST_F(RemoteHosts, rank_can_be_killed) {
  ranks_are("exec sleep 100");
  ASSERT_TRUE(host_->prepare(small_run(), {}));
  const auto rank = host_->start({.rank = 0, .token = "T"});
  ASSERT_TRUE(rank);
  EXPECT_FALSE((*rank)->ended());
  (*rank)->kill();
  ASSERT_TRUE(comes_true([&] { return (*rank)->ended().has_value(); }));
  EXPECT_TRUE((*rank)->killed());
  EXPECT_EQ((*rank)->ended()->substr(0, 8), "signal 9");
}

TEST_F(RemoteHosts, rank_that_cannot_start_is_a_problem) {
  ASSERT_TRUE(host_->prepare(small_run(), {}));
  const auto rank = host_->start({.rank = 0, .token = "T"});
  ASSERT_FALSE(rank) << "there is no program";
  EXPECT_EQ(rank.error().where, "host1");
}

TEST_F(RemoteHosts, frames_are_relayed_in_both_directions_unchanged) {
  ASSERT_TRUE(host_->prepare(small_run(), {}));
  const std::string long_one(200'000, 'x');
  of_ranks_.put({"a", "hello", false});
  of_ranks_.put({"a", long_one, false});
  of_ranks_.put({"b", "beat", true});
  ASSERT_TRUE(comes_true([&] { return of_coordinator_.passed().size() == 3; }));
  std::vector<std::string> arrived = of_coordinator_.passed();
  std::erase(arrived, "b:beat");
  EXPECT_EQ(arrived, (std::vector<std::string>{"a:hello", "a:" + long_one})) << "in order";
  of_coordinator_.put({"b", "answer", false});
  ASSERT_TRUE(comes_true([&] { return of_ranks_.passed().size() == 1; }));
  EXPECT_EQ(of_ranks_.passed(), std::vector<std::string>{"b:answer"});
}

TEST_F(RemoteHosts, ranks_end_with_the_connection) {
  ranks_are("exec sleep 100");
  ASSERT_TRUE(host_->prepare(small_run(), {}));
  auto rank = host_->start({.rank = 0, .token = "T"});
  ASSERT_TRUE(rank);
  const auto process = static_cast<pid_t>((*rank)->process());
  rank->reset();
  host_.reset();
  EXPECT_TRUE(comes_true([&] { return is_over_.load(); }));
  EXPECT_TRUE(served_);
  EXPECT_TRUE(comes_true([&] { return ::kill(process, 0) != 0; }));
}

TEST_F(RemoteHosts, files_are_sent_once_and_linked) {
  const std::string long_one(700'000, 'x');
  const std::vector<SourceFile> files{file("long.csv", long_one), file("short.csv", "1,2\n"),
                                      file("empty.csv", "")};
  std::ofstream(cache_file(files[1], "")) << "1,2\n";
  std::ofstream(cache_file(files[0], ".part")) << long_one.substr(0, 300'000);
  const auto directory = host_->prepare(small_run(), files);
  ASSERT_TRUE(directory) << base::to_string(directory.error());
  for (const SourceFile& one : files) {
    const std::filesystem::path path = std::filesystem::path(*directory) / one.file.path;
    EXPECT_EQ(base::read_file(path, 1 << 20), base::read_file(one.source, 1 << 20));
    EXPECT_EQ(std::filesystem::read_symlink(path), cache_file(one, ""));
  }
  EXPECT_FALSE(std::filesystem::exists(cache_file(files[0], ".part")));
}

TEST_F(RemoteHosts, damaged_beginnings_of_files_are_sent_again) {
  const SourceFile one = file("long.csv", std::string(700'000, 'x'));
  std::ofstream(cache_file(one, ".part")) << std::string(300'000, 'y');
  const auto directory = host_->prepare(small_run(), {one});
  ASSERT_TRUE(directory) << base::to_string(directory.error());
  EXPECT_EQ(base::hash_of_file(cache_file(one, "")), one.file.hash);
}

TEST_F(RemoteHosts, complete_files_with_wrong_bytes_are_sent_again) {
  const SourceFile one = file("long.csv", std::string(300'000, 'x'));
  std::ofstream(cache_file(one, ".part")) << std::string(300'000, 'y');
  const auto directory = host_->prepare(small_run(), {one});
  ASSERT_TRUE(directory) << base::to_string(directory.error());
  EXPECT_EQ(base::hash_of_file(cache_file(one, "")), one.file.hash);
}

TEST_F(RemoteHosts, hashes_that_are_paths_are_refused) {
  SourceFile one = file("a.csv", "1,2\n");
  one.file.hash = "../../../../../../../../tmp/xxxx";
  ASSERT_EQ(one.file.hash.size(), 32U);
  EXPECT_EQ(host_->prepare(small_run(), {one}).error().id, "bad_message");
}

// A replacement starts before the handle of the lost rank is destroyed.
TEST_F(RemoteHosts, handle_of_a_lost_rank_does_not_kill_its_replacement) {
  ranks_are("exec sleep 100");
  ASSERT_TRUE(host_->prepare(small_run(), {}));
  auto first = host_->start({.rank = 0, .token = "T"});
  ASSERT_TRUE(first);
  (*first)->kill();
  ASSERT_TRUE(comes_true([&] { return (*first)->ended().has_value(); }));
  const auto second = host_->start({.rank = 0, .token = "T"});
  ASSERT_TRUE(second);
  first->reset();
  std::this_thread::sleep_for(std::chrono::milliseconds(300));
  EXPECT_FALSE((*second)->ended());
}

TEST_F(RemoteHosts, files_that_change_while_a_run_starts_are_a_problem) {
  const SourceFile one = file("long.csv", std::string(700'000, 'x'));
  std::ofstream(one.source) << std::string(700'000, 'z');
  EXPECT_EQ(host_->prepare(small_run(), {one}).error().id, "file_damaged");
}

TEST_F(RemoteHosts, files_outside_of_their_directory_are_refused) {
  SourceFile one = file("a.csv", "1,2\n");
  one.file.path = "../a.csv";
  EXPECT_FALSE(host_->prepare(small_run(), {one}));
}

TEST_F(RemoteHosts, clock_of_the_host_is_estimated) {
  ASSERT_TRUE(comes_true([&] { return host_->clock_offset().has_value(); }));
  const ClockOffset offset = *host_->clock_offset();  // both use the clock of this machine
  EXPECT_LT(std::abs(offset.seconds), offset.uncertainty_seconds + 1e-6);
  EXPECT_LT(offset.uncertainty_seconds, 1);
}

}  // namespace
}  // namespace trainyard::session
