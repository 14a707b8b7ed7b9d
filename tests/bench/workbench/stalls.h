// SPDX-License-Identifier: GPL-3.0-or-later
// How long the GUI thread was away from its event loop: as the clock on the wall has it, less the time that the thread was ready to run
// and another process had the processor (Linux' schedstat). What others take is not what the window does; it is told beside.
#pragma once

#include <fcntl.h>
#include <unistd.h>

#include <QApplication>
#include <algorithm>
#include <chrono>
#include <cstdio>

namespace trainyard::bench {

class Stalls {
 public:
  template <class Work>
  void timed(Work work) {
    const Times before = now();
    work();
    const Times after = now();
    wall_ = std::max(wall_, after.wall - before.wall);
    own_ = std::max(own_, after.wall - before.wall - (after.queued - before.queued));
  }
  // One turn of the event loop: all that waits for the thread by now.
  void turn() {
    timed([] { QApplication::processEvents(); });
  }
  double longest_milliseconds() const { return own_; }
  double longest_on_the_wall() const { return wall_; }

 private:
  struct Times {
    double wall = 0, queued = 0;  // milliseconds
  };
  static Times now() {
    static const int statistics = ::open("/proc/thread-self/schedstat", O_RDONLY | O_CLOEXEC);
    char text[128] = {};
    long long ran = 0, queued = 0;
    if (::pread(statistics, text, sizeof text - 1, 0) <= 0 || std::sscanf(text, "%lld %lld", &ran, &queued) != 2) queued = 0;
    const std::chrono::duration<double, std::milli> wall = std::chrono::steady_clock::now().time_since_epoch();
    return {wall.count(), static_cast<double>(queued) * 1e-6};
  }

  double wall_ = 0, own_ = 0;
};

}  // namespace trainyard::bench
