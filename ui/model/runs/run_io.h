// SPDX-License-Identifier: GPL-3.0-or-later
// I/O thread of a run. It reads the recording and communicates with the coordinator, so that the
// GUI thread waits for neither. Data goes through a bounded queue. While the queue is full, reading
// pauses, so nothing is lost.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <deque>
#include <filesystem>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "core/session/protocol/control.h"
#include "core/telemetry/recording.h"

namespace trainyard::ui {

// A frame of the recording that owns its bytes. Large frames of op events are split, so that
// processing one frame is always fast.
struct OwnedFrame {
  telemetry::FrameType type{};
  int rank = -1;
  std::vector<std::byte> payload;
};

class RunIo {
 public:
  struct Target {
    std::filesystem::path directory;
    // Function that connects to the coordinator. If it is empty, the run takes no commands.
    session::Connect connect;
    std::int64_t process = -1;  // process of a coordinator that was just started; -1: none
  };
  // Starts the thread, which calls `wake` whenever there is new data.
  RunIo(Target target, std::function<void()> wake);
  ~RunIo();
  RunIo(const RunIo&) = delete;
  RunIo& operator=(const RunIo&) = delete;

  std::optional<OwnedFrame> next_frame();
  std::optional<session::Status> take_status();  // returns the latest status, once
  std::vector<std::string> take_errors();
  bool live() const { return live_; }
  bool reading() const { return reading_; }  // more data may follow
  // Queues a command. The command is sent repeatedly, with the same id, until the coordinator
  // answers. Only then is the next command sent. If the coordinator does not listen yet when this
  // object is destroyed, and a stop command is unanswered, the destructor interrupts the
  // coordinator's process like Ctrl-C.
  void command(session::Ask ask);  // assigns the command's id

 private:
  using Clock = std::chrono::steady_clock;
  void loop();
  bool open_recording();
  bool read_frames();
  void store(const telemetry::Frame& frame);
  void exchange_messages();
  void connect();
  void send_due();
  void receive_all();
  void take_answer(const session::Status& status);
  void check_end();
  void interrupt_if_stop_pending();
  bool process_alive() const;
  void fail_start();
  void add_error(std::string text);

  Target target_;
  std::function<void()> wake_;
  std::optional<telemetry::RecordingReader> reader_;
  std::unique_ptr<session::ControlClient> client_;
  Clock::time_point started_, last_sent_{}, last_answer_;
  bool finished_ = false, read_to_end_ = false;

  mutable std::mutex mutex_;  // guards the next four members and queued_bytes_
  std::deque<OwnedFrame> frames_;
  std::deque<session::Ask> commands_;
  std::optional<session::Status> status_;
  std::vector<std::string> errors_;

  std::uint64_t next_id_;
  std::size_t queued_bytes_ = 0;  // guarded by mutex_
  std::atomic<bool> live_{false}, reading_{true}, stop_{false};
  std::thread thread_;
};

}  // namespace trainyard::ui
