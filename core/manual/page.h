// SPDX-License-Identifier: GPL-3.0-or-later
// Page of the manual: Markdown text with its sections, links, tables and code blocks.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace trainyard::manual {

// A heading and the text below it.
struct Section {
  int level = 1;      // number of # characters
  std::string title;  // heading without markup
  std::string slug;   // anchor as on GitHub; unique in the page
  std::size_t begin = 0;
  std::size_t end = 0;  // offsets in the page's text, from the heading to the next heading
};

struct Page {
  std::string file;   // relative to the directory of the manual: "developers/threads.md"
  std::string title;  // text of the first heading
  std::string text;   // Markdown, without the license comment
  std::vector<Section> sections;

  const Section* section(std::string_view slug) const;  // null if there is no such section
  // Returns the Markdown of the section and of the subsections below it.
  std::string_view text_with_subsections(const Section& section) const;
};

struct Link {
  std::string target;  // target as written in the link
  bool picture = false;
  std::size_t line = 0;  // line in the page's text, from 1
};

struct CodeBlock {
  std::string language;  // "sh"; empty if none is given
  std::string text;
  std::size_t line = 0;  // line of the first line of code
};

// Row of a table below its header.
struct TableRow {
  std::vector<std::string> cells;  // Markdown of each cell
  std::string slug;                // section that contains the table
};

Page parse_page(std::string file, std::string_view markdown);
std::vector<Link> links_of(const Page& page);
std::vector<CodeBlock> code_blocks_of(const Page& page);
std::vector<TableRow> table_rows_of(const Page& page);

// Returns the rows of a section's tables that contain a text, each table with its header, as
// Markdown.
std::string table_rows_with(const Page& page, const Section& section, std::string_view text);

std::string slug_of(std::string_view title);
// Returns the text without links, emphasis and code marks.
std::string plain_text(std::string_view markdown);
// Returns the texts between backticks that are not part of a link.
std::vector<std::string> code_spans(std::string_view markdown);

}  // namespace trainyard::manual
