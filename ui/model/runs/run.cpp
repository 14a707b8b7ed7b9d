// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/model/runs/run.h"

#include <QElapsedTimer>
#include <QTimer>

#include "core/base/fields.h"
#include "ui/model/runs/detached.h"
#include "ui/model/runs/recorded_run.h"
#include "ui/model/runs/run_directory.h"
#include "ui/model/runs/run_io.h"
#include "ui/model/runs/work_scheduler.h"

namespace trainyard::ui {
namespace {

constexpr int kFrameMilliseconds = 33;
constexpr qint64 kTakeNanoseconds = 4'000'000;  // time limit per read of the history

// Number of values of each series that are kept completely; older values are thinned.
constexpr std::size_t kKeptValues = 4'096;

}  // namespace

struct Run::State {
  QString directory, name;
  telemetry::History history{kKeptValues};
  SpanStore spans;
  TrafficMeter traffic;
  topology::Topology drawing;
  std::optional<session::Status> status;
  bool was_live = false, complete = false, damaged = false;
  bool more = false;  // true if the queue has more frames
  QTimer timer;
  // The I/O object is declared last, because its thread must end before the other members are
  // destroyed.
  std::unique_ptr<RunIo> io;

  // Takes frames from the queue of the I/O thread, until the queue is empty or a time limit is
  // reached. Returns true if there was at least one frame.
  bool take_frames();
};

bool Run::State::take_frames() {
  QElapsedTimer clock;
  clock.start();
  bool any = false;
  more = false;
  while (clock.nsecsElapsed() < kTakeNanoseconds) {
    const auto frame = io->next_frame();
    if (!frame) return any;
    any = true;
    if (!history.take({frame->type, frame->rank, frame->payload})) damaged = true;
    spans.read(history);
    traffic.read(history, spans);
  }
  more = true;
  return any;
}

Run::Run(const Services& services, const QString& directory, std::int64_t process)
    : state_(std::make_unique<State>()) {
  state_->directory = directory;
  state_->name = run_name(directory);
  state_->was_live = process >= 0;
  state_->timer.setSingleShot(true);
  connect(&state_->timer, &QTimer::timeout, this, &Run::schedule_read);
  state_->io = std::make_unique<RunIo>(
      RunIo::Target{directory.toStdString(), services.connect, process}, [this] { wake(); });
}

Run::~Run() { state_->io.reset(); }

std::unique_ptr<Run> Run::open(const Services& services, const QString& directory) {
  return std::unique_ptr<Run>(new Run(services, directory, -1));
}

base::Result<std::unique_ptr<Run>> Run::start(const Services& services,
                                              const experiment::Experiment& experiment,
                                              const QString& data_directory, const QString& name) {
  return start_detached(services, "run", services.runs_directory, name, experiment,
                        {"--data-directory", data_directory})
      .map([&](const Detached& started) {
        return std::unique_ptr<Run>(new Run(services, started.directory, started.process));
      });
}

// Schedules an update on the GUI thread. Called on the I/O thread when there is new data.
void Run::wake() {
  QMetaObject::invokeMethod(
      this,
      [this] {
        if (!state_->timer.isActive() && !WorkScheduler::instance().waits(this))
          state_->timer.start(kFrameMilliseconds);
      },
      Qt::QueuedConnection);
}

void Run::schedule_read() {
  WorkScheduler::instance().ask(this, Work::reading, [this] { read_data(); });
}

void Run::read_data() {
  State& state = *state_;
  const bool reading = state.io->reading(),
             // Reads `live` before it calls `take_frames`. If the run has ended by then, all of its
             // frames are already in the queue.
      live = state.io->live();
  const bool named = state.history.ranks() > 0;
  bool news = state.take_frames();
  if (!named && state.history.ranks() > 0) {
    state.name =
        run_name(state.directory,
                 base::value_at(state.history.header(), "experiment").value_or(base::Json()));
    state.drawing = recorded_topology(state.history);
  }
  if (auto status = state.io->take_status()) {
    state.status = std::move(status);
    news = true;
  }
  for (const std::string& text : state.io->take_errors())
    emit error_reported(QString::fromStdString(text));
  if (state.damaged) emit error_reported(tr("A part of the recording is invalid and was skipped."));
  state.damaged = false;
  if (state.more) schedule_read();
  const bool all = !reading && !state.more;
  const bool changed = news || all != state.complete || live != state.was_live,
             over = state.was_live && !live && all;
  state.complete = all;
  state.was_live = live || (state.was_live && !all);
  if (changed) emit updated();
  if (over) emit ended();
}

const telemetry::History& Run::history() const { return state_->history; }
const SpanStore& Run::spans() const { return state_->spans; }
const TrafficMeter& Run::traffic() const { return state_->traffic; }
const std::optional<session::Status>& Run::status() const { return state_->status; }
const topology::Topology& Run::drawing() const { return state_->drawing; }
bool Run::live() const { return state_->was_live; }
bool Run::complete() const { return state_->complete; }
QString Run::directory() const { return state_->directory; }
QString Run::name() const { return state_->name; }

void Run::command(session::Command command, double seconds_per_step) {
  state_->io->command({0, command, seconds_per_step});
}
void Run::pause() { command(session::Command::pause); }
void Run::resume() { command(session::Command::resume); }
void Run::single_step() {
  command(session::Command::single_step);
  emit single_step_requested();
}
void Run::stop() { command(session::Command::stop); }
void Run::set_pace(double seconds_per_step) {
  command(session::Command::set_pace, seconds_per_step);
}
void Run::slow(const session::Slow& slow) {
  state_->io->command({0, session::Command::slow, 0, slow});
}
void Run::set_link(int link, double part) {
  state_->io->command({0, session::Command::link, 0, {}, -1, {link, part}});
}
void Run::inject_fault(session::Command fault, int rank) {
  state_->io->command({0, fault, 0, {}, rank});
}

}  // namespace trainyard::ui
