// SPDX-License-Identifier: GPL-3.0-or-later
// How long the GUI thread was away from its event loop.
#pragma once

#include <QApplication>
#include <QElapsedTimer>
#include <algorithm>

namespace trainyard::bench {

class Stalls {
 public:
  template <class Work>
  void timed(Work work) {
    QElapsedTimer clock;
    clock.start();
    work();
    longest_ = std::max(longest_, static_cast<double>(clock.nsecsElapsed()) * 1e-6);
  }
  // One turn of the event loop: all that waits for the thread by now.
  void turn() {
    timed([] { QApplication::processEvents(); });
  }
  double longest_milliseconds() const { return longest_; }

 private:
  double longest_ = 0;
};

}  // namespace trainyard::bench
