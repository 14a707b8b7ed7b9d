// SPDX-License-Identifier: GPL-3.0-or-later
// Makes of parts that ranks have written a checkpoint, once all of it is there: on a thread of its
// own, so that the coordinator never waits for a disk.
#pragma once

#include <future>
#include <map>
#include <optional>

#include "core/session/checkpoint.h"
#include "core/session/messages.h"

namespace trainyard::session {

class Committer {
 public:
  // So many parts of parameters make one whole, one a rank, and where `with_state`, one of what
  // models keep besides.
  Committer(std::filesystem::path directory, std::string plan_hash, int parts, bool with_state);

  void take(const Saved& saved);

  struct Outcome {
    std::int64_t step = 0;
    std::int64_t bytes = 0;
    std::optional<base::Problem> problem;
  };
  // What has become of one since it was asked last.
  std::optional<Outcome> look();

  bool busy() const { return running_.valid() || !whole_.empty(); }
  std::int64_t committed_step() const { return committed_; }  // -1: none

 private:
  struct Parts {
    std::map<int, CheckpointFile> of_parameters;  // by rank
    std::optional<CheckpointFile> state;
  };
  bool is_whole(const Parts& parts) const;
  void start_next();

  std::filesystem::path directory_;
  std::string plan_hash_;
  std::size_t count_;  // of parameters
  bool with_state_;
  std::map<std::int64_t, Parts> parts_;                        // by step, not whole yet
  std::map<std::int64_t, std::vector<CheckpointFile>> whole_;  // that wait to be committed
  std::future<Outcome> running_;
  std::int64_t committed_ = -1;
};

}  // namespace trainyard::session
