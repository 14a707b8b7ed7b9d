// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/manual/manual.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstddef>
#include <regex>
#include <set>
#include <sstream>

#include "core/base/file.h"
#include "core/base/names.h"

namespace trainyard::manual {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMaxBytes = std::size_t{1} << 22;  // maximum size of a page
constexpr std::size_t kMaxSimilar = 5;
constexpr std::string_view kFields = "fields", kProblemsPage = "problems.md",
                           kProblemsBySubject = "problems-by-subject",
                           kAlgorithmsPage = "all_reduce.md", kVerbsPage = "command_line.md";

std::string lower(std::string_view text) {
  std::string result(text);
  for (char& c : result)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return result;
}

bool same(std::string_view a, std::string_view b) { return lower(a) == lower(b); }

// Returns the path with the index removed from all brackets: "hosts[].name".
std::string without_indices(const std::string& path) {
  static const std::regex index(R"(\[\d*\])");
  return std::regex_replace(path, index, "[]");
}

std::string stem(std::string_view file) {
  return std::string(file.ends_with(".md") ? file.substr(0, file.size() - 3) : file);
}

// Splits "page.md#slug" into file and slug.
std::pair<std::string, std::string> split(std::string_view target) {
  const std::size_t hash = std::min(target.find('#'), target.size());
  return {std::string(target.substr(0, hash)),
          std::string(target.substr(std::min(hash + 1, target.size())))};
}

// Returns the text as search compares it: in lower case, with spaces for underscores.
std::string searchable(std::string_view text) {
  std::string result = lower(text);
  std::ranges::replace(result, '_', ' ');
  return result;
}

std::vector<std::string> words_of(std::string_view text) {
  std::istringstream in{searchable(text)};
  std::vector<std::string> words;
  for (std::string word; in >> word;) words.push_back(word);
  return words;
}

// Moves `at` back to the first byte of a UTF-8 character.
std::size_t character_start(std::string_view text, std::size_t at) {
  while (at > 0 && at < text.size() && (static_cast<unsigned char>(text[at]) & 0xC0) == 0x80) --at;
  return at;
}

std::string excerpt_around(std::string text, std::size_t at) {
  constexpr std::size_t before = 40, length = 140;
  for (char& c : text)
    if (c == '\n') c = ' ';
  std::size_t begin = at > before ? text.find(' ', at - before) : 0;
  if (begin == std::string::npos || begin > at) begin = at;
  begin = character_start(text, begin);
  std::size_t end = std::min(begin + length, text.size());
  if (end < text.size()) end = std::max(text.rfind(' ', end), begin);
  static const std::regex ruler("\\|( *:?-{3,}:? *\\|)+"),  // the line below the header of a table
      bars(" *\\|[ |]*"), end_bars("^( · )+|( · )+$");
  std::string part = std::regex_replace(text.substr(begin, end - begin), ruler, "|");
  part = std::regex_replace(std::regex_replace(part, bars, " · "), end_bars, "");
  std::string result;
  for (const char c : part)
    if (c != ' ' || (!result.empty() && result.back() != ' ')) result += c;
  return (begin > 0 ? "... " : "") + result + (end < text.size() ? " ..." : "");
}

bool is_word_character(char c) {
  return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || (static_cast<unsigned char>(c) & 0x80);
}

// Returns the position of the first word in searchable text that begins with `word`; npos if there
// is none.
std::size_t find_word(std::string_view text, std::string_view word, std::size_t from = 0) {
  for (std::size_t at = text.find(word, from); at != std::string_view::npos;
       at = text.find(word, at + 1))
    if (at == 0 || !is_word_character(text[at - 1]) || !is_word_character(word.front())) return at;
  return std::string_view::npos;
}

// Returns the word of a text that begins at `at`, with its underscores.
std::string word_at(std::string_view text, std::size_t at) {
  const std::string lowered = lower(text.substr(at));
  const auto end =
      std::ranges::find_if_not(lowered, [](char c) { return c == '_' || is_word_character(c); });
  return std::string(text.substr(at, static_cast<std::size_t>(end - lowered.begin())));
}

bool contains_word(std::string_view text, std::string_view word) {
  return find_word(text, word) != std::string_view::npos;
}

// Adjustments of a section's rank in search results, for each word that is in a title, and for
// pages for developers. Sections of lower rank come first.
constexpr int kPageTitle = -4, kSectionTitle = -3, kTitleOfPage = -1, kDeveloperPage = 2;

// Returns the rank of a section in search results.
int rank_of(const Page& page, const Section& section, const std::vector<std::string>& words) {
  const std::string heading = searchable(section.title), title = searchable(page.title);
  int rank = page.file.starts_with("developers/") ? kDeveloperPage : 0;
  for (const std::string& word : words) {
    if (contains_word(heading, word)) rank += section.level == 1 ? kPageTitle : kSectionTitle;
    else if (contains_word(title, word)) rank += kTitleOfPage;
  }
  return rank;
}

// Returns the search rank of a section, and the hit to show, if each word is in the section or in
// the page's title. The section itself contains at least one of the words.
std::optional<std::pair<int, SearchHit>> match(const Page& page, const Section& section,
                                               const std::vector<std::string>& words) {
  const std::string plain =
      plain_text(std::string_view(page.text).substr(section.begin, section.end - section.begin));
  const std::string body = searchable(plain), title = searchable(page.title);
  std::size_t first = std::string::npos;  // position of the first word below the heading
  bool in_section = false;
  const std::size_t line = std::min(plain.find('\n'), plain.size());
  for (const std::string& word : words) {
    const bool found = contains_word(body, word);
    if (!found && !contains_word(title, word)) return std::nullopt;
    in_section = in_section || found;
    first = std::min(first, find_word(body, word, line));
  }
  if (!in_section) return std::nullopt;
  SearchHit hit{{page.file, section.slug, ""}, page.title, section.title, ""};
  hit.excerpt = excerpt_around(plain.substr(line), first == std::string::npos ? 0 : first - line);
  const std::string heading = searchable(section.title);
  const bool is_in_heading = std::ranges::all_of(words, [&](const std::string& word) {
    return contains_word(heading, word) || contains_word(title, word);
  });
  if (first != std::string::npos && !is_in_heading) hit.place.word = word_at(plain, first);
  return std::pair(rank_of(page, section, words), std::move(hit));
}

std::string first_link(std::string_view markdown) {
  static const std::regex link(R"(\[(?:[^\[\]]|\[[^\[\]]*\])*\]\(([^)\s]+)\))");
  std::match_results<std::string_view::const_iterator> found;
  return std::regex_search(markdown.begin(), markdown.end(), found, link) ? found[1].str() : "";
}

}  // namespace

std::string to_string(const ManualLocation& place) {
  return place.slug.empty() ? place.file : place.file + "#" + place.slug;
}

base::Result<Manual> Manual::load(const fs::path& directory) {
  const auto missing = [&] {
    return base::fail({"manual_missing", base::ProblemCode::unavailable,
                       (directory / kContentsPage).string(), "the manual is missing", "",
                       "Set TRAINYARD_RESOURCES to the directory that contains manual/."});
  };
  std::error_code error;
  if (directory.empty() || !fs::is_regular_file(directory / kContentsPage, error)) return missing();
  std::vector<Page> pages;
  for (auto at = fs::recursive_directory_iterator(directory, error);
       !error && at != fs::recursive_directory_iterator(); at.increment(error)) {
    if (at->path().extension() != ".md") continue;
    auto text = base::read_file(at->path(), kMaxBytes);
    if (!text) return base::fail(text.error());
    pages.push_back(parse_page(fs::relative(at->path(), directory).generic_string(), *text));
  }
  std::ranges::sort(pages, {}, &Page::file);
  return Manual(std::move(pages));
}

Manual::Manual(std::vector<Page> pages) : pages_(std::move(pages)) {
  read_contents();
  for (const ContentsGroup& group : contents_)
    for (const std::string& file : group.files) read_tables(*page(file));
  read_problems();
}

const Page* Manual::page(std::string_view file) const {
  const auto at = std::ranges::find(pages_, file, &Page::file);
  return at == pages_.end() ? nullptr : &*at;
}

void Manual::read_contents() {
  const Page* index = page(kContentsPage);
  if (!index) return;
  std::set<std::string> known;
  for (const Section& section : index->sections) {
    ContentsGroup group{section.title, {}};
    const Page part{"", "", index->text.substr(section.begin, section.end - section.begin), {}};
    for (const Link& link : links_of(part))
      if (const auto [file, slug] = split(link.target); page(file) && known.insert(file).second)
        group.files.push_back(file);
    if (!group.files.empty()) contents_.push_back(std::move(group));
  }
  for (const TableRow& row : table_rows_of(*index)) {
    const auto spans = code_spans(row.cells.front());
    const auto [file, slug] = split(row.cells.size() > 1 ? first_link(row.cells[1]) : "");
    if (file.empty()) continue;
    if (row.slug == "strategies" && spans.size() == 1 && row.cells[0] == "`" + spans[0] + "`")
      strategies_[spans[0]] = {file, slug, ""};
    if (row.slug == "workbench") panels_[lower(plain_text(row.cells[0]))] = {file, slug, ""};
  }
}

// Reads the tables of a page. Each row whose first cell is one code span explains that name. In the
// "Fields" tables, the first cell is a path and the fourth one lists the field's values; a row
// whose field is a link refers to another page and is skipped.
void Manual::read_tables(const Page& page) {
  for (const TableRow& row : table_rows_of(page)) {
    const std::vector<std::string> spans = code_spans(row.cells.front());
    if (row.slug == kFields && row.cells.size() >= 3) {
      for (const std::string& path : spans)
        fields_[without_indices(path)].push_back({page.file, row.slug, path});
      if (spans.size() != 1 || row.cells.size() < 4) continue;  // without a list of values
      for (const std::string& value : code_spans(row.cells[3]))
        values_[value].push_back({page.file, row.slug, spans.front()});
    } else if (spans.size() == 1 && row.cells.front() == "`" + spans.front() + "`") {
      rows_.try_emplace(spans.front(), ManualLocation{page.file, row.slug, spans.front()});
    }
  }
}

// Reads the tables of problems, whose columns are message, cause, what to do, and ids.
void Manual::read_problems() {
  constexpr std::size_t columns = 4;
  const Page* problems = page(kProblemsPage);
  if (!problems) return;
  for (const TableRow& row : table_rows_of(*problems)) {
    if (row.cells.size() != columns) continue;
    const auto [file, slug] = split(first_link(row.cells[2]));
    for (const std::string& id : code_spans(row.cells.back())) {
      const bool is_first =
          problems_.try_emplace(id, ManualLocation{problems->file, row.slug, id}).second;
      if (is_first && row.slug == kProblemsBySubject)
        problem_subjects_[id] = page(file) ? ManualLocation{file, slug, ""} : problems_.at(id);
    }
  }
}

std::vector<SearchHit> Manual::search(std::string_view text, std::size_t most) const {
  const std::vector<std::string> words = words_of(text);
  if (words.empty()) return {};
  std::vector<std::pair<int, SearchHit>> found;  // (rank, hit); lower ranks come first
  for (const Page& page : pages_) {
    if (page.file == kContentsPage) continue;  // only lists the other pages
    for (const Section& section : page.sections)
      if (auto hit = match(page, section, words)) found.push_back(std::move(*hit));
  }
  std::ranges::stable_sort(found, {}, &std::pair<int, SearchHit>::first);
  std::vector<SearchHit> hits;
  for (auto& [rank, hit] : found)
    if (hits.size() < most) hits.push_back(std::move(hit));
  return hits;
}

std::string Manual::text(const ManualLocation& place) const {
  const Page* found = page(place.file);
  if (!found) return "";
  const Section* section = found->section(place.slug);
  if (!section) return found->text;
  if (place.word.empty()) return std::string(found->text_with_subsections(*section));
  std::string rows = table_rows_with(*found, *section, "`" + place.word + "`");
  return rows.empty() ? std::string(found->text_with_subsections(*section)) : rows;
}

std::optional<ManualLocation> Manual::heading(std::string_view file, std::string_view slug) const {
  const Page* found = page(file);
  if (!found || !found->section(slug)) return std::nullopt;
  return ManualLocation{found->file, std::string(slug), ""};
}

std::optional<ManualLocation> Manual::field(std::string path) const {
  path = without_indices(path);
  for (;;) {
    if (const auto at = fields_.find(path); at != fields_.end()) return at->second.front();
    // If a list element or a nested field has no row, the row of the field that contains it is
    // used.
    const std::size_t end = path.ends_with("[]") ? path.size() - 2 : path.rfind('.');
    if (end == std::string::npos) return std::nullopt;
    path.resize(end);
  }
}

std::optional<ManualLocation> Manual::strategy(std::string_view kind) const {
  const auto at = strategies_.find(kind);
  return at == strategies_.end() ? std::nullopt : std::optional(at->second);
}

std::optional<ManualLocation> Manual::algorithm(std::string_view name) const {
  std::string slug(name);
  std::ranges::replace(slug, '_', '-');
  return heading(kAlgorithmsPage, slug);
}

std::optional<ManualLocation> Manual::panel(std::string_view title) const {
  const auto at = panels_.find(lower(title));
  return at == panels_.end() ? std::nullopt : std::optional(at->second);
}

std::optional<ManualLocation> Manual::verb(std::string_view name) const {
  return heading(kVerbsPage, name);
}

std::optional<ManualLocation> Manual::problem(const base::Problem& problem) const {
  const auto row = problems_.find(problem.id);
  const auto subject = problem_subjects_.find(problem.id);
  if (row != problems_.end() && subject == problem_subjects_.end()) return row->second;
  static const std::regex path(R"([a-z_]+(\[\d+\])?(\.[a-z_0-9]+(\[\d+\])?)*)");
  // the location of a field in a file is "FILE: FIELD"
  const std::size_t colon = problem.where.rfind(": ");
  const std::string where =
      colon == std::string::npos ? problem.where : problem.where.substr(colon + 2);
  if (std::regex_match(where, path))
    if (auto place = field(where)) return place;
  if (subject != problem_subjects_.end()) return subject->second;
  switch (problem.code) {
    case base::ProblemCode::bad_usage: return ManualLocation{std::string(kVerbsPage), "", ""};
    case base::ProblemCode::bad_input: return heading(kProblemsPage, "problems-of-the-experiment");
    case base::ProblemCode::unavailable:
      return heading(kProblemsPage, "problems-of-the-installation");
    case base::ProblemCode::refused:
    case base::ProblemCode::failed:
    case base::ProblemCode::canceled: return heading(kProblemsPage, "problems-of-a-run");
  }
  return std::nullopt;
}

std::vector<std::string> Manual::topics() const {
  std::vector<std::string> names;
  for (const Page& page : pages_) names.push_back(stem(page.file)), names.push_back(page.title);
  for (const auto& [kind, place] : strategies_) names.push_back(kind);
  for (const auto& [path, places] : fields_) names.push_back(path);
  for (const std::string_view file : {kAlgorithmsPage, kVerbsPage})
    if (const Page* found = page(file))
      for (const Section& section : found->sections) names.push_back(section.slug);
  return names;
}

base::Result<ManualLocation> Manual::find(const std::string& topic) const {
  const auto [file, slug] = split(topic);
  for (const Page& page : pages_) {
    const std::string name = stem(page.file), name_in_folder = name.substr(name.rfind('/') + 1);
    if (!same(file, page.file) && !same(file, name) && !same(file, name_in_folder)) continue;
    if (slug.empty() || page.section(slug)) return ManualLocation{page.file, slug, ""};
    std::vector<std::string> slugs;
    for (const Section& section : page.sections) slugs.push_back(section.slug);
    const std::string guess = base::nearest_name(slug, slugs);
    return base::fail(
        {"unknown_section", base::ProblemCode::bad_input, page.file,
         fmt::format("the page has no section \"{}\"", slug), base::joined_names(slugs),
         guess.empty() ? "Choose one of these sections." : "Did you mean \"" + guess + "\"?"});
  }
  for (const Page& page : pages_)
    if (same(topic, page.title)) return ManualLocation{page.file, "", ""};
  for (const auto& place : {verb(topic), strategy(topic), algorithm(topic), panel(topic)})
    if (place) return *place;
  if (const auto at = fields_.find(without_indices(topic)); at != fields_.end())
    return at->second.front();
  if (const auto at = problems_.find(topic); at != problems_.end()) return at->second;
  if (const auto at = rows_.find(topic); at != rows_.end()) return at->second;
  std::vector<std::string> titled;  // sections with this title
  for (const Page& page : pages_)
    for (const Section& section : page.sections)
      if (same(topic, section.title)) titled.push_back(to_string({page.file, section.slug, ""}));
  if (titled.size() == 1) return find(titled.front());
  const auto value = values_.find(topic);
  if (value != values_.end() && value->second.size() == 1) return value->second.front();
  std::vector<std::string> named;  // fields with this name
  for (const auto& [path, places] : fields_)
    if (path.ends_with("." + topic)) named.push_back(path);
  if (named.size() == 1) return fields_.at(named.front()).front();
  const std::string guess = base::nearest_name(lower(topic), topics()),
                    fields = base::joined_names(named);
  std::string similar;
  std::string with_value;
  if (value != values_.end())
    for (const ManualLocation& place : value->second)
      with_value += (with_value.empty() ? "" : ", ") + place.word;
  for (const SearchHit& hit : search(topic, kMaxSimilar))
    similar += (similar.empty() ? "" : ", ") + to_string(hit.place);
  std::string advice =
      !titled.empty()       ? "These sections have this title: " + base::joined_names(titled)
      : !fields.empty()     ? "These fields have this name: " + fields
      : !with_value.empty() ? "These fields have this value: " + with_value
      : !guess.empty()      ? "Did you mean \"" + guess + "\"?"
      : !similar.empty()
          ? "The following sections contain these words: " + similar
          : "Run trainyard-cli manual without a topic to print the table of contents.";
  return base::fail({"unknown_topic", base::ProblemCode::bad_input, "manual",
                     fmt::format("\"{}\" is not a topic", topic), "", std::move(advice)});
}

}  // namespace trainyard::manual
