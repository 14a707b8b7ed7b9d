// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/manual/page.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace trainyard::manual {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST(Slug, follows_github) {
  EXPECT_EQ(slug_of("Paths and --set"), "paths-and---set");
  EXPECT_EQ(slug_of("batch_norm, layer_norm, rms_norm"), "batch_norm-layer_norm-rms_norm");
  EXPECT_EQ(slug_of("What happens, by strategy"), "what-happens-by-strategy");
  EXPECT_EQ(slug_of("Data \xC3\x97 pipeline"), "data--pipeline");
}

TEST(PlainText, has_no_markup) {
  EXPECT_EQ(plain_text("```sh\nrun it\n```"), "\nrun it\n");
  EXPECT_EQ(plain_text("**Run** the [first](a.md#b) `op` ![x](y.png) 2 * 3"),
            "Run the first op x 2 * 3");
}

TEST(CodeSpans, exclude_links) {
  EXPECT_THAT(code_spans("`a.b`, [`c[0].x`](d.md), `e[1]`"), ElementsAre("a.b", "e[1]"));
}

const char* const kPage =
    "<!-- SPDX-License-Identifier: GPL-3.0-or-later -->\n"
    "# Title `x`\n"
    "Intro, see [other\n"
    "page](other.md#part).\n"
    "\n"
    "## Part\n"
    "```sh\n"
    "# no heading [no link](none.md)\n"
    "echo\n"
    "```\n"
    "### Deeper\n"
    "| a | b |\n"
    "|---|:-:|\n"
    "| `x|y` | 1 \\| 2 |\n"
    "## Part\n"
    "![A picture](p.png)\n";

TEST(ParsePage, finds_sections_outside_code) {
  const Page page = parse_page("a.md", kPage);
  EXPECT_EQ(page.title, "Title x");
  EXPECT_TRUE(page.text.starts_with("# Title"));
  std::vector<std::string> slugs;
  for (const Section& section : page.sections) slugs.push_back(section.slug);
  EXPECT_THAT(slugs, ElementsAre("title-x", "part", "deeper", "part-1"));
  EXPECT_EQ(page.sections[2].level, 3);
  EXPECT_EQ(page.section("none"), nullptr);
}

TEST(ParsePage, returns_the_text_of_a_section_with_its_subsections) {
  const Page page = parse_page("a.md", kPage);
  const std::string text(page.text_with_subsections(*page.section("part")));
  EXPECT_TRUE(text.starts_with("## Part\n```sh"));
  EXPECT_TRUE(text.ends_with("1 \\| 2 |\n"));
  EXPECT_EQ(page.text_with_subsections(*page.section("deeper")).find("## Part"),
            std::string_view::npos);
  EXPECT_EQ(page.text_with_subsections(page.sections.front()), page.text);
}

TEST(ParsePage, finds_no_sections_in_an_empty_text) {
  EXPECT_THAT(parse_page("a.md", "").sections, IsEmpty());
  EXPECT_THAT(parse_page("a.md", "<!-- only -->").text, IsEmpty());
}

TEST(Links, are_found_with_lines_but_not_in_code) {
  const auto links = links_of(parse_page("a.md", kPage));
  ASSERT_EQ(links.size(), 2u);
  EXPECT_EQ(links[0].target, "other.md#part");
  EXPECT_EQ(links[0].line, 2u);
  EXPECT_FALSE(links[0].picture);
  EXPECT_EQ(links[1].target, "p.png");
  EXPECT_TRUE(links[1].picture);
  EXPECT_THAT(links_of(parse_page("a.md", "`[a](b.md)`")), IsEmpty());
}

TEST(CodeBlocks, have_language_and_line) {
  const auto blocks = code_blocks_of(parse_page("a.md", kPage));
  ASSERT_EQ(blocks.size(), 1u);
  EXPECT_EQ(blocks[0].language, "sh");
  EXPECT_EQ(blocks[0].text, "# no heading [no link](none.md)\necho\n");
  EXPECT_EQ(blocks[0].line, 7u);
}

TEST(TableRows, split_at_bars_outside_code) {
  const auto rows = table_rows_of(parse_page("a.md", kPage));
  ASSERT_EQ(rows.size(), 1u);
  EXPECT_THAT(rows[0].cells, ElementsAre("`x|y`", "1 | 2"));
  EXPECT_EQ(rows[0].slug, "deeper");
}

}  // namespace
}  // namespace trainyard::manual
