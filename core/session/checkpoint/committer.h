// SPDX-License-Identifier: GPL-3.0-or-later
// Commits checkpoints once the ranks have written all parts. Runs on its own thread, so the
// coordinator never waits for a disk.
#pragma once

#include <future>
#include <map>
#include <optional>

#include "core/session/checkpoint/checkpoint.h"
#include "core/session/protocol/messages.h"

namespace trainyard::session {

class Committer {
 public:
  // `parts`: number of ranks that write a part of the parameters; a checkpoint is complete with all
  // these parts. `with_state`: the checkpoint also needs one part with the model's state besides
  // parameters.
  Committer(std::filesystem::path directory, std::string plan_hash, int parts, bool with_state);

  // Takes the report of a rank about its part, and the part's content if this process must write
  // it.
  void take(const Saved& saved, std::string content = {});

  struct Outcome {
    std::int64_t step = 0;
    std::int64_t bytes = 0;
    std::optional<base::Problem> problem;
  };
  // Returns the outcome of the commit that ended since the last call; nothing if none did.
  std::optional<Outcome> look();

  bool busy() const { return running_.valid() || !whole_.empty(); }
  std::int64_t committed_step() const { return committed_; }  // -1: nothing committed yet.

 private:
  struct Parts {
    std::map<int, CheckpointPart> of_parameters;  // by rank
    std::optional<CheckpointPart> state;
  };
  bool is_complete(const Parts& parts) const;
  void start_next();

  std::filesystem::path directory_;
  std::string plan_hash_;
  std::size_t count_;  // Number of parameter parts that a complete checkpoint has.
  bool with_state_;
  std::map<std::int64_t, Parts> parts_;  // Incomplete checkpoints, by step.
  // Complete checkpoints that wait to be committed, by step.
  std::map<std::int64_t, std::vector<CheckpointPart>> whole_;
  std::future<Outcome> running_;
  std::int64_t committed_ = -1;
};

}  // namespace trainyard::session
