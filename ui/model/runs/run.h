// SPDX-License-Identifier: GPL-3.0-or-later
// A live or old run as views see it: its history, read from the recording by cursor, and, while it
// lives, its control. A separate I/O thread reads and communicates; the GUI thread receives batches
// and emits one coalesced signal.
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
  // Opens an old or live run by its directory. A live run can be commanded: the file `control` in
  // its directory contains its control endpoint, and the endpoint answers.
  static std::unique_ptr<Run> open(const Services& services, const QString& directory);
  // Starts `trainyard-cli run`, detached, on a copy of the experiment, and opens the run. A crash
  // of the workbench therefore loses nothing. If the run dies before it records, `error_reported`
  // is emitted with the last lines of its output. `name` names the run's directory, and the run if
  // its experiment has no name.
  static base::Result<std::unique_ptr<Run>> start(const Services& services,
                                                  const experiment::Experiment& experiment,
                                                  const QString& data_directory,
                                                  const QString& name);
  ~Run() override;

  const telemetry::History& history() const;  // grows on the GUI thread only, between two `updated`
  const SpanStore& spans() const;             // executed ops; grows like `history`
  const TrafficMeter& traffic() const;        // recent traffic between ranks; grows like `history`
  const std::optional<session::Status>& status()
      const;  // the coordinator's latest status; nothing for an old run
  // drawing on which the run was started; empty while unknown
  const topology::Topology& drawing() const;
  bool live() const;
  bool complete() const;  // the full recording was read and will not grow
  QString directory() const;
  QString name() const;  // experiment name and time, for legends

  void pause();
  void resume();
  void single_step();
  void stop();
  void set_pace(double seconds_per_step);
  void slow(const session::Slow& slow);                 // slows a rank or ends its slowdown
  void inject_fault(session::Command fault, int rank);  // kill, stall, wake or restart
  void set_link(int link, double part);  // index in the recorded drawing; 0: cut, 1: full bandwidth

 signals:
  void updated();  // history or status grew; at most 30 times a second
  void ended();    // the run was live and is not any more
  void error_reported(const QString& text);
  void single_step_requested();  // by the user

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
