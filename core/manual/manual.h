// SPDX-License-Identifier: GPL-3.0-or-later
// The manual: pages, table of contents, search, and the sections that explain fields, strategies,
// algorithms, panels, verbs and problems. All of these are read from the pages: from the tables in
// index.md, from tables headed "Fields", and from headings.
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "core/manual/page.h"

namespace trainyard::manual {

inline constexpr std::string_view kContentsPage = "index.md";

// Section of a page. `word` is the text in the section that explains the topic, such as a field's
// path in a table. If it is empty, the full section explains the topic.
struct ManualLocation {
  std::string file;
  std::string slug;
  std::string word;

  bool operator==(const ManualLocation&) const = default;
};
std::string to_string(const ManualLocation& place);  // "training.md#fields"

// Group of pages under one heading of the table of contents, in order.
struct ContentsGroup {
  std::string title;
  std::vector<std::string> files;
};

struct SearchHit {
  ManualLocation place;       // its word is the first match below the heading; empty if the titles
                              // contain all words
  std::string page, section;  // titles of the page and of the section
  std::string excerpt;        // plain text around the first matching word
};

class Manual {
 public:
  // Reads all pages in the directory and its subdirectories.
  static base::Result<Manual> load(const std::filesystem::path& directory);
  explicit Manual(std::vector<Page> pages = {});

  const std::vector<Page>& pages() const { return pages_; }
  const Page* page(std::string_view file) const;  // null if there is no such page
  // Groups of pages in index.md. Pages that index.md does not list are left out.
  const std::vector<ContentsGroup>& contents() const { return contents_; }
  // Returns sections that contain, for each of the given words, a word that begins with it; at most
  // `most` sections. An underscore separates words. Sections with the words in a title come first;
  // pages for developers come later.
  std::vector<SearchHit> search(std::string_view text, std::size_t most = 100) const;

  // Returns the Markdown of a page or of a section with its subsections. If `place` has a word,
  // returns only the table rows of the section that contain the word as code, each table with its
  // header. An unknown page gives an empty text.
  std::string text(const ManualLocation& place) const;

  // Returns the section about a topic. A topic is a file ("training.md" or "training"), a file and
  // a slug ("training.md#fields"), a title, or the name of a verb, strategy, algorithm, panel,
  // field or problem (its id), a name that a table explains ("adam"), or the name or a value of
  // exactly one field ("layers", "nccl"). An unknown topic is a Problem that names similar topics.
  base::Result<ManualLocation> find(const std::string& topic) const;

  std::optional<ManualLocation> field(std::string path) const;  // ignores list indices in the path
  std::optional<ManualLocation> strategy(std::string_view kind) const;
  std::optional<ManualLocation> algorithm(std::string_view name) const;
  std::optional<ManualLocation> panel(std::string_view title) const;
  std::optional<ManualLocation> verb(std::string_view name) const;
  // Returns the row of problems.md that explains the problem's id. If there is none, returns the
  // field where the problem is, else the page of its subject, else the section of problems.md for
  // the problem's code.
  std::optional<ManualLocation> problem(const base::Problem& problem) const;
  // returns the rows of problems.md, by problem id
  const std::map<std::string, ManualLocation>& problems() const { return problems_; }

  // All rows of "Fields" tables, grouped by the field that they explain.
  const std::map<std::string, std::vector<ManualLocation>>& fields() const { return fields_; }

 private:
  void read_contents();
  void read_tables(const Page& page);
  void read_problems();
  std::optional<ManualLocation> heading(std::string_view file, std::string_view slug) const;
  std::vector<std::string> topics() const;

  std::vector<Page> pages_;
  std::vector<ContentsGroup> contents_;
  std::map<std::string, std::vector<ManualLocation>> fields_;  // by path, with [] for list indices
  std::map<std::string, ManualLocation, std::less<>> strategies_, panels_;
  std::map<std::string, ManualLocation> rows_;  // table rows outside "Fields", by their first cell
  std::map<std::string, std::vector<ManualLocation>> values_;  // fields that have a value, by value
  std::map<std::string, ManualLocation> problems_;             // rows of problems.md by id
  // page about the subject of a problem, by id; for ids whose row in problems.md only names a
  // subject
  std::map<std::string, ManualLocation> problem_subjects_;
};

}  // namespace trainyard::manual
