// SPDX-License-Identifier: GPL-3.0-or-later
// Horizon policy of the coordinator: decides up to which step ranks may run (the horizon). A grant
// raises the horizon. A grant allows only the steps of a short time, so that a pause takes effect
// quickly, but the next grant comes early enough that no rank waits for it. A pause, a stop and a
// slower pace only withhold grants. All ranks get the same grants, so they always agree on the step
// to stop at.
#pragma once

#include <cstdint>
#include <map>
#include <optional>

#include "core/session/protocol/messages.h"

namespace trainyard::session {

class Pacer {
 public:
  // `steps`: steps of the run. `seconds_per_step`: minimum duration of a step; 0: full speed.
  // `evaluate_every_steps`: interval of evaluations; 0: none. `together`: how many steps may be
  // in progress at once: the number of ranks if each rank makes its own steps, 1 if all ranks make
  // each step jointly. `max_lead_seconds`: maximum time by which fast ranks may be ahead of the
  // slowest rank, and therefore the longest delay until a pause takes effect; 0: ranks step at the
  // same pace.
  Pacer(std::int64_t steps, double seconds_per_step, std::int64_t evaluate_every_steps = 0,
        int together = 1, double max_lead_seconds = 0);

  // Sets the number of steps that another run has already completed. Must precede the first grant.
  void begin_at(std::int64_t step) { slowest_ = horizon_ = step; }

  // Record observations: the step of the slowest rank, and the duration of a step.
  void at_step(std::int64_t slowest);
  void step_took(double seconds, int rank = 0);

  void pause();
  void resume();
  void single_step();  // Grants one more step, then pauses. Pauses a running run.
  void stop();         // Grants no further steps.
  void set_pace(double seconds_per_step);

  // Returns a grant to send to all ranks now, or nothing.
  std::optional<Horizon> grant(std::int64_t now_ns);

  std::int64_t horizon() const { return horizon_; }
  double seconds_per_step() const { return seconds_per_step_; }
  bool pausing() const { return paused_; }
  bool stopping() const { return stopping_; }
  bool stepping() const {
    return paused_ && horizon_ == stepped_to_ && !at_horizon();
  }  // True while a single step is in progress.
  bool at_horizon() const { return slowest_ >= horizon_; }

  static constexpr double seconds_ahead = 0.25;

 private:
  std::int64_t wanted(std::int64_t now_ns);
  std::int64_t full_speed() const;

  std::int64_t steps_;
  double seconds_per_step_;
  std::int64_t evaluate_every_steps_, together_;
  double max_lead_seconds_;
  // Recent duration of a step in seconds; 0: none measured yet. If ranks run at their own speeds,
  // it is the duration of the slowest rank.
  double step_seconds_ = 0;
  std::map<int, double> of_rank_;
  std::int64_t slowest_ = 0, horizon_ = 0;
  std::int64_t next_paced_ns_ = 0;
  bool paused_ = false, stopping_ = false, announced_last_ = false;
  int single_steps_ = 0;          // Requested single steps that are not granted yet.
  std::int64_t stepped_to_ = -1;  // Horizon of the last single step.
};

}  // namespace trainyard::session
