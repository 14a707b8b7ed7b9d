// SPDX-License-Identifier: GPL-3.0-or-later
#include "run_program.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "backends/zmq/control.h"
#include "core/base/clock.h"
#include "core/base/json.h"

namespace trainyard::process {
namespace {

namespace fs = std::filesystem;

std::optional<std::string> exchange_environment(const char* name,
                                                const std::optional<std::string>& value) {
  const char* old = std::getenv(name);
  std::optional<std::string> before =
      old != nullptr ? std::optional<std::string>(old) : std::nullopt;
  value ? ::setenv(name, value->c_str(), 1) : ::unsetenv(name);
  return before;
}

session::Process start(const std::vector<std::string>& arguments, const std::string& before,
                       const std::string& out, const std::string& err) {
  session::ProcessOptions options;
  options.program = "/bin/bash";
  options.arguments = {"-c", before + " exec \"$0\" \"$@\" 2>" + err,
                       TRAINYARD_BIN_DIR "/trainyard-cli"};
  options.arguments.insert(options.arguments.end(), arguments.begin(), arguments.end());
  options.log_file = out;
  auto process = session::Process::start(options);
  EXPECT_TRUE(process) << (process ? "" : base::to_string(process.error()));
  return std::move(*process);
}

// Fields of /proc/PID/stat after the name: state, parent.
char state_of(pid_t pid) {
  const std::string stat = read("/proc/" + std::to_string(pid) + "/stat");
  const auto end = stat.rfind(')');
  return end == std::string::npos || end + 2 >= stat.size() ? 'X' : stat[end + 2];
}

// Number after "--rank" in a command line; -1: it is no rank.
int rank_of(pid_t pid) {
  std::istringstream line(read("/proc/" + std::to_string(pid) + "/cmdline"));
  bool next = false;
  for (std::string word; std::getline(line, word, '\0'); next = word == "--rank")
    if (next) return std::stoi(word);
  return -1;
}

}  // namespace

std::int64_t now_ns() { return base::now_nanoseconds(); }

bool lives(pid_t pid) {
  const char state = state_of(pid);
  return state != 'X' && state != 'Z';
}

bool wait_until_gone(pid_t pid, double seconds) {
  return wait_until(seconds, [pid] { return !lives(pid); });
}

Home::Home()
    : data_(exchange_environment("XDG_DATA_HOME", (scratch_ / "data").string())),
      runtime_(exchange_environment("XDG_RUNTIME_DIR", (scratch_ / "runtime").string())) {}

Home::~Home() {
  exchange_environment("XDG_DATA_HOME", data_);
  exchange_environment("XDG_RUNTIME_DIR", runtime_);
}

std::vector<std::string> short_run(const std::string& experiment, int steps,
                                   const std::vector<std::string>& overrides) {
  const std::vector<std::string> few{"data.train_samples=1000", "data.held_out_samples=100",
                                     "run.evaluate_every_steps=1000000"};
  return with_set({"run", experiment, "--json", "--steps", std::to_string(steps)},
                  with(few, overrides));
}

std::vector<std::string> endless_run(const std::string& experiment,
                                     const std::vector<std::string>& overrides) {
  return short_run(experiment, 10'000'000, with({"run.record_ops=false"}, overrides));
}

base::Json completed(const std::vector<std::string>& arguments) {
  const Ran ran = cli(arguments);
  EXPECT_EQ(ran.exit_code, 0) << ran.err;
  const base::Json result = ran.result();
  EXPECT_EQ(result.value("status", ""), "completed") << result;
  return result;
}

std::set<std::string> weights_of(const base::Json& result) {
  std::set<std::string> hashes;
  for (const base::Json& rank : result["ranks"])
    hashes.insert(rank["parameters_xxh64"].get<std::string>());
  return hashes;
}

void expect_all_end_alike(const base::Json& result) {
  for (const base::Json& rank : result["ranks"]) {
    EXPECT_FALSE(rank["parameters_xxh64"].is_null());
    EXPECT_EQ(rank["parameters_xxh64"], result["ranks"][0]["parameters_xxh64"]);
  }
}

RunProgram::RunProgram(const Home& home, const std::vector<std::string>& arguments,
                       const std::string& before)
    : home_runs_(home.runs()),
      out_((home / ("out" + std::to_string(now_ns()))).string()),
      err_(out_ + "_err"),
      process_(start(arguments, before, out_, err_)) {}

// A stopped rank would outlive a coordinator that a failed test leaves.
RunProgram::~RunProgram() {
  for (const RankProcess& rank : ranks()) ::kill(rank.pid, SIGKILL);
}

std::int64_t RunProgram::last_step() const {
  std::int64_t step = -1;
  std::istringstream lines(read(out_));
  for (std::string line; std::getline(lines, line);) {
    const auto json = base::Json::parse(line, nullptr, false);
    if (json.is_object() && json.value("state", "") == "running")
      step = json.value("step", std::int64_t{-1});
  }
  return step;
}

bool RunProgram::wait_for_step(std::int64_t step) {
  const bool there = wait_until(60, [&] { return last_step() >= step || process_.ended(); }) &&
                     last_step() >= step;
  EXPECT_TRUE(there) << read(out_) << read(err_);
  return there;
}

std::vector<RankProcess> RunProgram::ranks() const {
  std::vector<RankProcess> ranks;
  const std::string id = std::to_string(pid());
  std::istringstream children(read("/proc/" + id + "/task/" + id + "/children"));
  for (pid_t child = 0; children >> child;)
    if (const int rank = rank_of(child); rank >= 0 && lives(child)) ranks.push_back({rank, child});
  std::sort(ranks.begin(), ranks.end(),
            [](const RankProcess& a, const RankProcess& b) { return a.rank < b.rank; });
  return ranks;
}

fs::path RunProgram::run_directory() const {
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(home_runs_, error)) return entry.path();
  return {};
}

std::string RunProgram::endpoint() const {
  const std::string line = read(run_directory() / "control");
  return line.substr(0, line.find('\n'));
}

std::unique_ptr<session::ControlClient> RunProgram::client() const {
  return zmq::connect(endpoint()).value();
}

Ran RunProgram::wait() {
  const bool over = wait_until(120, [&] { return process_.ended().has_value(); });
  EXPECT_TRUE(over) << "the run does not end: " << read(out_) << read(err_);
  if (!over) process_.kill(SIGKILL);
  return {process_.exit_code(), read(out_), read(err_)};
}

}  // namespace trainyard::process
