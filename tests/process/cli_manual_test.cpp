// SPDX-License-Identifier: GPL-3.0-or-later
// The verb manual.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cli_program.h"
#include "core/base/json.h"

namespace trainyard::process {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pair;
using testing::StartsWith;

TEST(CliManual, prints_the_contents_without_a_topic) {
  const Ran ran = cli({"manual"});
  EXPECT_EQ(ran.exit_code, 0);
  EXPECT_THAT(ran.out, HasSubstr("\nStrategies\n"));
  EXPECT_THAT(ran.out, HasSubstr("  pipeline_parallel"));
  EXPECT_THAT(cli({"manual", "--json"}).result()["topics"], Contains("training"));
}

TEST(CliManual, prints_a_page) {
  const Ran ran = cli({"manual", "training"});
  EXPECT_EQ(ran.exit_code, 0);
  EXPECT_THAT(ran.out, StartsWith("# Training\n"));
  EXPECT_THAT(ran.out, HasSubstr("## See also"));
}

TEST(CliManual, prints_a_section) {
  const Ran ran = cli({"manual", "memory#memory-advice"});
  EXPECT_EQ(ran.exit_code, 0);
  EXPECT_THAT(ran.out, StartsWith("## Memory advice\n"));
  EXPECT_THAT(ran.out, testing::Not(HasSubstr("## Try it")));
  EXPECT_EQ(cli({"manual", "training.optimizer.learning_rate", "--json"}).result()["topic"],
            "training.md#fields");
}

TEST(CliManual, an_unknown_topic_is_an_error_with_similar_topics) {
  EXPECT_EQ(cli({"manual", "pipline_parallel"}).out, "");
  const Ran ran = cli({"manual", "pipline_parallel", "--json"});
  EXPECT_EQ(ran.exit_code, 2);
  EXPECT_THAT(ran.problems(), ElementsAre(Pair("unknown_topic", "manual")));
  EXPECT_THAT(ran.result()["problems"][0]["advice"].get<std::string>(),
              HasSubstr("\"pipeline_parallel\""));
}

TEST(CliManual, a_missing_manual_is_an_error) {
  const Ran ran = shell("TRAINYARD_RESOURCES=/nowhere \"$CLI\" manual --json");
  EXPECT_EQ(ran.exit_code, 2);
  EXPECT_THAT(ran.problems(), ElementsAre(Pair("manual_missing", "index.md")));
}

}  // namespace
}  // namespace trainyard::process
