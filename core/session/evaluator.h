// SPDX-License-Identifier: GPL-3.0-or-later
// A rank that evaluates alone: it is told of checkpoints, reads the newest one, and measures the
// held-out samples by it. Whoever trains never waits for it: what is written while it measures it
// passes over, but for the last.
#pragma once

#include <condition_variable>
#include <filesystem>
#include <mutex>
#include <optional>

#include "core/run/interpreter.h"
#include "core/session/messages.h"

namespace trainyard::session {

// What the coordinator says was committed: the newest alone.
class CommittedBox {
 public:
  void put(const Committed& committed) {
    const std::lock_guard lock(mutex_);
    newest_.step = std::max(newest_.step, committed.step);
    newest_.last = newest_.last || committed.last;
    changed_.notify_all();
  }
  // With a step beyond `measured`, or the last word; nothing where there is none within `patience`.
  std::optional<Committed> wait(std::int64_t measured, std::chrono::milliseconds patience) {
    std::unique_lock lock(mutex_);
    const bool news =
        changed_.wait_for(lock, patience, [&] { return newest_.step > measured || newest_.last; });
    return news ? std::optional(newest_) : std::nullopt;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  Committed newest_;
};

struct EvaluatorParts {
  std::filesystem::path checkpoints;
  const model::Model* model = nullptr;
  const run::BoundPlan* bound = nullptr;    // parameters are read into it
  run::Interpreter* interpreter = nullptr;  // of that plan
  run::Gate* gate = nullptr;
  run::Whereabouts* whereabouts = nullptr;
  CommittedBox* committed = nullptr;
  std::function<void(const base::Problem& problem)>
      warn;  // of a checkpoint that could not be measured
};

// Until the last checkpoint is measured; how many steps that one has. A Problem where the gate was
// closed, or the device failed.
base::Result<std::int64_t> evaluate_checkpoints(const EvaluatorParts& parts);

}  // namespace trainyard::session
