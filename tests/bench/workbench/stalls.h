// SPDX-License-Identifier: GPL-3.0-or-later
// Time that the GUI thread was away from its event loop: wall-clock time minus the time that others
// had the CPU, which are other processes (Linux' schedstat) or other guests of the machine (stolen
// time). That time is not caused by the window and is reported separately. Stolen time has a
// resolution of 10 ms; its first tick may have begun earlier and is not counted.
#pragma once

#include <fcntl.h>
#include <sched.h>
#include <unistd.h>

#include <QApplication>
#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <string>

namespace trainyard::bench {

class Stalls {
 public:
  template <class Work>
  void timed(Work work) {
    const int processor = ::sched_getcpu();
    const Times before = now(processor);
    work();
    const Times after = now(processor);
    const double wall = after.wall - before.wall,
                 stolen = std::max(after.stolen - before.stolen - kTick, 0.0);
    wall_ = std::max(wall_, wall);
    own_ = std::max(own_, wall - (after.queued - before.queued) - stolen);
  }
  // One turn of the event loop: all that waits for the thread by now.
  void turn() {
    timed([] { QApplication::processEvents(); });
  }
  double longest_milliseconds() const { return own_; }
  double longest_on_the_wall() const { return wall_; }

 private:
  static constexpr double kTick = 10;

  struct Times {
    double wall = 0, queued = 0, stolen = 0;  // milliseconds
  };
  static Times now(int processor) {
    const std::chrono::duration<double, std::milli> wall =
        std::chrono::steady_clock::now().time_since_epoch();
    return {wall.count(), queued(), stolen(processor)};
  }

  static double queued() {
    static const int file = ::open("/proc/thread-self/schedstat", O_RDONLY | O_CLOEXEC);
    long long ran = 0, queued = 0;
    const bool parsed = std::sscanf(beginning_of(file).data(), "%lld %lld", &ran, &queued) == 2;
    return parsed ? static_cast<double>(queued) * 1e-6 : 0;
  }
  static double stolen(int processor) {
    static const int file = ::open("/proc/stat", O_RDONLY | O_CLOEXEC);
    const auto text = beginning_of(file);
    const std::string name = "cpu" + std::to_string(processor) + " ";
    const char* line = std::strstr(text.data(), name.c_str());
    long long ticks = 0;
    const bool parsed =
        line && std::sscanf(line + name.size(), "%*d %*d %*d %*d %*d %*d %*d %lld", &ticks) == 1;
    return parsed ? kTick * static_cast<double>(ticks) : 0;
  }
  // Reads the beginning of a system file.
  static std::array<char, 4096> beginning_of(int file) {
    std::array<char, 4096> text{};
    if (::pread(file, text.data(), text.size() - 1, 0) <= 0) text.front() = '\0';
    return text;
  }

  double wall_ = 0, own_ = 0;
};

}  // namespace trainyard::bench
