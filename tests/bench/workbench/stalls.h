// SPDX-License-Identifier: GPL-3.0-or-later
// How long the GUI thread was away from its event loop: as the clock on the wall has it, less the time that others had the processor:
// another process (Linux' schedstat), or another guest of the machine (stolen time, in ticks of 10 ms). What others take is not what the
// window does; it is told beside.
#pragma once

#include <sched.h>
#include <unistd.h>

#include <QApplication>
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <fstream>
#include <iterator>
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
    wall_ = std::max(wall_, after.wall - before.wall);
    own_ = std::max(own_, after.wall - before.wall - (after.others - before.others));
  }
  // One turn of the event loop: all that waits for the thread by now.
  void turn() {
    timed([] { QApplication::processEvents(); });
  }
  double longest_milliseconds() const { return own_; }
  double longest_on_the_wall() const { return wall_; }

 private:
  struct Times {
    double wall = 0, others = 0;  // milliseconds
  };
  static Times now(int processor) {
    const std::chrono::duration<double, std::milli> wall = std::chrono::steady_clock::now().time_since_epoch();
    return {wall.count(), queued() + stolen(processor)};
  }

  // What a file of the system says now.
  static std::string read(const char* file) {
    std::ifstream stream(file);
    return {std::istreambuf_iterator<char>(stream), {}};
  }
  static double queued() {
    long long ran = 0, queued = 0;
    const bool told = std::sscanf(read("/proc/thread-self/schedstat").c_str(), "%lld %lld", &ran, &queued) == 2;
    return told ? static_cast<double>(queued) * 1e-6 : 0;
  }
  static double stolen(int processor) {
    const std::string all = read("/proc/stat"), name = "cpu" + std::to_string(processor) + " ";
    const std::size_t at = all.find(name);
    long long ticks = 0;
    const bool told = at != std::string::npos && std::sscanf(all.c_str() + at + name.size(), "%*d %*d %*d %*d %*d %*d %*d %lld", &ticks) == 1;
    return told ? 1e3 * static_cast<double>(ticks) / static_cast<double>(::sysconf(_SC_CLK_TCK)) : 0;
  }

  double wall_ = 0, own_ = 0;
};

}  // namespace trainyard::bench
