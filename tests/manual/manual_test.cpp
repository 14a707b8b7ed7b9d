// SPDX-License-Identifier: GPL-3.0-or-later
// The manual in resources/manual follows its rules, and each rule finds a broken example.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cstdio>
#include <memory>

#include "core/base/names.h"
#include "core/experiment/document.h"
#include "core/experiment/fields.h"
#include "tests/manual/checks.h"

namespace trainyard::manual {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

const fs::path kSource = TRAINYARD_SOURCE_DIR;
const fs::path kDirectory = kSource / "resources" / "manual";

const Manual& real_manual() {
  static const Manual manual = [] {
    auto loaded = Manual::load(kDirectory);
    EXPECT_TRUE(loaded);
    return loaded.value_or(Manual());
  }();
  return manual;
}

std::string help_of(const std::string& verb) {
  const std::string command = TRAINYARD_BIN_DIR "/trainyard-cli " + verb + " --help";
  const std::unique_ptr<FILE, int (*)(FILE*)> pipe(::popen(command.c_str(), "r"), ::pclose);
  std::string text;
  std::array<char, 4096> part{};
  while (pipe && std::fgets(part.data(), part.size(), pipe.get())) text += part.data();
  return text;
}

const Usage& real_usage() {
  static const Usage usage = read_usage(help_of);
  return usage;
}

template <class Enum>
std::vector<std::string> names_of() {
  return base::all_names<Enum>();
}

TEST(Manual, explains_every_field_strategy_algorithm_and_verb) {
  const Names names{experiment_fields(), names_of<experiment::StrategyKind>(),
                    names_of<collective::Algorithm>(), verbs_in_help(help_of(""))};
  EXPECT_GT(names.fields.size(), 150u);
  EXPECT_GT(names.verbs.size(), 10u);
  EXPECT_THAT(check_names(real_manual(), names), IsEmpty());
}
TEST(Manual, names_fields_that_exist_and_explains_each_once) {
  EXPECT_THAT(check_field_tables(real_manual(), experiment_fields()), IsEmpty());
}
TEST(Manual, lists_every_page_in_its_contents) {
  EXPECT_THAT(check_contents(real_manual()), IsEmpty());
}
TEST(Manual, has_no_broken_link_or_picture) {
  EXPECT_THAT(check_links(real_manual(), kDirectory), IsEmpty());
}
TEST(Manual, explains_problems_that_exist) {
  EXPECT_GT(real_manual().problems().size(), 20u);
  EXPECT_THAT(check_problem_ids(real_manual(), kSource), IsEmpty());
}
TEST(Manual, names_experiments_that_exist) {
  EXPECT_THAT(check_example_names(real_manual(), kSource), IsEmpty());
}
TEST(Manual, shows_commands_that_the_command_line_accepts) {
  ASSERT_TRUE(real_usage().contains("bench allreduce"));
  ASSERT_TRUE(real_usage().at("run").options.contains("--set"));
  EXPECT_THAT(check_commands(real_manual(), real_usage(), kSource), IsEmpty());
}

// Broken examples.

Manual manual_of(const std::string& text) {
  return Manual({parse_page("index.md", "# Contents\n[A](a.md)\n"), parse_page("a.md", text)});
}

TEST(BrokenManual, a_name_without_a_place_is_found) {
  EXPECT_THAT(check_names(manual_of("# A\n"), {{"run.clock"}, {"ddp"}, {"ring"}, {"run"}}),
              ElementsAre("field run.clock has no place", "strategy ddp has no place",
                          "algorithm ring has no place", "verb run has no place"));
}

TEST(BrokenManual, an_unknown_field_and_a_second_row_are_found) {
  const std::string table = "## Fields\n| a | b | c |\n|---|---|---|\n";
  const Manual manual({parse_page("index.md", "# Contents\n[A](a.md) [B](b.md)\n"),
                       parse_page("a.md", "# A\n" + table + "| `run.clock` | | |\n| `x` | | |\n"),
                       parse_page("b.md", "# B\n" + table + "| `run.clock` | | |\n")});
  EXPECT_THAT(check_field_tables(manual, {"run.clock"}),
              ElementsAre("run.clock has rows in a.md and b.md; make one a link to the other",
                          "a.md: x is no field"));
}

TEST(BrokenManual, a_page_that_nothing_leads_to_and_a_missing_title_are_found) {
  const Manual manual({parse_page("a.md", "Text\n"), parse_page("index.md", "# Contents\n")});
  EXPECT_THAT(check_contents(manual),
              ElementsAre("a.md is not in index.md", "a.md does not begin with a title"));
}

TEST(BrokenManual, broken_links_are_found) {
  const Manual manual = manual_of(
      "# A\n[page](no.md) [ok](#a) [web](https://example.org)\n[anchor](#b)\n[other](index.md#c)\n"
      "![picture](../screenshots/no.png)\n");
  EXPECT_THAT(check_links(manual, kDirectory),
              ElementsAre("a.md:2: no.md is missing", "a.md:3: #b has no section \"b\"",
                          "a.md:4: index.md#c has no section \"c\"",
                          "a.md:5: ../screenshots/no.png is missing"));
}

TEST(BrokenManual, unknown_ids_of_problems_are_found) {
  const Manual manual({parse_page("problems.md",
                                  "# Problems\n## Run\n| message | cause | what to do | id |\n"
                                  "|---|---|---|---|\n"
                                  "| a | b | c | `rank_died`, `rank_is_tired` |\n")});
  EXPECT_THAT(check_problem_ids(manual, kSource),
              ElementsAre(HasSubstr("no source file names rank_is_tired")));
}

TEST(BrokenManual, missing_experiments_are_found) {
  EXPECT_THAT(check_example_names(manual_of("# A\n`no_such.json`, `resources/experiments/no.json`, "
                                            "`result.json`, `one_device_digits.json`\n"),
                                  kSource),
              ElementsAre("a.md: there is no experiment no_such.json",
                          "a.md: there is no experiment resources/experiments/no.json"));
}

Findings commands(const std::string& lines) {
  return check_commands(manual_of("# A\n```sh\n" + lines + "```\n"), real_usage(), kSource);
}

TEST(BrokenManual, commands_with_mistakes_are_found) {
  const std::string run = "trainyard-cli run resources/experiments/one_device_digits.json ";
  EXPECT_THAT(commands("trainyard-cli fly\n"), ElementsAre(HasSubstr("\"fly\" is no verb")));
  EXPECT_THAT(commands("trainyard-cli bench fly\n"), ElementsAre(HasSubstr("\"fly\" is no verb")));
  EXPECT_THAT(commands(run + "--fast\n"),
              ElementsAre("a.md:3: trainyard-cli run: has no option --fast"));
  EXPECT_THAT(commands(run + "--steps many\n"), ElementsAre(HasSubstr("is no whole number")));
  EXPECT_THAT(commands(run + "--steps\n"), ElementsAre(HasSubstr("--steps has no value")));
  EXPECT_THAT(commands(run + "again\n"), ElementsAre(HasSubstr("\"again\" is too much")));
  EXPECT_THAT(commands("trainyard-cli run\n"), ElementsAre(HasSubstr("an argument is missing")));
  EXPECT_THAT(commands("trainyard-cli run resources/experiments/no.json\n"),
              ElementsAre(HasSubstr("resources/experiments/no.json is missing")));
  EXPECT_THAT(commands("trainyard-cli list animals\n"), ElementsAre(HasSubstr("is not one of")));
  EXPECT_THAT(commands("trainyard-cli export RUN --format csv\n"),
              ElementsAre(HasSubstr("--out is missing")));
  EXPECT_THAT(commands("trainyard-cli export RUN --format pdf --out x\n"),
              ElementsAre(HasSubstr("\"pdf\" is not one of")));
}

TEST(BrokenManual, overrides_with_mistakes_are_found) {
  const std::string run = "trainyard-cli run resources/experiments/one_device_digits.json \\\n  ";
  EXPECT_THAT(commands(run + "--set training.stepz=5 --set training.batch_per_rank=16\n"),
              ElementsAre(HasSubstr("training.stepz: unknown key")));
  EXPECT_THAT(commands(run + "--set training.optimizer.kind=adan\n"),
              ElementsAre(HasSubstr("Did you mean \"adam\"?")));
  EXPECT_THAT(commands(run + "--set=training.steps=-5\n"), ElementsAre(HasSubstr("out of range")));
}

TEST(BrokenManual, correct_commands_are_accepted) {
  EXPECT_THAT(commands("trainyard-cli --version\ntrainyard-cli run --help\n"
                       "trainyard-cli list strategies | head\n"
                       "trainyard-cli run resources/experiments/one_device_digits.json --json > x\n"
                       "trainyard-cli run mine.json --set 'training.steps=7' # note\n"
                       "echo trainyard-cli fly\n"),
              IsEmpty());
}

TEST(ShellWords, end_at_operators_outside_quotes) {
  EXPECT_THAT(shell_words("a 'b c'=\"d|e\" f#g | h"), ElementsAre("a", "b c=d|e", "f#g"));
  EXPECT_THAT(shell_words("a '' b # c"), ElementsAre("a", "", "b"));
}

}  // namespace
}  // namespace trainyard::manual
