// SPDX-License-Identifier: GPL-3.0-or-later
// A live or old sweep, as described by its manifest. While its process lives, the manifest is read
// a few times a second on a pool thread. A sweep that the workbench starts is detached, so that it
// survives a crash of the workbench.
#pragma once

#include <QObject>
#include <QTimer>
#include <optional>

#include "core/session/sweep/sweep.h"
#include "ui/model/runs/run.h"

namespace trainyard::ui {

// directory of all sweeps, next to the directory of runs
QString sweeps_directory(const Services& services);

class SweepFollower : public QObject {
  Q_OBJECT
 public:
  explicit SweepFollower(QObject* parent = nullptr);

  // Starts `trainyard-cli sweep` on a copy of the experiment, and follows it.
  base::Result<void> start(const Services& services, const experiment::Experiment& experiment,
                           const QString& data_directory, const session::SweepRequest& wish);
  void follow(const QString& directory);  // follows another sweep; empty: follows none
  void cancel();  // interrupts the sweep's process like Ctrl-C; a second call stops it immediately

  QString directory() const { return directory_; }
  // state of the sweep when its manifest was last read
  const std::optional<session::Sweep>& sweep() const { return sweep_; }
  // true while the process of the sweep is running
  bool live() const { return live_; }
  bool canceling() const { return live_ && cancels_ > 0; }
  bool ended_early() const;  // true if the process ended before the sweep was complete
  QString error_text() const {
    return error_text_;
  }  // reason why there is no sweep to show; empty if there is one

 signals:
  void changed();

 private:
  struct SweepUpdate;
  void begin(const QString& directory, std::int64_t process);
  void look();
  void take(const SweepUpdate& news);

  QString directory_, error_text_;
  // process of a sweep that was just started and may not hold the sweep's lock yet
  std::int64_t process_ = -1;
  std::optional<session::Sweep> sweep_;
  bool live_ = false, looking_ = false;
  int cancels_ = 0;
  QTimer delay_timer_;
};

}  // namespace trainyard::ui
