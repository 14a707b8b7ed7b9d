// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/manual/page.h"

#include <algorithm>
#include <functional>
#include <map>
#include <regex>
#include <utility>

namespace trainyard::manual {
namespace {

constexpr std::string_view kFence = "```";

std::string_view trimmed(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(" \t\r\n");
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(" \t\r\n") - begin + 1);
}

struct Line {
  std::string_view text;
  std::size_t begin = 0;  // offset of the line in the page's text
  std::size_t number = 1;
  bool code = false;  // true for a line of a code block, and for its fences
};

void for_each_line(std::string_view text, const std::function<void(const Line&)>& visit) {
  bool code = false;
  std::size_t number = 1;
  for (std::size_t begin = 0; begin < text.size(); ++number) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    const std::string_view line = text.substr(begin, end - begin);
    const bool fence = trimmed(line).starts_with(kFence);
    visit({line, begin, number, code || fence});
    if (fence) code = !code;
    begin = end + 1;
  }
}

// Returns the number of # characters of a heading; 0 if the line is not a heading.
int heading_level(const Line& line) {
  if (line.code) return 0;
  const std::size_t marks = std::min(line.text.find_first_not_of('#'), line.text.size());
  const bool heading =
      marks >= 1 && marks <= 6 && marks < line.text.size() && line.text[marks] == ' ';
  return heading ? static_cast<int>(marks) : 0;
}

bool is_table_line(const Line& line) { return !line.code && trimmed(line.text).starts_with('|'); }

// Splits a table line at the vertical bars that are neither escaped nor inside backticks.
std::vector<std::string> cells_of(std::string_view line) {
  line = trimmed(line);
  line.remove_prefix(1);
  if (line.ends_with('|')) line.remove_suffix(1);
  std::vector<std::string> cells(1);
  bool code = false;
  for (std::size_t i = 0; i < line.size(); ++i) {
    if (line[i] == '`') code = !code;
    if (line[i] == '\\' && i + 1 < line.size() && line[i + 1] == '|') cells.back() += line[++i];
    else if (line[i] == '|' && !code) cells.emplace_back();
    else cells.back() += line[i];
  }
  for (std::string& cell : cells) cell = trimmed(cell);
  return cells;
}

bool is_ruler(const std::vector<std::string>& cells) {
  return std::ranges::all_of(cells, [](const std::string& cell) {
    return !cell.empty() && cell.find_first_not_of("-: ") == std::string::npos;
  });
}

// Replaces code spans that contain link syntax with spaces, so that they are not read as links.
std::string without_code_links(std::string_view line) {
  std::string text(line);
  for (std::size_t begin = text.find('`'); begin != std::string::npos;) {
    const std::size_t end = text.find('`', begin + 1);
    if (end == std::string::npos) break;
    if (text.substr(begin, end - begin).find("](") != std::string::npos)
      text.replace(begin, end + 1 - begin, end + 1 - begin, ' ');
    begin = text.find('`', end + 1);
  }
  return text;
}

// Removes the license comment, which readers do not see.
std::string_view without_comment(std::string_view text) {
  if (!text.starts_with("<!--")) return text;
  const std::size_t end = text.find("-->");
  return end == std::string_view::npos
             ? text
             : text.substr(std::min(text.find_first_not_of("\r\n", end + 3), text.size()));
}

}  // namespace

const Section* Page::section(std::string_view slug) const {
  const auto at = std::ranges::find(sections, slug, &Section::slug);
  return at == sections.end() ? nullptr : &*at;
}

std::string_view Page::text_with_subsections(const Section& section) const {
  std::size_t end = section.end;
  for (const Section& next : sections)
    if (next.begin == end && next.level > section.level) end = next.end;
  return std::string_view(text).substr(section.begin, end - section.begin);
}

std::string slug_of(std::string_view title) {
  std::string slug;
  for (const char c : title) {
    if (c >= 'A' && c <= 'Z') slug += static_cast<char>(c - 'A' + 'a');
    else if ((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '_') slug += c;
    else if (c == ' ') slug += '-';
  }
  return slug;
}

std::string plain_text(std::string_view markdown) {
  static const std::regex link(R"(!?\[((?:[^\[\]]|\[[^\[\]]*\])*)\]\([^)]*\))"),
      emphasis(R"(\*\*?([^*\n]+)\*\*?)"), fence("```[a-z]*"),
      escape(R"(\\([\\`*_{}\[\]<>()#+\-.!|]))");
  std::string text = std::regex_replace(std::string(markdown), link, "$1");
  text = std::regex_replace(text, fence, "");
  text = std::regex_replace(text, emphasis, "$1");
  text = std::regex_replace(text, escape, "$1");
  std::erase(text, '`');
  return text;
}

std::vector<std::string> code_spans(std::string_view markdown) {
  static const std::regex link(R"(\[(?:[^\[\]]|\[[^\[\]]*\])*\]\([^)]*\))"), span("`([^`]+)`");
  const std::string text = std::regex_replace(std::string(markdown), link, "");
  std::vector<std::string> spans;
  for (auto at = std::sregex_iterator(text.begin(), text.end(), span); at != std::sregex_iterator();
       ++at)
    spans.push_back((*at)[1]);
  return spans;
}

Page parse_page(std::string file, std::string_view markdown) {
  Page page{std::move(file), "", std::string(without_comment(markdown)), {}};
  std::map<std::string, int> uses;  // number of uses of each slug
  for_each_line(page.text, [&](const Line& line) {
    const int level = heading_level(line);
    if (level == 0) return;
    const std::string title =
        plain_text(trimmed(line.text.substr(static_cast<std::size_t>(level) + 1)));
    std::string slug = slug_of(title);
    if (const int earlier = uses[slug]++; earlier > 0) slug += "-" + std::to_string(earlier);
    if (!page.sections.empty()) page.sections.back().end = line.begin;
    if (page.title.empty()) page.title = title;
    page.sections.push_back({level, title, slug, line.begin, page.text.size()});
  });
  return page;
}

std::vector<Link> links_of(const Page& page) {
  // The text of a link may continue on the next line, so links are searched in the full text.
  static const std::regex link(R"((!?)\[(?:[^\[\]]|\[[^\[\]]*\])*\]\(([^)\s]+)\))");
  std::vector<Link> links;
  std::string prose;  // the page with code replaced by spaces, so that offsets are unchanged
  for_each_line(page.text, [&](const Line& line) {
    prose += line.code ? std::string(line.text.size(), ' ') : without_code_links(line.text);
    prose += '\n';
  });
  for (auto at = std::sregex_iterator(prose.begin(), prose.end(), link);
       at != std::sregex_iterator(); ++at) {
    const auto lines = std::count(prose.begin(), prose.begin() + at->position(), '\n');
    links.push_back({(*at)[2], (*at)[1].length() > 0, static_cast<std::size_t>(lines) + 1});
  }
  return links;
}

std::vector<CodeBlock> code_blocks_of(const Page& page) {
  std::vector<CodeBlock> blocks;
  bool inside = false;
  for_each_line(page.text, [&](const Line& line) {
    const std::string_view text = trimmed(line.text);
    if (line.code && text.starts_with(kFence)) {
      inside = !inside;
      if (inside) blocks.push_back({std::string(text.substr(kFence.size())), "", line.number + 1});
    } else if (line.code) {
      blocks.back().text += std::string(line.text) + "\n";
    }
  });
  return blocks;
}

std::vector<TableRow> table_rows_of(const Page& page) {
  std::vector<TableRow> rows;
  std::string slug;
  bool body = false;  // true for lines below the line that separates a table's header from its rows
  std::size_t heading = 0;
  for_each_line(page.text, [&](const Line& line) {
    if (heading_level(line) > 0) slug = page.sections[heading++].slug;
    if (!is_table_line(line)) return void(body = false);
    std::vector<std::string> cells = cells_of(line.text);
    if (is_ruler(cells)) body = true;
    else if (body) rows.push_back({std::move(cells), slug});
  });
  return rows;
}

std::string table_rows_with(const Page& page, const Section& section, std::string_view text) {
  std::string rows, header;  // lines of the current table up to the line below its header
  bool in_body = false;
  for_each_line(page.text, [&](const Line& line) {
    if (line.begin < section.begin || line.begin >= section.end) return;
    if (!is_table_line(line)) {
      header.clear();
      in_body = false;
    } else if (!in_body) {
      header += std::string(line.text) + "\n";
      in_body = is_ruler(cells_of(line.text));
    } else if (line.text.find(text) != std::string_view::npos) {
      rows += (rows.empty() || header.empty() ? "" : "\n") + std::exchange(header, "") +
              std::string(line.text) + "\n";
    }
  });
  return rows;
}

}  // namespace trainyard::manual
