// SPDX-License-Identifier: GPL-3.0-or-later
// Rules of the manual in resources/manual, and broken manuals that violate each rule.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cstdio>
#include <memory>

#include "core/base/names.h"
#include "core/experiment/document.h"
#include "core/experiment/fields.h"
#include "tests/manual/checks.h"
#include "tests/problem_matchers.h"

namespace trainyard::manual {
namespace {

namespace fs = std::filesystem;
using base::IsProblem;
using base::Mentions;
using testing::AllOf;
using testing::Contains;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::Not;

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

TEST(Manual, documents_every_field_strategy_algorithm_and_verb) {
  const Names names{experiment_fields(), names_of<experiment::StrategyKind>(),
                    names_of<collective::Algorithm>(), verbs_in_help(help_of(""))};
  EXPECT_GT(names.fields.size(), 150u);
  EXPECT_GT(names.verbs.size(), 10u);
  EXPECT_THAT(check_names(real_manual(), names), IsEmpty());
}
TEST(Manual, has_one_row_for_each_field) {
  EXPECT_THAT(check_field_tables(real_manual(), experiment_fields()), IsEmpty());
}
TEST(Manual, has_rows_for_the_fields_that_a_strategy_uses) {
  EXPECT_THAT(check_strategy_fields(real_manual()), IsEmpty());
}
TEST(Manual, lists_every_page_in_its_contents) {
  EXPECT_THAT(check_contents(real_manual()), IsEmpty());
}
TEST(Manual, has_no_broken_links) {
  EXPECT_THAT(check_links(real_manual(), kDirectory), IsEmpty());
}
TEST(Manual, documents_existing_problem_ids) {
  EXPECT_GT(real_manual().problems().size(), 20u);
  EXPECT_THAT(check_problem_ids(real_manual(), kSource), IsEmpty());
}
TEST(Manual, names_existing_experiments) {
  EXPECT_THAT(check_example_names(real_manual(), kSource), IsEmpty());
}
TEST(Manual, quotes_labels_of_the_workbench) {
  EXPECT_THAT(check_labels(real_manual(), kSource), IsEmpty());
}
TEST(Manual, contains_valid_commands) {
  ASSERT_TRUE(real_usage().contains("bench allreduce"));
  ASSERT_TRUE(real_usage().at("run").options.contains("--set"));
  EXPECT_THAT(check_commands(real_manual(), real_usage(), kSource), IsEmpty());
}

Manual manual_of(const std::string& text) {
  return Manual({parse_page("index.md", "# Contents\n[A](a.md)\n"), parse_page("a.md", text)});
}

TEST(Manual, lists_every_soak_test) {
  const Page* page = real_manual().page("developers/building.md");
  ASSERT_NE(page, nullptr);
  int scripts = 0;
  for (const auto& entry : fs::directory_iterator(kSource / "tests" / "soak")) {
    // started_run.py is a module of other scripts
    if (!entry.is_regular_file() || entry.path().filename() == "started_run.py") continue;
    ++scripts;
    EXPECT_THAT(page->text, testing::HasSubstr("tests/soak/" + entry.path().filename().string()));
  }
  EXPECT_GT(scripts, 5);
}

TEST(BrokenManual, reports_undocumented_names) {
  EXPECT_THAT(check_names(manual_of("# A\n"), {{"run.clock"}, {"ddp"}, {"ring"}, {"run"}}),
              ElementsAre(IsProblem("undocumented_field", "run.clock"),
                          IsProblem("undocumented_strategy", "ddp"),
                          IsProblem("undocumented_algorithm", "ring"),
                          IsProblem("undocumented_verb", "run")));
}

TEST(BrokenManual, reports_unknown_fields_and_duplicate_rows) {
  const std::string table = "## Fields\n| a | b | c |\n|---|---|---|\n";
  const Manual manual({parse_page("index.md", "# Contents\n[A](a.md) [B](b.md)\n"),
                       parse_page("a.md", "# A\n" + table + "| `run.clock` | | |\n| `x` | | |\n"),
                       parse_page("b.md", "# B\n" + table + "| `run.clock` | | |\n")});
  EXPECT_THAT(check_field_tables(manual, {"run.clock"}),
              ElementsAre(AllOf(IsProblem("duplicate_row", "b.md"), Mentions("run.clock")),
                          AllOf(IsProblem("unknown_field", "a.md"), Mentions("x is"))));
}

TEST(BrokenManual, reports_missing_rows_of_strategies) {
  EXPECT_THAT(check_strategy_fields(manual_of("# A\n")),
              Contains(AllOf(IsProblem("missing_row", "gossip"), Mentions("strategy.gossip"))));
}

TEST(BrokenManual, reports_unlisted_pages_and_missing_titles) {
  const Manual manual({parse_page("a.md", "Text\n"), parse_page("index.md", "# Contents\n")});
  EXPECT_THAT(check_contents(manual), ElementsAre(IsProblem("page_not_in_contents", "a.md"),
                                                  IsProblem("page_without_title", "a.md")));
}

TEST(BrokenManual, reports_broken_links) {
  const Manual manual = manual_of(
      "# A\n[page](no.md) [ok](#a) [web](https://example.org)\n[anchor](#b)\n[other](index.md#c)\n"
      "![picture](../screenshots/no.png)\n");
  EXPECT_THAT(check_links(manual, kDirectory),
              ElementsAre(AllOf(IsProblem("broken_link", "a.md:2"), Mentions("no.md")),
                          AllOf(IsProblem("broken_anchor", "a.md:3"), Mentions("#b")),
                          AllOf(IsProblem("broken_anchor", "a.md:4"), Mentions("index.md#c")),
                          AllOf(IsProblem("broken_link", "a.md:5"), Mentions("no.png"))));
}

TEST(BrokenManual, reports_unknown_problem_ids) {
  const Manual manual({parse_page("problems.md",
                                  "# Problems\n## Run\n| message | cause | what to do | id |\n"
                                  "|---|---|---|---|\n"
                                  "| a | b | c | `rank_died`, `rank_is_tired` |\n")});
  EXPECT_THAT(check_problem_ids(manual, kSource),
              AllOf(Contains(AllOf(IsProblem("unknown_problem_id", "problems.md"),
                                   Mentions("rank_is_tired"))),
                    Contains(AllOf(IsProblem("problem_id_not_listed", "problems.md"),
                                   Mentions("deadlock"))),
                    Not(Contains(Mentions("rank_died")))));
}

TEST(BrokenManual, reports_unknown_labels) {
  const auto found = [](const std::string& text) {
    return check_labels(manual_of("# A\n" + text + "\n"), kSource);
  };
  EXPECT_THAT(found("Open *View > Fly to the moon* or *Show location*."),
              ElementsAre(AllOf(IsProblem("unknown_label", "a.md"), Mentions("Fly to the moon"))));
  EXPECT_THAT(found("*Slow down rank n in this run* and `*No label*`; **Bold**"), IsEmpty());
}

TEST(BrokenManual, reports_missing_experiments) {
  EXPECT_THAT(check_example_names(manual_of("# A\n`no_such.json`, `resources/experiments/no.json`, "
                                            "`result.json`, `one_device_digits.json`\n"),
                                  kSource),
              ElementsAre(AllOf(IsProblem("missing_experiment", "a.md"), Mentions("no_such.json")),
                          AllOf(IsProblem("missing_experiment", "a.md"),
                                Mentions("resources/experiments/no.json"))));
}

base::Problems commands(const std::string& lines) {
  return check_commands(manual_of("# A\n```sh\n" + lines + "```\n"), real_usage(), kSource);
}

TEST(BrokenManual, reports_invalid_commands) {
  const std::string run = "trainyard-cli run resources/experiments/one_device_digits.json ";
  const auto expect = [](const std::string& lines, const char* id, const char* word) {
    EXPECT_THAT(commands(lines), ElementsAre(AllOf(IsProblem(id, "a.md:3"), Mentions(word))));
  };
  expect("trainyard-cli fly\n", "unknown_verb", "fly");
  expect("trainyard-cli bench fly\n", "unknown_verb", "fly");
  expect(run + "--fast\n", "unknown_option", "--fast");
  expect(run + "--steps many\n", "wrong_type", "many");
  expect(run + "--steps\n", "option_without_value", "--steps");
  expect(run + "again\n", "too_many_arguments", "again");
  expect("trainyard-cli run\n", "missing_argument", "");
  expect("trainyard-cli run resources/experiments/no.json\n", "missing_experiment", "no.json");
  expect("trainyard-cli list animals\n", "unknown_value", "animals");
  expect("trainyard-cli export RUN --format csv\n", "missing_option", "--out");
  expect("trainyard-cli export RUN --format pdf --out x\n", "unknown_value", "pdf");
}

TEST(BrokenManual, reports_invalid_commands_in_running_text) {
  const auto found = [](const std::string& text) {
    return check_commands(manual_of("# A\n" + text + "\n"), real_usage(), kSource);
  };
  const std::string command = "trainyard-cli export RUN --format csv";
  EXPECT_THAT(found("Use `" + command + "` now."),
              ElementsAre(IsProblem("missing_option", "a.md: " + command)));
  EXPECT_THAT(found("Use `" + command + " --out FILE` and `trainyard-cli run`."), IsEmpty());
}

TEST(BrokenManual, reports_invalid_overrides) {
  const std::string run = "trainyard-cli run resources/experiments/one_device_digits.json \\\n  ";
  EXPECT_THAT(commands(run + "--set training.stepz=5 --set training.batch_per_rank=16\n"),
              ElementsAre(IsProblem("unknown_key", "a.md:3: --set: training.stepz")));
  EXPECT_THAT(
      commands(run + "--set training.optimizer.kind=adan\n"),
      ElementsAre(AllOf(IsProblem("unknown_value", "a.md:3: --set: training.optimizer.kind"),
                        Mentions("\"adam\""))));
  EXPECT_THAT(commands(run + "--set=training.steps=-5\n"),
              ElementsAre(IsProblem("out_of_range", "a.md:3: --set: training.steps")));
}

TEST(BrokenManual, accepts_valid_commands) {
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
