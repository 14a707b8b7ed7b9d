// SPDX-License-Identifier: GPL-3.0-or-later
// A wide layer reads the sample again when all others have done with it: what is loaded next must
// wait for that too.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/core/check/breaking.h"

namespace trainyard::check {
namespace {

using collective::Algorithm;
using plan::Op;
using testing::HasSubstr;

experiment::Experiment accumulating(experiment::Experiment e) {
  e.training.accumulation_steps = 3;
  return e;
}

// Returns the number of compute ops up to the op with this token.
std::int32_t computed_with(Victim& victim, const std::string& token) {
  std::int32_t count = 0;
  for (const Op& op : victim.train(0)) {
    if (victim.ranks[0].lanes[op.lane.index()].kind == plan::LaneKind::compute) ++count;
    if (plan::token(op) == token) break;
  }
  return count;
}

// The second micro-step's load.
void load_after(Victim& victim, const std::string& token) {
  victim.op(0, "LOAD.m1").after = {{plan::LaneId(1), computed_with(victim, token), 0}};
}

TEST(Wide, layers_in_valid_plans_are_proved) {
  for (const int ranks : {1, 2, 3}) {
    const Victim whole = coarse(accumulating(strategy::small_wide_and_deep(ranks)));
    EXPECT_EQ(first_finding(whole), "");
    EXPECT_EQ(first_finding(whole.expanded(Algorithm::ring)), "");
  }
}

// Its own forward op reads the sample after that of the first segment, and the logits.
TEST(Wide, layer_reads_the_samples_and_the_logits) {
  Victim victim = coarse(strategy::small_wide_and_deep(2));
  const auto names = [&](const std::vector<plan::Access>& accesses) {
    std::vector<std::string> list;
    for (const plan::Access& access : accesses)
      list.push_back(victim.ranks[0].buffers[access.buffer.index()].name);
    return list;
  };
  EXPECT_THAT(names(victim.op(0, "F.s3.m0").reads),
              testing::ElementsAre("act.s2", "input", "params"));
  EXPECT_THAT(names(victim.op(0, "W.s3.m0").reads), testing::ElementsAre("input", "grad.s3"));
  EXPECT_THAT(names(victim.op(0, "B.s3.m0").reads), testing::ElementsAre("grad.s3"));
}

void forget_reading(Victim& victim, const std::string& token, const std::string& buffer) {
  const plan::BufferId id = victim.ranks[0].buffer(buffer);
  ASSERT_EQ(std::erase_if(victim.op(0, token).reads,
                          [&](const plan::Access& access) { return access.buffer == id; }),
            1u)
      << token;
}

// Only `reader`, after the op of the first segment, reads the loaded data.
Victim with_last_reader(const std::string& reader) {
  Victim victim = coarse(accumulating(strategy::small_wide_and_deep(1)));
  for (const char* op : {"F.s3.m0", "W.s3.m0", "W.s0.m0"})
    if (op != reader) forget_reading(victim, op, "input");
  forget_reading(victim, "LOSS.m0", "labels");
  return victim;
}

TEST(Wide, layer_races_with_samples_overwritten_before_the_lookup) {
  for (const auto& [reader, before] :
       {std::pair("F.s3.m0", "F.s2.m0"), std::pair("W.s3.m0", "B.s3.m0")}) {
    Victim victim = with_last_reader(reader);
    load_after(victim, reader);
    EXPECT_EQ(first_finding(victim), "");
    load_after(victim, before);
    EXPECT_EQ(failed(victim), ProofSet{Proof::races}) << reader;
    EXPECT_THAT(first_finding(victim), HasSubstr(reader));
    EXPECT_THAT(text_of_first_finding(victim), HasSubstr("input"));
  }
}

}  // namespace
}  // namespace trainyard::check
