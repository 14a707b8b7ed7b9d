// SPDX-License-Identifier: GPL-3.0-or-later
// A run as views see it, live or old: its history, read from the recording by cursor, and, while it
// lives, its control. An I/O thread of its own does all reading and talking; the GUI thread gets
// whole batches and emits one coalesced signal.
#pragma once

#include <QObject>
#include <QString>
#include <memory>
#include <optional>

#include "core/experiment/experiment.h"
#include "core/session/control.h"
#include "core/telemetry/history.h"
#include "ui/model/cargo_meter.h"
#include "ui/model/span_store.h"

namespace trainyard::ui {

// How to reach the control plane and where programs are; given by app, which alone knows the
// backends.
struct Services {
  session::Connect connect;
  QString command_line_program;  // trainyard-cli
  QString runs_directory;        // $XDG_DATA_HOME/trainyard/runs
  QString examples_directory;
};

class Run : public QObject {
  Q_OBJECT
 public:
  // An old or live run by its directory. A live one (its control endpoint stands in the file
  // `control` of the directory and answers) can be commanded.
  static std::unique_ptr<Run> open(const Services& services, const QString& directory);
  // Starts `trainyard-cli run` detached on a copy of the experiment, so that a crash of the
  // workbench loses nothing, and opens it. A run that dies before it records says so by `trouble`,
  // with the last lines it printed. `name` is that of the run's directory, and with that of a run
  // whose experiment has none.
  static base::Result<std::unique_ptr<Run>> start(const Services& services,
                                                  const experiment::Experiment& experiment,
                                                  const QString& data_directory,
                                                  const QString& name);
  ~Run() override;

  const telemetry::History& history() const;  // grows on the GUI thread only, between two `updated`
  const SpanStore& spans() const;             // of its ops; likewise
  const CargoMeter& cargo() const;            // what ranks sent each other lately; likewise
  const std::optional<session::Status>& status()
      const;  // the last word of the coordinator; nothing for an old run
  const topology::Topology& drawing()
      const;  // that it was started on; empty while that is not known
  bool live() const;
  bool complete() const;  // all that was recorded has been read, and no more will come
  QString directory() const;
  QString name() const;  // for legends: experiment name and time

  void pause();
  void resume();
  void single_step();
  void stop();
  void set_pace(double seconds_per_step);
  void slow(const session::Slow& slow);           // a rank down, or not any more
  void befall(session::Command fault, int rank);  // kill, stall, wake or restart
  void set_link(int link, double part);  // of the recorded drawing, cut (0), slowed or restored (1)

 signals:
  void updated();  // history or status grew; at most 30 times a second
  void ended();    // it was live and is not any more
  void trouble(const QString& text);
  void single_step_asked();  // by a person

 private:
  struct State;
  Run(const Services& services, const QString& directory, std::int64_t process);
  void wake();
  void ask_for_news();
  void take_news();
  void command(session::Command command, double seconds_per_step = 0);
  std::unique_ptr<State> state_;
};

}  // namespace trainyard::ui
