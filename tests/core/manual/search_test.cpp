// SPDX-License-Identifier: GPL-3.0-or-later
// Search of the manual, and texts of topics that are rows of tables.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/manual/manual.h"

namespace trainyard::manual {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

Manual gossip_manual() {
  return Manual({
      parse_page("developers/gossip.md", "# Adding a gossip rule\nThe gossip of developers.\n"),
      parse_page("gossip.md", "# Gossip\nAverages with neighbors.\n## Limits\nNo gossip of one.\n"),
      parse_page("index.md",
                 "# Manual\n## Pages\n[Gossip](gossip.md), [Training](training.md), "
                 "[Problems](problems.md)\n"),
      parse_page("problems.md",
                 "# Problems\n## Problems of a run\n"
                 "| message | cause | what to do | id |\n|---|---|---|---|\n"
                 "| a | b | c | `rank_died` |\n"
                 "## Problems by subject\n| subject | where | page | id |\n|---|---|---|---|\n"
                 "| roles | a device | [Gossip](gossip.md#limits) | `role_not_used` |\n"),
      parse_page("training.md",
                 "# Training\nAn unscheduled word.\n## Fields\n"
                 "| Field | Meaning | Default |\n|---|---|---|\n"
                 "| `training.learning_rate` | Step size of gossip | 0.1 |\n"
                 "| `training.schedule` | Schedule | constant |\n"),
  });
}

std::vector<std::string> places(const std::string& words) {
  std::vector<std::string> found;
  for (const SearchHit& hit : gossip_manual().search(words)) found.push_back(to_string(hit.place));
  return found;
}

TEST(Search, finds_beginnings_of_words) {
  EXPECT_THAT(places("sched"), ElementsAre("training.md#fields"));
  EXPECT_THAT(places("schedule"), ElementsAre("training.md#fields"));
  EXPECT_THAT(places("chedule"), IsEmpty());
}

TEST(Search, treats_underscores_as_spaces) {
  EXPECT_EQ(places("learning_rate"), places("learning rate"));
  EXPECT_THAT(places("rate"), ElementsAre("training.md#fields"));
}

TEST(Search, orders_page_titles_before_sections_and_pages_for_developers) {
  EXPECT_THAT(
      places("gossip"),
      ElementsAre("gossip.md#gossip", "developers/gossip.md#adding-a-gossip-rule",
                  "gossip.md#limits", "problems.md#problems-by-subject", "training.md#fields"));
}

TEST(Search, gives_the_first_match_below_the_heading) {
  const auto hits = gossip_manual().search("step");
  ASSERT_EQ(hits.size(), 1u);
  EXPECT_EQ(hits[0].place.word, "Step");
  EXPECT_THAT(hits[0].excerpt, HasSubstr("Step size of gossip"));
  EXPECT_THAT(hits[0].excerpt, Not(HasSubstr("---")));
  EXPECT_THAT(hits[0].excerpt, Not(HasSubstr("|")));
  EXPECT_EQ(gossip_manual().search("learning")[0].place.word, "learning_rate");
  EXPECT_EQ(gossip_manual().search("limits")[0].place.word, "") << "only the heading matches";
}

TEST(Text, of_a_field_is_its_row_with_the_header) {
  const Manual manual = gossip_manual();
  EXPECT_EQ(manual.text(*manual.find("training.schedule")),
            "| Field | Meaning | Default |\n|---|---|---|\n"
            "| `training.schedule` | Schedule | constant |\n");
}

TEST(Text, of_a_page_or_section_is_complete) {
  const Manual manual = gossip_manual();
  EXPECT_EQ(manual.text({"gossip.md", "limits", ""}), "## Limits\nNo gossip of one.\n");
  EXPECT_EQ(manual.text({"gossip.md", "", ""}), manual.page("gossip.md")->text);
  EXPECT_EQ(manual.text({"training.md", "fields", "no row"}),
            manual.text({"training.md", "fields", ""}));
  EXPECT_EQ(manual.text({"missing.md", "", ""}), "");
}

std::string place_of(const char* id, const char* where) {
  const auto place = gossip_manual().problem({id, base::ProblemCode::bad_input, where, "", "", ""});
  return place ? to_string(*place) : "";
}

TEST(ProblemPlace, is_the_row_that_explains_the_id_before_the_field) {
  EXPECT_EQ(place_of("rank_died", "training.schedule"), "problems.md#problems-of-a-run");
}

TEST(ProblemPlace, is_the_field_or_the_page_of_the_subject_if_no_row_explains_the_id) {
  EXPECT_EQ(place_of("role_not_used", "training.schedule"), "training.md#fields");
  EXPECT_EQ(place_of("role_not_used", "rank 2"), "gossip.md#limits");
}

TEST(Find, knows_ids_of_problems_and_names_of_fields) {
  EXPECT_EQ(to_string(*gossip_manual().find("rank_died")), "problems.md#problems-of-a-run");
  EXPECT_EQ(gossip_manual().find("learning_rate")->word, "training.learning_rate");
}

TEST(Find, knows_rows_of_tables_and_values_of_fields) {
  const Manual manual(
      {parse_page("index.md", "# Manual\n## Pages\n[Training](training.md)\n"),
       parse_page("training.md",
                  "# Training\n## Optimizers\n| kind | buffers |\n|---|---|\n"
                  "| `adam` | 2 |\n## Fields\n| a | b | c | d |\n|---|---|---|---|\n"
                  "| `run.clock` | Clock | `real` | `real`, `auto` |\n"
                  "| `run.links` | Links | `auto` | `auto`, `shaped` |\n"
                  "| `link.speed` | Speed | 1 | Mbit/s |\n"
                  "| `run.speed` | Speed | 1 | steps |\n")});
  EXPECT_EQ(manual.text(*manual.find("adam")), "| kind | buffers |\n|---|---|\n| `adam` | 2 |\n");
  EXPECT_EQ(manual.find("shaped")->word, "run.links");
  const auto several = manual.find("auto");
  ASSERT_FALSE(several);
  EXPECT_EQ(several.error().advice, "These fields have this value: run.clock, run.links");
  const auto two_fields = manual.find("speed");
  ASSERT_FALSE(two_fields);
  EXPECT_EQ(two_fields.error().advice, "These fields have this name: link.speed, run.speed");
}

TEST(ProblemPlace, of_a_field_in_a_file_is_the_field) {
  const auto place = gossip_manual().problem(
      {"made_by_test", base::ProblemCode::bad_input, "a/b.json: training.schedule", "", "", ""});
  ASSERT_TRUE(place);
  EXPECT_EQ(place->word, "training.schedule");
}

}  // namespace
}  // namespace trainyard::manual
