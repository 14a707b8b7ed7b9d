// SPDX-License-Identifier: GPL-3.0-or-later
// Evaluator rank: learns of new checkpoints from the coordinator, reads the newest one, and
// evaluates it on the held-out samples. Training ranks never wait for it. Of the checkpoints
// written during an evaluation, it evaluates only the last.
#pragma once

#include <condition_variable>
#include <filesystem>
#include <mutex>
#include <optional>

#include "core/run/interpreter/interpreter.h"
#include "core/session/protocol/messages.h"

namespace trainyard::session {

// Newest committed checkpoint that the coordinator has reported.
class LatestCommit {
 public:
  void put(const Committed& committed) {
    const std::lock_guard lock(mutex_);
    newest_.step = std::max(newest_.step, committed.step);
    newest_.last = newest_.last || committed.last;
    changed_.notify_all();
  }
  // Waits for a checkpoint of a later step than `measured`, or for the last checkpoint of the run,
  // and returns it. Returns nothing if none arrives within `patience`.
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
  const run::BoundPlan* bound = nullptr;    // Parameters are read into its buffers.
  run::Interpreter* interpreter = nullptr;  // Interpreter of `bound`.
  run::Gate* gate = nullptr;
  run::RankProgress* rank_progress = nullptr;
  LatestCommit* committed = nullptr;
  // Called with the problem of each checkpoint that could not be evaluated.
  std::function<void(const base::Problem& problem)> warn;
};

// Evaluates checkpoints until the last is done, and returns the step of the last one. Returns a
// Problem if the gate was closed or the device failed.
base::Result<std::int64_t> evaluate_checkpoints(const EvaluatorParts& parts);

}  // namespace trainyard::session
