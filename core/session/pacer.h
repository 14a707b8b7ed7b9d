// SPDX-License-Identifier: GPL-3.0-or-later
// How far ranks may go: the coordinator's side of the horizon. Grants a short time ahead, so that a
// pause is felt at once and no rank ever waits for a grant; a pause, a stop and the pace dial are
// nothing but grants withheld. All ranks get the same grants, so they always agree on where to
// stand still.
#pragma once

#include <cstdint>
#include <map>
#include <optional>

#include "core/session/messages.h"

namespace trainyard::session {

class Pacer {
 public:
  // Steps of the whole run; least seconds a step may take (0: full speed); after how many steps
  // comes an evaluation (0: none). `together`: steps that ranks make at the same time, each its
  // own; 1 where all make one together. `apart_seconds`: where every rank makes all steps, on its
  // own clock, so much of the slowest's time may others be ahead of it, and so long a pause takes;
  // 0: all go at one pace.
  Pacer(std::int64_t steps, double seconds_per_step, std::int64_t evaluate_every_steps = 0,
        int together = 1, double apart_seconds = 0);

  // Steps that another run has made, before the first grant.
  void begin_at(std::int64_t step) { slowest_ = horizon_ = step; }

  // What was seen: the step that the slowest rank is at, and how long steps take.
  void at_step(std::int64_t slowest);
  void step_took(double seconds, int rank = 0);

  void pause();
  void resume();
  void single_step();  // one beyond what is granted, and no further: what runs is paused
  void stop();         // no step beyond what is granted
  void set_pace(double seconds_per_step);

  // A grant to send to all ranks now, or nothing.
  std::optional<Horizon> grant(std::int64_t now_ns);

  std::int64_t horizon() const { return horizon_; }
  double seconds_per_step() const { return seconds_per_step_; }
  bool pausing() const { return paused_; }
  bool stopping() const { return stopping_; }
  bool stepping() const {
    return paused_ && horizon_ == stepped_to_ && !at_horizon();
  }  // a single step is under way
  bool at_horizon() const { return slowest_ >= horizon_; }

  static constexpr double seconds_ahead = 0.25;

 private:
  std::int64_t wanted(std::int64_t now_ns);
  std::int64_t full_speed() const;

  std::int64_t steps_;
  double seconds_per_step_;
  std::int64_t evaluate_every_steps_, together_;
  double apart_seconds_;
  double step_seconds_ = 0;  // recent, where ranks go apart of the slowest; 0: none seen yet
  std::map<int, double> of_rank_;
  std::int64_t slowest_ = 0, horizon_ = 0;
  std::int64_t next_paced_ns_ = 0;
  bool paused_ = false, stopping_ = false, said_last_ = false;
  int single_steps_ = 0;          // not granted yet
  std::int64_t stepped_to_ = -1;  // the horizon of the last single step
};

}  // namespace trainyard::session
