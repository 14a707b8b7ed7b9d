// SPDX-License-Identifier: GPL-3.0-or-later
// Log of the answers that passive ranks gave to active ranks (gossip_pair.h). Each passive rank
// logs its answers in the order in which it gave them. The results of an asynchronous gossip run
// depend only on its experiment and on this log. An active rank's parameters follow from the
// answers that it receives. A passive rank's parameters follow from the positions among its ops at
// which it answered. With the log, a run can be replayed bit for bit (run/replay/gossip_replay.h).
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/plan/merged.h"

namespace trainyard::plan {

// Position of a rank in its training: all steps before `step` are complete, and so are the first
// `ops` compute ops of `step`. Ops between steps, such as evaluation, do not count, because they
// change no parameters. After the last op of a step, the position is the start of the next step.
struct StepPosition {
  std::int64_t step = 0;
  std::int32_t ops = 0;
  auto operator<=>(const StepPosition&) const =
      default;  // NOLINT(modernize-use-nullptr): clang-tidy 14 sees a 0 in it
};

struct Answer {
  enum class Kind : std::uint8_t {
    answers,  // the rank answers an offer: it averages its parameters with those of an active rank
    // the rank has finished its last step and answered all offers; afterwards all ranks form their
    // mean and keep it as their final parameters
    ends,
  };
  Kind kind = Kind::answers;
  std::int32_t rank = -1;    // passive rank that logs the event
  StepPosition place;        // position of that rank at the event
  std::int32_t active = -1;  // for kind `answers`: the active rank
  std::int64_t step = 0;     // for kind `answers`: step of the active rank

  bool operator==(const Answer&) const = default;
};

// Serializes an event for a file or a message: little-endian on every machine, 32 bytes an event.
// `answers_of` returns a Problem if the bytes are not valid events.
void append(const Answer& event, std::string& bytes);
base::Result<std::vector<Answer>> answers_of(std::span<const std::byte> bytes);

// Recorded answers of all passive ranks, merged into one order. The order is consistent with every
// log. In it, the answer to an active rank's offer of a step follows the answers to its offers of
// all earlier steps.
class RecordedAnswers {
 public:
  // `ranks`: logs by rank, for all ranks; the log of a rank that never answers is empty. Returns a
  // Problem if an event names a rank that does not exist, or another rank than that of its log.
  static base::Result<RecordedAnswers> make(std::vector<std::vector<Answer>> ranks,
                                            std::int64_t first_step);

  // returns the next event; nothing at the end, or if the next event depends on an event that was
  // not recorded
  std::optional<Answer> next();
  std::int64_t left() const { return static_cast<std::int64_t>(merged_.left()); }

 private:
  MergedLogs<Answer> merged_;
  std::vector<std::int64_t> asks_;  // step of the next offer, by active rank
};

}  // namespace trainyard::plan
