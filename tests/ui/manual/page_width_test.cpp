// SPDX-License-Identifier: GPL-3.0-or-later
// Widths of a manual page: short lines of text, full width for tables and code.
#include <gtest/gtest.h>

#include <QAbstractTextDocumentLayout>
#include <QTextFrame>
#include <QTextTable>

#include "ui/manual/page_document.h"
#include "ui/theme/theme.h"

namespace trainyard::ui {
namespace {

class PageWidthTest : public testing::Test {
 protected:
  void show(const char* markdown, const PageWidths& widths) {
    document_.setMarkdown(markdown_of(manual::parse_page("a.md", markdown)));
    format_page(document_, widths);
    document_.setDocumentMargin(0);
    document_.setTextWidth(widths.page);
    document_.documentLayout()->documentSize();  // lays out all blocks
  }
  QTextBlock block_with(const QString& text) { return document_.find(text).block(); }
  double point_size(const QString& text) {
    return document_.find(text).charFormat().fontPointSize();
  }
  QTextDocument document_;
};

TEST_F(PageWidthTest, text_ends_before_tables_and_code_do) {
  show("Words of a paragraph.\n\n| a | b |\n|---|---|\n| cell | 1 |\n\n```\ncode\n```\n",
       {600, 400});
  EXPECT_EQ(block_with("Words").blockFormat().rightMargin(), 200);
  EXPECT_EQ(block_with("cell").blockFormat().rightMargin(), 0);
  EXPECT_EQ(block_with("code").blockFormat().rightMargin(), 0);
}

TEST_F(PageWidthTest, words_in_tables_are_not_broken) {
  const QString word = "synchronization";
  show("| a | b |\n|---|---|\n| synchronization | a long text with several words in it |\n",
       {200, 200});
  const QTextBlock block = block_with(word);
  ASSERT_TRUE(block.isValid());
  EXPECT_EQ(block.layout()->lineCount(), 1);
  EXPECT_GT(block_with("a long text").layout()->lineCount(), 1);
}

TEST_F(PageWidthTest, code_is_reduced_until_its_lines_fit) {
  const char* const text = "```\nshort\n0123456789012345678901234567890123456789\n```\n";
  show(text, {2000, 2000});
  const double full = point_size("short");
  const double width = block_with("0123456789").layout()->lineAt(0).naturalTextWidth();
  show(text, {static_cast<int>(width), static_cast<int>(width)});
  EXPECT_LT(point_size("short"), full);
  EXPECT_EQ(block_with("0123456789").layout()->lineCount(), 1);
  show(text, {static_cast<int>(width / 2), static_cast<int>(width / 2)});
  EXPECT_EQ(point_size("short"), full) << "smaller code could not be read";
}

}  // namespace
}  // namespace trainyard::ui
