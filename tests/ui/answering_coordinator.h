// SPDX-License-Identifier: GPL-3.0-or-later
// Live run without a process: a coordinator that answers all requests.
#pragma once

#include <QDir>
#include <QFile>
#include <deque>

#include "core/session/protocol/control.h"
#include "ui/model/runs/run_directory.h"

namespace trainyard::ui::test {

// Begins at step 123 of 1,000 and advances one step with every answer.
class AnsweringCoordinator : public session::ControlClient {
 public:
  base::Result<std::optional<session::Message>> receive(std::chrono::milliseconds) override {
    if (asked_.empty()) return std::nullopt;
    session::Status status;
    status.answers = asked_.front();
    status.state = session::RunState::running;
    status.step = ++step_;
    status.steps = 1000;
    asked_.pop_front();
    return session::Message(status);
  }
  base::Result<void> send(const session::Message& message) override {
    asked_.push_back(std::get<session::Ask>(message).id);
    return {};
  }

 private:
  std::deque<std::uint64_t> asked_;
  std::int64_t step_ = 122;
};

inline base::Result<std::unique_ptr<session::ControlClient>> connect_to_answering(
    const std::string&) {
  return std::make_unique<AnsweringCoordinator>();
}

// Writes the control file of a coordinator for the run in this directory.
inline bool give_coordinator(const QString& directory) {
  QFile control(QDir(directory).filePath(kControlFile));
  return control.open(QIODevice::WriteOnly) && control.write("anywhere") > 0;
}

}  // namespace trainyard::ui::test
