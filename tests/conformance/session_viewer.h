// SPDX-License-Identifier: GPL-3.0-or-later
// A viewer of a run, for tests: asks, commands, and waits until the run is as it should be.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <thread>

#include "core/session/protocol/control.h"

namespace trainyard::conformance {

class Viewer {
 public:
  explicit Viewer(std::unique_ptr<session::ControlClient> client) : client_(std::move(client)) {}

  session::Status ask(session::Command command = session::Command::ask,
                      double seconds_per_step = 0) {
    return send({++id_, command, seconds_per_step});
  }

  // Sends an Ask as it is, a repeated one too, and waits for its answer.
  session::Status send(const session::Ask& ask) {
    EXPECT_TRUE(client_->send(ask));
    for (int i = 0; i < 3000; ++i) {
      const auto received = client_->receive(std::chrono::milliseconds(10));
      if (!received || !*received) continue;
      const auto* status = std::get_if<session::Status>(&**received);
      if (status != nullptr && status->answers == ask.id) return *status;
    }
    ADD_FAILURE() << "no answer to ask " << ask.id;
    return {};
  }

  session::Status wait_until(const std::function<bool(const session::Status&)>& wanted) {
    session::Status status;
    for (int i = 0; i < 3000; ++i) {
      status = ask();
      if (wanted(status)) return status;
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    ADD_FAILURE() << "the state was not reached: state " << base::name_of(status.state) << ", step "
                  << status.step << ", horizon " << status.horizon;
    return status;
  }
  session::Status wait_for(session::RunState state) {
    return wait_until([state](const session::Status& status) { return status.state == state; });
  }
  session::Status wait_for_step(std::int64_t step) {
    return wait_until([step](const session::Status& status) { return status.step >= step; });
  }

  std::uint64_t last_id() const { return id_; }
  std::uint64_t next_id() { return ++id_; }

 private:
  std::unique_ptr<session::ControlClient> client_;
  std::uint64_t id_ = 0;
};

}  // namespace trainyard::conformance
