// SPDX-License-Identifier: GPL-3.0-or-later
// A sweep, live or old, as its manifest tells: read a few times a second while its process lives,
// on a thread of the pool. A sweep that is started is detached, so that a crash of the workbench
// loses nothing.
#pragma once

#include <QObject>
#include <QTimer>
#include <optional>

#include "core/session/sweep.h"
#include "ui/model/run.h"

namespace trainyard::ui {

QString sweeps_directory(const Services& services);  // beside the runs

class SweepFollower : public QObject {
  Q_OBJECT
 public:
  explicit SweepFollower(QObject* parent = nullptr);

  // Starts `trainyard-cli sweep` on a copy of the experiment, and follows it.
  base::Result<void> start(const Services& services, const experiment::Experiment& experiment,
                           const QString& data_directory, const session::SweepWish& wish);
  void follow(const QString& directory);  // another one than before; empty: none
  void cancel();                          // as Ctrl-C does; once more: at once

  QString directory() const { return directory_; }
  const std::optional<session::Sweep>& sweep() const { return sweep_; }  // as it stood last
  bool live() const { return live_; }                                    // its process goes on
  bool cancelling() const { return live_ && cancels_ > 0; }
  bool broke_off() const;  // its process is gone, and left it unfinished
  QString trouble() const {
    return trouble_;
  }  // why there is no sweep to show; empty: there is, or will be

 signals:
  void changed();

 private:
  struct News;
  void begin(const QString& directory, std::int64_t process);
  void look();
  void take(const News& news);

  QString directory_, trouble_;
  std::int64_t process_ = -1;  // just started: it may hold no lock yet
  std::optional<session::Sweep> sweep_;
  bool live_ = false, looking_ = false;
  int cancels_ = 0;
  QTimer soon_;
};

}  // namespace trainyard::ui
