// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/manual/manual.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/problem_matchers.h"

namespace trainyard::manual {
namespace {

using base::IsProblem;
using base::ProblemCode;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

Manual small_manual() {
  return Manual({
      parse_page("all_reduce.md", "# All-reduce\n## Halving doubling\nFew rounds.\n"),
      parse_page("command_line.md", "# Command line\n## run\nTrain.\n## Exit codes\n"),
      parse_page("index.md",
                 "# Manual\n[Nothing](https://example.org)\n## Strategies\n"
                 "| Strategy | Page |\n|---|---|\n| `ddp` | [DDP](strategies/ddp.md) |\n"
                 "| (sharding `vertical`) | [Split](training.md) |\n"
                 "## Training\n- [Training](training.md), again [DDP](strategies/ddp.md)\n"
                 "- [All-reduce](all_reduce.md)\n"
                 "## Workbench\n| Panel | Page |\n|---|---|\n| Log | [Log](problems.md#run) |\n"),
      parse_page("problems.md",
                 "# Problems\n## Problems of the experiment\n"
                 "| message | cause | what to do | id |\n|---|---|---|---|\n"
                 "| devices are missing | a | b | `mesh_not_covered`, `no_worker` |\n"
                 "| `other` | c |\n"
                 "## Problems of a run\n## Problems of the installation\n## Run\n"),
      parse_page("strategies/ddp.md",
                 "# Distributed data parallel\nBuckets of gradients.\n## Fields\n"
                 "| Field | Meaning | Default |\n|---|---|---|\n"
                 "| [`training.seed`](../training.md#fields) | Seed | 1 |\n"
                 "| `strategy.bucket_bytes` | Bucket | 1 |\n"),
      parse_page("training.md",
                 "# Training\n## Learning rate\nThe rate of an optimizer step.\n## Fields\n"
                 "| Field | Meaning | Default |\n|---|---|---|\n"
                 "| `training.seed` | Seed of the weights | 1 |\n"
                 "| `model.layers[0].kind`, `model.layers[0].units` | Layer | - |\n"),
  });
}

TEST(Contents, are_the_groups_of_the_index) {
  const Manual manual = small_manual();
  ASSERT_EQ(manual.contents().size(), 3u);
  EXPECT_EQ(manual.contents()[0].title, "Strategies");
  EXPECT_THAT(manual.contents()[0].files, ElementsAre("strategies/ddp.md", "training.md"));
  EXPECT_THAT(manual.contents()[1].files, ElementsAre("all_reduce.md"));
}

TEST(ManualLocations, fields_are_located_at_rows_without_links) {
  const Manual manual = small_manual();
  EXPECT_EQ(manual.field("training.seed"),
            (ManualLocation{"training.md", "fields", "training.seed"}));
  EXPECT_EQ(manual.field("model.layers[3].units"),
            (ManualLocation{"training.md", "fields", "model.layers[0].units"}));
  EXPECT_EQ(manual.field("training.seed.deeper"), manual.field("training.seed"));
  EXPECT_EQ(manual.field("training.steps"), std::nullopt);
}

TEST(ManualLocations, strategies_algorithms_panels_and_verbs_are_located_by_name) {
  const Manual manual = small_manual();
  EXPECT_EQ(manual.strategy("ddp"), (ManualLocation{"strategies/ddp.md", "", ""}));
  EXPECT_EQ(manual.strategy("vertical"), std::nullopt);
  EXPECT_EQ(manual.algorithm("halving_doubling"),
            (ManualLocation{"all_reduce.md", "halving-doubling", ""}));
  EXPECT_EQ(manual.algorithm("ring"), std::nullopt);
  EXPECT_EQ(manual.panel("log"), (ManualLocation{"problems.md", "run", ""}));
  EXPECT_EQ(manual.verb("run"), (ManualLocation{"command_line.md", "run", ""}));
  EXPECT_EQ(manual.verb("fly"), std::nullopt);
}

TEST(ManualLocations, problems_are_located_by_id_location_and_code) {
  const Manual manual = small_manual();
  const auto slug = [&](ProblemCode code, const char* where) {
    const auto location = manual.problem({"test_problem", code, where, "is odd", "", ""});
    return location ? to_string(*location) : "";
  };
  EXPECT_EQ(
      manual.problem({"no_worker", ProblemCode::bad_input, "training.seed", "is odd", "", ""}),
      (ManualLocation{"problems.md", "problems-of-the-experiment", "no_worker"}));
  EXPECT_EQ(slug(ProblemCode::bad_input, "training.seed"), "training.md#fields");
  EXPECT_EQ(slug(ProblemCode::bad_input, "a/b.json"), "problems.md#problems-of-the-experiment");
  EXPECT_EQ(slug(ProblemCode::failed, "rank 2"), "problems.md#problems-of-a-run");
  EXPECT_EQ(slug(ProblemCode::unavailable, "gpu"), "problems.md#problems-of-the-installation");
  EXPECT_EQ(slug(ProblemCode::bad_usage, "run"), "command_line.md");
}

TEST(Find, accepts_files_titles_and_names) {
  const Manual manual = small_manual();
  const auto found = [&](const std::string& topic) {
    const auto location = manual.find(topic);
    return location ? to_string(*location) : base::to_string(location.error());
  };
  EXPECT_EQ(found("training"), "training.md");
  EXPECT_EQ(found("Training.md"), "training.md");
  EXPECT_EQ(found("training#learning-rate"), "training.md#learning-rate");
  EXPECT_EQ(found("strategies/ddp"), "strategies/ddp.md");
  EXPECT_EQ(found("distributed data parallel"), "strategies/ddp.md");
  EXPECT_EQ(found("ddp"), "strategies/ddp.md");
  EXPECT_EQ(found("run"), "command_line.md#run");
  EXPECT_EQ(found("halving_doubling"), "all_reduce.md#halving-doubling");
  EXPECT_EQ(found("model.layers[7].kind"), "training.md#fields");
  EXPECT_EQ(found("Learning rate"), "training.md#learning-rate");
}

TEST(Find, accepts_the_last_part_of_a_page_name) {
  const Manual manual({parse_page("developers/building.md", "# How to build\n")});
  EXPECT_EQ(to_string(*manual.find("building")), "developers/building.md");
}

TEST(Find, lists_sections_with_the_same_title) {
  const auto found = small_manual().find("fields");
  ASSERT_FALSE(found);
  EXPECT_THAT(found.error().advice, HasSubstr("training.md#fields"));
}

TEST(Find, suggests_similar_topics) {
  const Manual manual = small_manual();
  const auto expect = [&](const std::string& topic, const char* similar) {
    const auto location = manual.find(topic);
    ASSERT_FALSE(location) << topic;
    EXPECT_THAT(location.error(), IsProblem("unknown_topic", "manual"));
    EXPECT_THAT(base::to_string(location.error()), AllOf(HasSubstr(topic), HasSubstr(similar)));
  };
  EXPECT_THAT(manual.find("training#feilds").error(), IsProblem("unknown_section", "training.md"));
  EXPECT_THAT(manual.find("training#feilds").error().advice, HasSubstr("\"fields\""));
  expect("trainin", "\"training\"");
  expect("buckets", "strategies/ddp.md#distributed-data-parallel");
  expect("xyzzy plugh", "contents");
}

TEST(Search, matches_all_words_and_prefers_titles) {
  const Manual manual = small_manual();
  const auto places = [&](const char* words) {
    std::vector<std::string> found;
    for (const SearchHit& hit : manual.search(words)) found.push_back(to_string(hit.place));
    return found;
  };
  EXPECT_THAT(places("RATE optimizer"), ElementsAre("training.md#learning-rate"));
  EXPECT_EQ(places("training").front(), "training.md#training");
  EXPECT_THAT(places("rate zebra"), IsEmpty());
  EXPECT_THAT(places("  "), IsEmpty());
  EXPECT_EQ(manual.search("training", 1).size(), 1u);
}

TEST(Search, shows_the_text_around_the_word) {
  const auto hits = small_manual().search("gradients");
  ASSERT_EQ(hits.size(), 1u);
  EXPECT_EQ(hits[0].page, "Distributed data parallel");
  EXPECT_THAT(hits[0].excerpt, HasSubstr("Buckets of gradients."));
}

TEST(Load, reports_a_missing_manual) {
  const auto manual = Manual::load("/nowhere");
  ASSERT_FALSE(manual);
  EXPECT_EQ(manual.error().code, ProblemCode::unavailable);
  EXPECT_THAT(manual.error(), IsProblem("manual_missing", "/nowhere/index.md"));
  EXPECT_FALSE(Manual::load(""));
}

TEST(Load, reads_the_pages_of_the_source_tree) {
  const auto manual = Manual::load(TRAINYARD_SOURCE_DIR "/resources/manual");
  ASSERT_TRUE(manual);
  EXPECT_NE(manual->page("developers/threads.md"), nullptr);
  EXPECT_GE(manual->contents().size(), 9u);
}

}  // namespace
}  // namespace trainyard::manual
