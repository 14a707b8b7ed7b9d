// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <gtest/gtest.h>

#include "core/base/json.h"
#include "core/session/protocol/messages.h"
#include "run_program.h"

namespace trainyard::process {

// A run, and a viewer who asks and commands.
class Watched {
 public:
  Watched(const Home& home, const std::string& experiment,
          const std::vector<std::string>& overrides)
      : run_(home, endless_run(experiment, overrides)) {
    if (run_.wait_for_step(20)) client_ = run_.client();
  }
  bool trains() const { return client_ != nullptr; }

  std::optional<session::Status> ask(session::Command command = session::Command::ask,
                                     int rank = -1) {
    session::Ask ask;
    ask.command = command, ask.rank = rank;
    return asked(ask);
  }
  std::optional<session::Status> set_link(int link, double part) {
    session::Ask ask;
    ask.command = session::Command::link, ask.link = {link, part};
    return asked(ask);
  }
  std::optional<session::Status> asked(session::Ask ask) {
    ask.id = ++asked_;
    if (!client_->send(ask)) return std::nullopt;
    for (const std::int64_t end = now_ns() + 5'000'000'000; now_ns() < end;) {
      const auto received = client_->receive(std::chrono::milliseconds(100));
      if (!received) return std::nullopt;
      if (!*received) continue;
      const auto* status = std::get_if<session::Status>(&**received);
      if (status != nullptr && status->answers == asked_) return *status;
    }
    return std::nullopt;
  }
  std::string state(int rank) {
    const auto status = ask();
    return status ? status->ranks.at(static_cast<std::size_t>(rank)).state : "no answer";
  }
  pid_t process(int rank) {
    const auto status = ask();
    return status ? static_cast<pid_t>(status->ranks.at(static_cast<std::size_t>(rank)).process)
                  : -1;
  }
  void harm(int rank, int signal) {
    const pid_t victim = process(rank);
    ASSERT_GT(victim, 1) << "no other process shall be harmed";
    ::kill(victim, signal);
  }
  bool becomes(int rank, const std::string& wanted, double seconds = promised) {
    return wait_until(seconds, [&] { return state(rank) == wanted; });
  }
  // It trains again, and is not only let in: should the run stop before its first step, it comes
  // too late.
  bool is_back(int rank) {
    return wait_until(4 * promised, [&] {
      const auto status = ask();
      if (!status) return false;
      const session::RankStatus& now = status->ranks.at(static_cast<std::size_t>(rank));
      return (now.state == "running" || now.state == "waiting") && now.step > 0;
    });
  }
  // True if the run makes `steps` more steps.
  bool goes_on(std::int64_t steps = 40) {
    const auto from = ask();
    return from && wait_until(30, [&] {
             const auto now = ask();
             return now && now->step >= from->step + steps;
           });
  }
  Ran stop() {
    ask(session::Command::stop);
    return end();
  }
  Ran end() { return run_.wait(); }
  std::filesystem::path directory() const { return run_.run_directory(); }

 private:
  RunProgram run_;
  std::unique_ptr<session::ControlClient> client_;
  std::uint64_t asked_ = 0;
};

// "lost 2", of the result line.
inline std::vector<std::string> kinds(const base::Json& result) {
  std::vector<std::string> all;
  for (const base::Json& fault : result.value("faults", base::Json::array()))
    all.push_back(fault["kind"].get<std::string>() + " " +
                  std::to_string(fault["rank"].get<int>()));
  return all;
}

}  // namespace trainyard::process
