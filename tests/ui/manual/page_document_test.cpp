// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/manual/page_document.h"

#include <gtest/gtest.h>

#include <QTextTable>
#include <stdexcept>

#include "core/manual/manual.h"
#include "ui/theme/theme.h"

namespace trainyard::ui {
namespace {

const char* const kText =
    "# Title\n\nText with `code`.\n\n## Part\n\n```sh\n# no heading\necho\n```\n\n"
    "| a | b |\n|---|---|\n| `x.y_z` | 1 |\n\n## Part\n\n![p](p.png)\n";

class PageDocumentTest : public testing::Test {
 protected:
  PageDocumentTest() : page_(manual::parse_page("a.md", kText)) {
    document_.setMarkdown(markdown_of(page_));
    format_page(document_, {600, 600});
  }
  QTextTable& table() {
    for (QTextFrame* frame : document_.rootFrame()->childFrames())
      if (auto* found = qobject_cast<QTextTable*>(frame)) return *found;
    throw std::runtime_error("no table");
  }
  manual::Page page_;
  QTextDocument document_;
};

TEST_F(PageDocumentTest, headings_are_found_by_slug_and_larger_than_text) {
  const auto headings = headings_of(document_, page_);
  ASSERT_EQ(headings.size(), 3u);
  EXPECT_EQ(headings.at("title").text(), "Title");
  EXPECT_EQ(headings.at("part-1").text(), "Part");
  EXPECT_GT(headings.at("part-1").position(), headings.at("part").position());
  const QTextCursor title(headings.at("title"));
  EXPECT_GT(headings.at("title").begin().fragment().charFormat().fontPointSize(),
            Theme::instance().font().pointSizeF() * 1.5);
}

TEST_F(PageDocumentTest, code_in_tables_can_wrap_and_is_copied_unchanged) {
  const QString cell = table().cellAt(1, 0).firstCursorPosition().block().text();
  EXPECT_EQ(cell, breakable("x.y_z"));
  EXPECT_EQ(cell.size(), 6);
  EXPECT_EQ(without_breaks(cell), "x.y_z");
  EXPECT_EQ(breakable("x."), "x.");
  EXPECT_EQ(without_breaks(breakable("a.bus_bandwidth_bits|c")), "a.bus_bandwidth_bits|c");
  EXPECT_EQ(breakable("halving_doubling").size(), 17) << "a long name breaks at its underscore";
}

TEST_F(PageDocumentTest, tables_have_a_border_and_a_header) {
  EXPECT_GT(table().format().border(), 0);
  EXPECT_EQ(table().cellAt(0, 0).format().background().color(), colors().tile);
}

TEST_F(PageDocumentTest, code_blocks_have_a_frame_and_wrap) {
  const QTextCursor line = document_.find("# no heading");
  ASSERT_FALSE(line.isNull());
  EXPECT_NE(line.currentFrame(), document_.rootFrame());
  EXPECT_EQ(line.currentFrame()->frameFormat().background().color(), colors().tile);
  EXPECT_FALSE(line.block().blockFormat().nonBreakableLines());
  EXPECT_EQ(line.block().next().text(), "echo");
  EXPECT_EQ(QTextCursor(line.block().next()).currentFrame(), line.currentFrame());
}

TEST_F(PageDocumentTest, table_after_a_code_block_begins_with_its_first_cell) {
  EXPECT_EQ(table().cellAt(0, 0).firstCursorPosition().block().text(), "a");
  const QTextCursor code = document_.find("# no heading");
  EXPECT_EQ(code.blockFormat().lineHeight(), code.block().next().blockFormat().lineHeight());
}

TEST_F(PageDocumentTest, images_are_at_most_as_wide_as_the_text) {
  const auto width_at = [&](int text_width) {
    fit_pictures(document_, text_width, [](const QString&) { return QSize(400, 200); });
    for (QTextBlock block = document_.begin(); block.isValid(); block = block.next())
      for (auto at = block.begin(); !at.atEnd(); ++at)
        if (at.fragment().charFormat().isImageFormat()) {
          const QTextImageFormat format = at.fragment().charFormat().toImageFormat();
          EXPECT_EQ(format.height() * 2, format.width());
          return format.width();
        }
    return -1.0;
  };
  EXPECT_EQ(width_at(300), 300);
  EXPECT_EQ(width_at(900), 400);
}

TEST(ManualPages, have_the_headings_of_the_manual) {
  const auto manual = manual::Manual::load(TRAINYARD_SOURCE_DIR "/resources/manual");
  ASSERT_TRUE(manual);
  for (const manual::Page& page : manual->pages()) {
    QTextDocument document;
    document.setMarkdown(markdown_of(page));
    format_page(document, {600, 600});
    const auto headings = headings_of(document, page);
    ASSERT_EQ(headings.size(), page.sections.size()) << page.file;
    for (const manual::Section& section : page.sections)
      EXPECT_EQ(headings.at(QString::fromStdString(section.slug)).text().toStdString(),
                section.title)
          << page.file;
  }
}

}  // namespace
}  // namespace trainyard::ui
