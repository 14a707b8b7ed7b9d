// SPDX-License-Identifier: GPL-3.0-or-later
// A live or old run, as seen by the views. It has the run's history, read from the recording, and,
// while the run is live, functions that send commands to it. A separate I/O thread reads the
// recording and communicates with the coordinator. The GUI thread receives the data in batches and
// emits one signal per batch.
#pragma once

#include <QObject>
#include <QString>
#include <memory>
#include <optional>

#include "core/experiment/experiment.h"
#include "core/session/protocol/messages.h"
#include "core/telemetry/history.h"
#include "ui/model/runs/services.h"
#include "ui/model/spans/span_store.h"
#include "ui/model/spans/traffic_meter.h"

namespace trainyard::ui {

class Run : public QObject {
  Q_OBJECT
 public:
  // Opens an old or live run by its directory. The run is live, and commands are possible, if the
  // control endpoint in the directory's file `control` answers.
  static std::unique_ptr<Run> open(const Services& services, const QString& directory);
  // Starts `trainyard-cli run` on a copy of the experiment, detached, and opens the run. Because it
  // is detached, the run survives a crash of the workbench. If its process ends before it records
  // anything, `error_reported` is emitted with the last lines of the process's output. The run's
  // directory is named after `name`. If the experiment has no name, the run itself is also named
  // so.
  static base::Result<std::unique_ptr<Run>> start(const Services& services,
                                                  const experiment::Experiment& experiment,
                                                  const QString& data_directory,
                                                  const QString& name);
  ~Run() override;

  // Recorded data of the run. It grows only on the GUI thread, before `updated` is emitted.
  const telemetry::History& history() const;
  const SpanStore& spans() const;       // executed ops; updated with `history`
  const TrafficMeter& traffic() const;  // recent traffic between ranks; updated with `history`
  const std::optional<session::Status>& status()
      const;  // the coordinator's latest status; nothing for an old run
  // Drawing with which the run was started; empty until it is known.
  const topology::Topology& drawing() const;
  bool live() const;
  bool complete() const;  // true if the full recording was read and it will not grow
  QString directory() const;
  QString name() const;  // experiment name and time, for legends

  void pause();
  void resume();
  void single_step();
  void stop();
  void set_pace(double seconds_per_step);
  void slow(const session::Slow& slow);                 // slows a rank or ends its slowdown
  void inject_fault(session::Command fault, int rank);  // fault: kill, stall, wake or restart
  // Cuts or slows a link. `link`: index of the link in the recorded drawing. `part`: fraction of
  // its bandwidth, from 0 (cut) to 1 (full bandwidth).
  void set_link(int link, double part);

 signals:
  void updated();  // the history or the status grew; emitted at most 30 times a second
  void ended();    // the run was live and has ended
  void error_reported(const QString& text);
  void single_step_requested();  // the user requested a single step

 private:
  struct State;
  Run(const Services& services, const QString& directory, std::int64_t process);
  void wake();
  void schedule_read();
  void read_data();
  void command(session::Command command, double seconds_per_step = 0);
  std::unique_ptr<State> state_;
};

}  // namespace trainyard::ui
