// SPDX-License-Identifier: GPL-3.0-or-later
// What passive ranks did for those that asked them (pairing.h), each in its order: all that
// asynchronous gossip depends on besides its experiment. An active rank's numbers follow from the
// answers that it is given, and a passive one's from where among its own ops it gave them; so who
// knows these can make every number of the run again (run/pair_training.h), to the bit.
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

// Where a rank is in its steps: `ops` compute ops of step `step` are done, and all of the steps
// before. What a rank does between steps, as to evaluate, does not count: it changes no parameters.
// After the last op of a step it is at the next one's first.
struct StepPlace {
  std::int64_t step = 0;
  std::int32_t ops = 0;
  auto operator<=>(const StepPlace&) const =
      default;  // NOLINT(modernize-use-nullptr): clang-tidy 14 sees a 0 in it
};

struct Answer {
  enum class Kind : std::uint8_t {
    answers,  // it averages with an active rank
    ends,  // it has made its last step, and owes nobody an answer: next, all make their mean, and
           // end with it
  };
  Kind kind = Kind::answers;
  std::int32_t rank = -1;    // who does it, a passive one
  StepPlace place;           // where it is then
  std::int32_t active = -1;  // answers: whom
  std::int64_t step = 0;     // answers: of the active rank

  bool operator==(const Answer&) const = default;
};

// As bytes of a file or a message, whatever machine reads them (little-endian, 32 an event); what
// cannot be events is a Problem.
void append(const Answer& event, std::string& bytes);
base::Result<std::vector<Answer>> answers_of(std::span<const std::byte> bytes);

// What passive ranks wrote down, in one order that all can have gone by: a rank is answered for a
// step once it was for all before.
class RecordedAnswers {
 public:
  // By rank, of all ranks; who never answers wrote nothing. A Problem names an event of another
  // rank, or of one that there is not.
  static base::Result<RecordedAnswers> make(std::vector<std::vector<Answer>> ranks,
                                            std::int64_t first_step);

  std::optional<Answer>
  next();  // nothing: it is over, or what comes next follows what was not written down
  std::int64_t left() const { return static_cast<std::int64_t>(merged_.left()); }

 private:
  Merged<Answer> merged_;
  std::vector<std::int64_t> asks_;  // by rank: the step of its next offer
};

}  // namespace trainyard::plan
