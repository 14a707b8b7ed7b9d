// SPDX-License-Identifier: GPL-3.0-or-later
// How long the GUI thread is kept from its event loop: the longest time that handling one event took. What the scheduler gave
// to other threads meanwhile is not its fault and is left out.
#pragma once

#include <fcntl.h>
#include <unistd.h>

#include <QApplication>
#include <QElapsedTimer>
#include <QEvent>
#include <QList>
#include <QThread>
#include <algorithm>
#include <cstdio>
#include <functional>

namespace trainyard::ui::test {

// Meters from its making to its end; one at a time.
class StallMeter {
 public:
  StallMeter();
  ~StallMeter();
  StallMeter(const StallMeter&) = delete;
  StallMeter& operator=(const StallMeter&) = delete;
  double longest_milliseconds() const { return longest_; }
  const QByteArrayList& slow() const { return slow_; }  // who handled events of more than 50 ms, each with its time
  int events() const { return events_; }

 private:
  friend class MeteredApplication;
  bool handle(QObject* receiver, QEvent* event, const std::function<bool()>& notify);
  qint64 preempted_nanoseconds() const;  // that this thread was ready to run and another one ran

  static inline StallMeter* current = nullptr;
  int statistics_;  // /proc/thread-self/schedstat
  double longest_ = 0;
  QByteArrayList slow_;
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

inline qint64 StallMeter::preempted_nanoseconds() const {
  char text[128] = {};
  long long ran = 0, waited = 0;
  if (::pread(statistics_, text, sizeof text - 1, 0) <= 0 || std::sscanf(text, "%lld %lld", &ran, &waited) != 2) return 0;
  return waited;
}

// An event that is handled within another belongs to it.
inline bool StallMeter::handle(QObject* receiver, QEvent* event, const std::function<bool()>& notify) {
  if (inside_ || QThread::currentThread() != qApp->thread()) return notify();
  const QByteArray who = receiver->metaObject()->className() + QByteArray(" event ") + QByteArray::number(event->type());
  QElapsedTimer clock;
  const qint64 before = preempted_nanoseconds();
  clock.start();
  inside_ = true;
  const bool handled = notify();
  inside_ = false;
  const double milliseconds = static_cast<double>(clock.nsecsElapsed() - (preempted_nanoseconds() - before)) / 1e6;
  ++events_;
  longest_ = std::max(longest_, milliseconds);
  if (milliseconds > 50) slow_ << who + " " + QByteArray::number(milliseconds);
  return handled;
}

inline bool MeteredApplication::notify(QObject* receiver, QEvent* event) {
  if (!StallMeter::current) return QApplication::notify(receiver, event);
  return StallMeter::current->handle(receiver, event, [&] { return QApplication::notify(receiver, event); });
}

}  // namespace trainyard::ui::test
