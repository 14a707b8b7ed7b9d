// SPDX-License-Identifier: GPL-3.0-or-later
// What the coordinator knows of each rank, and what it says when they do not agree.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/session/coordinator.h"

namespace trainyard::session {

// A moment for what is still on its way, counted from the first question. Time alone does not tell
// that it is over: on a busy machine this process may not have read what has long come.
class Settling {
 public:
  bool over(std::int64_t now_ns) {
    if (since_ns_ == 0) since_ns_ = now_ns;
    return ++looks_ > kLooks && now_ns - since_ns_ > kNanoseconds;
  }

 private:
  static constexpr int kLooks = 20;
  static constexpr std::int64_t kNanoseconds = 300'000'000;
  std::int64_t since_ns_ = 0;
  int looks_ = 0;
};

struct RankSeat {
  RankIdentity identity;
  std::string name;  // "rank 2 (cpu2 on alpha)"
  std::unique_ptr<RankHandle> handle;
  PeerId peer;                                // empty until it said hello
  std::string software, endpoint, plan_hash;  // empty until said
  std::int64_t process = 0;
  std::uint64_t dropped_events = 0;
  double slow_down = 1, jitter = 0;  // as drawn, or as asked last
  bool slow_asked = false;
  bool planned = false, reported_end = false;
  bool lost = false, stalled = false;
  bool wanted = false,
       returning = false;  // of one that is lost: it is to be started anew; it was, and gets ready
  std::uint32_t generation = 1;  // of the process: how many there were in this place
  int farewells = 0;             // servers that have seen it leave, or one before it in its place
  int farewells_due = 0;         // before another may take its place
  Settling end;                  // since its end was seen
  std::optional<Finished> finished;
};
using Seats = std::vector<RankSeat>;

std::uint64_t random_number();
std::string new_token();  // nobody can guess it

// By rank: as a person knows them.
std::vector<std::string> rank_names(const experiment::Resolved& experiment);

// Whether any rank has said another `value` than `expected`; and whether all have said theirs.
bool any_differs(const Seats& seats, std::string RankSeat::*value, const std::string& expected);
bool all_said(const Seats& seats, std::string RankSeat::*value);

// With a table of who has what. `of`: "plan" or "software".
base::Problem disagreement(const Seats& seats, const std::string& of, std::string RankSeat::*value,
                           const std::string& expected);

// Replicas that trained the same samples must end with the same bits. Every rank has finished; some
// keep none.
std::optional<base::Problem> different_weights(const Seats& seats, const std::vector<int>& alike);

base::Problem not_started(const Seats& seats, double seconds);

}  // namespace trainyard::session
