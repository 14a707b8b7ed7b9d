// SPDX-License-Identifier: GPL-3.0-or-later
// `trainyard-cli run` in the background, and what tests do to it: wait, look at its ranks, send
// signals.
#pragma once

#include <chrono>
#include <csignal>
#include <filesystem>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "cli_program.h"
#include "core/session/protocol/control.h"
#include "core/session/system/process.h"

namespace trainyard::process {

// Seconds within which a process ends after a request, or after the loss of an essential part;
// sanitizers are slow.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr double promised = 30;
#else
constexpr double promised = 5;
#endif

// Private directories for a test's runs and sockets, by XDG_DATA_HOME and XDG_RUNTIME_DIR of this
// process. Restores the old values.
class Home {
 public:
  Home();
  ~Home();
  Home(const Home&) = delete;
  Home& operator=(const Home&) = delete;

  std::filesystem::path runs() const { return scratch_ / "data" / "trainyard" / "runs"; }
  std::filesystem::path sockets() const { return scratch_ / "runtime" / "trainyard"; }
  std::filesystem::path operator/(const std::string& name) const { return scratch_ / name; }
  const Scratch& scratch() const { return scratch_; }

 private:
  Scratch scratch_;
  std::optional<std::string> data_, runtime_;
};

// Arguments of a short run of `example`, on few samples, with --json.
std::vector<std::string> short_run(const std::string& experiment, int steps,
                                   const std::vector<std::string>& overrides = {});
// Arguments of a run that continues until it is stopped.
std::vector<std::string> endless_run(const std::string& experiment,
                                     const std::vector<std::string>& overrides = {});
// The result of a run with these arguments; the test fails where it does not complete.
base::Json completed(const std::vector<std::string>& arguments);
std::set<std::string> weights_of(
    const base::Json& result);  // their hashes: one where all ranks have the same
void expect_all_end_alike(const base::Json& result);  // with weights, all the same

struct RankProcess {
  int rank = -1;
  pid_t pid = -1;
};

class RunProgram {
 public:
  // `before` is shell that runs in the process before it becomes the program: limits, for instance.
  RunProgram(const Home& home, const std::vector<std::string>& arguments,
             const std::string& before = "");
  ~RunProgram();
  RunProgram(const RunProgram&) = delete;
  RunProgram& operator=(const RunProgram&) = delete;

  pid_t pid() const { return process_.pid(); }
  void signal(int number) { process_.kill(number); }

  // False, and the test fails, when it does not come to that within a minute.
  bool wait_for_step(std::int64_t step);
  std::vector<RankProcess> ranks() const;                  // those that live, by rank
  std::filesystem::path run_directory() const;             // of the only run in its home
  std::string endpoint() const;                            // of its control socket
  std::unique_ptr<session::ControlClient> client() const;  // of a viewer

  Ran wait();  // its end, within two minutes

 private:
  std::int64_t last_step() const;

  std::filesystem::path home_runs_;
  std::string out_, err_;
  session::Process process_;
};

bool lives(pid_t pid);  // a zombie does not
bool wait_until_gone(pid_t pid, double seconds);
std::int64_t now_ns();

template <class Done>
bool wait_until(double seconds, const Done& done) {
  for (const std::int64_t end = now_ns() + static_cast<std::int64_t>(seconds * 1e9); now_ns() < end;
       std::this_thread::sleep_for(std::chrono::milliseconds(10)))
    if (done()) return true;
  return done();
}

}  // namespace trainyard::process
