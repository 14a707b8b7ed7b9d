// SPDX-License-Identifier: GPL-3.0-or-later
// How long the GUI thread is kept from its event loop by one event, in two measures that no busy machine can change: how long it
// worked, which is CPU time of the thread, and how long it slept (in a read, at a lock). What other threads and other
// machines on the same processor took meanwhile is in neither.
#pragma once

#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <QApplication>
#include <QEvent>
#include <QList>
#include <QThread>
#include <algorithm>
#include <cstdio>
#include <ctime>
#include <functional>

namespace trainyard::ui::test {

// Meters from its making to its end; one at a time.
class StallMeter {
 public:
  StallMeter();
  ~StallMeter();
  StallMeter(const StallMeter&) = delete;
  StallMeter& operator=(const StallMeter&) = delete;
  static constexpr double kLongMilliseconds = 50;
  void time(const QByteArray& who, const std::function<void()>& act);  // as if an event did it
  double longest_work() const { return work_.longest; }                // milliseconds
  double longest_sleep() const { return sleep_.longest; }
  // The events that took longer than 50 ms, each with who handled it and its time.
  const QByteArrayList& long_work() const { return work_.slow; }
  const QByteArrayList& long_sleeps() const { return sleep_.slow; }
  int events() const { return events_; }

 private:
  friend class MeteredApplication;
  struct Clocks {  // milliseconds
    double wall = 0, work = 0, queued = 0;
    long gave_way = 0;  // times that the thread gave up the processor by itself
    long faults = 0;    // pages that the machine had to read
  };
  struct Times {
    double longest = 0;
    QByteArrayList slow;
    void add(double milliseconds, const QByteArray& who);
  };
  bool handle(QObject* receiver, QEvent* event, const std::function<bool()>& notify);
  Clocks read() const;
  double queued() const;  // for how long this thread was ready to run and another one ran
  static double clock(clockid_t which);

  static inline StallMeter* current = nullptr;
  int statistics_;  // /proc/thread-self/schedstat
  Times work_, sleep_;
  int events_ = 0;
  bool inside_ = false;
};

class MeteredApplication : public QApplication {
 public:
  using QApplication::QApplication;
  bool notify(QObject* receiver, QEvent* event) override;
};

inline StallMeter::StallMeter() : statistics_(::open("/proc/thread-self/schedstat", O_RDONLY | O_CLOEXEC)) { current = this; }

inline StallMeter::~StallMeter() {
  current = nullptr;
  ::close(statistics_);
}

inline void StallMeter::Times::add(double milliseconds, const QByteArray& who) {
  longest = std::max(longest, milliseconds);
  if (milliseconds > kLongMilliseconds) slow << who + " " + QByteArray::number(milliseconds);
}

inline double StallMeter::clock(clockid_t which) {
  timespec now{};
  ::clock_gettime(which, &now);
  return static_cast<double>(now.tv_sec) * 1e3 + static_cast<double>(now.tv_nsec) * 1e-6;
}

inline double StallMeter::queued() const {
  char text[128] = {};
  long long ran = 0, waited = 0;
  if (::pread(statistics_, text, sizeof text - 1, 0) <= 0 || std::sscanf(text, "%lld %lld", &ran, &waited) != 2) return 0;
  return static_cast<double>(waited) * 1e-6;
}

inline StallMeter::Clocks StallMeter::read() const {
  rusage usage{};
  ::getrusage(RUSAGE_THREAD, &usage);
  return {clock(CLOCK_MONOTONIC), clock(CLOCK_THREAD_CPUTIME_ID), queued(), usage.ru_nvcsw, usage.ru_majflt};
}

// Who never gave way did not sleep: then the machine stood still. Who had to wait for its own pages is not to blame for that.
inline void StallMeter::time(const QByteArray& who, const std::function<void()>& act) {
  const Clocks before = read();
  inside_ = true;
  act();
  inside_ = false;
  const Clocks after = read();
  const double work = after.work - before.work;
  work_.add(work, who);
  if (after.gave_way > before.gave_way && after.faults == before.faults) sleep_.add(after.wall - before.wall - work - (after.queued - before.queued), who);
  ++events_;
}

// An event that is handled within another belongs to it.
inline bool StallMeter::handle(QObject* receiver, QEvent* event, const std::function<bool()>& notify) {
  if (inside_ || QThread::currentThread() != qApp->thread()) return notify();
  bool handled = false;
  time(receiver->metaObject()->className() + QByteArray(" event ") + QByteArray::number(event->type()), [&] { handled = notify(); });
  return handled;
}

inline bool MeteredApplication::notify(QObject* receiver, QEvent* event) {
  if (!StallMeter::current) return QApplication::notify(receiver, event);
  return StallMeter::current->handle(receiver, event, [&] { return QApplication::notify(receiver, event); });
}

}  // namespace trainyard::ui::test
