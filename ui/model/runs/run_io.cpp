// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/model/runs/run_io.h"

#include <signal.h>

#include <algorithm>

#include "core/base/clock.h"
#include "core/base/file.h"
#include "ui/model/runs/process_alive.h"
#include "ui/model/runs/run_directory.h"

namespace trainyard::ui {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t kQueueBytes = 8u << 20;
constexpr std::size_t kPieceBytes = 1024 * sizeof(telemetry::Event);
constexpr auto kAskEvery = 100ms;
constexpr auto kAnswerTimeout =
    3s;  // after this time without an answer, the coordinator counts as unresponsive
constexpr auto kIdle = 10ms;

}  // namespace

RunIo::RunIo(Target target, std::function<void()> wake)
    : target_(std::move(target)),
      wake_(std::move(wake)),
      started_(Clock::now()),
      last_answer_(started_),
      next_id_(static_cast<std::uint64_t>(
          // Id of the first command. It is greater than all ids that an earlier workbench used for
          // this run.
          base::now_nanoseconds())),
      live_(target_.process >= 0) {
  thread_ = std::thread([this] { loop(); });
}

RunIo::~RunIo() {
  stop_ = true;
  thread_.join();
}

void RunIo::loop() {
  while (!stop_ && reading_) {
    const bool busy = (reader_ || open_recording()) && read_frames();
    exchange_messages();
    check_end();
    if (!busy) std::this_thread::sleep_for(kIdle);
  }
  live_ = false;
  if (stop_) interrupt_if_stop_pending();
  else wake_();
  // The client is destroyed on this thread, because its destruction may block while the coordinator
  // does not answer.
  client_.reset();
}

bool RunIo::process_alive() const { return ui::process_alive(target_.process); }

void RunIo::interrupt_if_stop_pending() {
  const std::lock_guard lock(mutex_);
  const bool is_stop_requested = std::ranges::any_of(
      commands_, [](const session::Ask& ask) { return ask.command == session::Command::stop; });
  if (is_stop_requested && reading_ && process_alive())
    ::kill(static_cast<pid_t>(target_.process), SIGTERM);
}

bool RunIo::open_recording() {
  auto reader = telemetry::RecordingReader::open(target_.directory / telemetry::kRecordingFile);
  if (reader) {
    reader_ = std::move(*reader);
    return true;
  }
  if (process_alive()) return false;  // the run has not begun to record yet
  if (target_.process >= 0) fail_start();
  else add_error(base::to_string(reader.error()));
  reading_ = false;
  return false;
}

void RunIo::fail_start() {
  const std::string note = last_output(target_.directory);
  add_error("The run ended before it started to record." +
            (note.empty() ? " It printed nothing." : "\n" + note));
}

// Reads frames of the recording. Returns true if there was at least one.
bool RunIo::read_frames() {
  bool any = false;
  while (!stop_) {
    {
      const std::lock_guard lock(mutex_);
      if (queued_bytes_ > kQueueBytes) break;
    }
    const auto frame = reader_->next();
    if (!frame) {
      add_error("The recording is damaged; the part before the damage is shown. " +
                base::to_string(frame.error()));
      reading_ = false;
      break;
    }
    read_to_end_ = !frame->has_value();
    if (read_to_end_) break;
    store(**frame);
    any = true;
  }
  if (any) wake_();
  return any;
}

void RunIo::store(const telemetry::Frame& frame) {
  if (frame.type == telemetry::FrameType::result) finished_ = true;
  const std::size_t piece = frame.type == telemetry::FrameType::events
                                ? kPieceBytes
                                : std::max<std::size_t>(frame.payload.size(), 1);
  const std::lock_guard lock(mutex_);
  for (std::size_t at = 0; at < std::max<std::size_t>(frame.payload.size(), 1); at += piece) {
    const auto bytes = frame.payload.subspan(at, std::min(piece, frame.payload.size() - at));
    frames_.push_back({frame.type, frame.rank, {bytes.begin(), bytes.end()}});
    queued_bytes_ += bytes.size();
  }
}

std::optional<OwnedFrame> RunIo::next_frame() {
  const std::lock_guard lock(mutex_);
  if (frames_.empty()) return {};
  OwnedFrame frame = std::move(frames_.front());
  frames_.pop_front();
  queued_bytes_ -= frame.payload.size();
  return frame;
}

std::optional<session::Status> RunIo::take_status() {
  const std::lock_guard lock(mutex_);
  return std::exchange(status_, std::nullopt);
}

std::vector<std::string> RunIo::take_errors() {
  const std::lock_guard lock(mutex_);
  return std::exchange(errors_, {});
}

void RunIo::add_error(std::string text) {
  const std::lock_guard lock(mutex_);
  errors_.push_back(std::move(text));
}

void RunIo::command(session::Ask ask) {
  const std::lock_guard lock(mutex_);
  ask.id = ++next_id_;
  commands_.push_back(ask);
}

void RunIo::exchange_messages() {
  if (!target_.connect || finished_) return;
  if (!client_) connect();
  if (!client_) return;
  if (Clock::now() - last_sent_ >= kAskEvery) send_due();
  receive_all();
}

// Connects to the coordinator as soon as it listens. The coordinator writes its endpoint to the
// file `control` when it begins to listen.
void RunIo::connect() {
  auto endpoint = base::read_file(target_.directory / kControlFile, 4096);
  if (!endpoint) return;
  while (!endpoint->empty() && (endpoint->back() == '\n' || endpoint->back() == ' '))
    endpoint->pop_back();
  if (auto client = target_.connect(*endpoint)) client_ = std::move(*client);
}

void RunIo::send_due() {
  last_sent_ = Clock::now();
  session::Ask ask;
  {
    const std::lock_guard lock(mutex_);
    if (commands_.empty()) ask.id = ++next_id_;
    else ask = commands_.front();
  }
  if (!client_->send(ask)) client_.reset();
}

void RunIo::receive_all() {
  while (client_) {
    const auto message = client_->receive(0ms);
    if (!message) return client_.reset();
    if (!*message) return;
    if (const auto* status = std::get_if<session::Status>(&**message)) take_answer(*status);
  }
}

void RunIo::take_answer(const session::Status& status) {
  last_answer_ = Clock::now();
  live_ = status.state < session::RunState::finished;
  {
    const std::lock_guard lock(mutex_);
    if (!commands_.empty() && commands_.front().id == status.answers) {
      commands_.pop_front();
      last_sent_ = {};  // lets the next command be sent immediately
    }
    status_ = status;
  }
  wake_();
}

// Detects the end of a run. A live run has ended if its result is recorded, or if the coordinator
// does not answer and its process has ended. An old run ends at the end of its recording.
void RunIo::check_end() {
  if (!reader_ || !read_to_end_ || !reading_) return;
  const bool silent = Clock::now() - last_answer_ > kAnswerTimeout;
  const bool is_alive = process_alive() || (client_ && !silent);
  if (!finished_ && is_alive) return;
  if (const std::size_t torn = reader_->unfinished_bytes(); torn > 0 && !finished_)
    add_error("The recording ends in the middle of a frame; the last " + std::to_string(torn) +
              " bytes are lost.");
  reading_ = false;
}

}  // namespace trainyard::ui
