// SPDX-License-Identifier: GPL-3.0-or-later
// Merges the logs that several ranks recorded, each in its own order, into one order that is
// consistent with all of them.
#pragma once

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "core/base/result.h"

namespace trainyard::plan {

inline base::Problem damaged_order(const char* id, const std::string& what) {
  return {id,
          base::ProblemCode::bad_input,
          "the order of a run",
          what,
          "",
          "The order file is damaged; run again to create it."};
}

template <class Event>
class MergedLogs {
 public:
  MergedLogs() = default;
  explicit MergedLogs(std::vector<std::vector<Event>> logs)
      : logs_(std::move(logs)), at_(logs_.size()) {}

  // Returns the next event that is possible after all events taken so far; null if none is possible
  // or all logs ended. The function takes as many events as possible from one log before it goes to
  // the next log.
  template <class Possible>
  const Event* take(const Possible& possible) {
    for (std::size_t i = 0; i < logs_.size(); ++i) {
      const std::size_t log = (first_asked_ + i) % logs_.size();
      if (!goes_on(log, possible)) continue;
      first_asked_ = log;
      return &logs_[log][at_[log]++];
    }
    return nullptr;
  }
  // True if no event is possible: all logs ended, or, for a killed run, the rest of a log depends
  // on events that another rank did not record.
  template <class Possible>
  bool over(const Possible& possible) const {
    for (std::size_t log = 0; log < logs_.size(); ++log)
      if (goes_on(log, possible)) return false;
    return true;
  }
  std::size_t left() const {  // number of remaining events
    std::size_t left = 0;
    for (std::size_t log = 0; log < logs_.size(); ++log) left += logs_[log].size() - at_[log];
    return left;
  }

 private:
  template <class Possible>
  bool goes_on(std::size_t log, const Possible& possible) const {
    return at_[log] < logs_[log].size() && possible(logs_[log][at_[log]]);
  }

  std::vector<std::vector<Event>> logs_;
  std::vector<std::size_t> at_;  // index of the next event, by log
  std::size_t first_asked_ = 0;
};

}  // namespace trainyard::plan
