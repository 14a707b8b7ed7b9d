// SPDX-License-Identifier: GPL-3.0-or-later
// The strategy tpu by the programs themselves: caveats that its devices are emulated.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "examples.h"
#include "run_program.h"

namespace trainyard::process {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

const std::string kTpus = example("eight_tpus_torus_digits");

TEST(Tpus, are_marked_as_emulated_beside_every_time) {
  const Home home;
  const std::string speed = "8 of 8 devices";
  const Ran ran = cli({"run", kTpus, "--steps", "2", "--out", (home / "run").string()});
  EXPECT_EQ(ran.exit_code, 0) << ran.err;
  EXPECT_THAT(ran.err, HasSubstr("note: EMULATED: " + speed));
  EXPECT_THAT(ran.out, AllOf(testing::ContainsRegex("EMULATED +" + speed),
                             testing::ContainsRegex("multiplies +bfloat16")));
  EXPECT_THAT(cli({"replay", (home / "run").string()}).out, HasSubstr("EMULATED: " + speed));
  EXPECT_THAT(cli({"validate", kTpus}).out,
              AllOf(HasSubstr("note: EMULATED: " + speed), HasSubstr("bfloat16 multiplies")));
  EXPECT_THAT(cli({"list", "strategies"}).out, HasSubstr("EMULATED"));
  EXPECT_THAT(cli({"validate", kMirrored}).out,
              AllOf(Not(HasSubstr("EMULATED")), Not(HasSubstr("bfloat16"))));
}

}  // namespace
}  // namespace trainyard::process
