// SPDX-License-Identifier: GPL-3.0-or-later
// The manual: pages, table of contents, search, and the sections that explain fields, strategies,
// algorithms, panels, verbs and problems. All of these are read from the pages themselves: from the
// tables of index.md, from "Fields" tables and from headings.
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

// A section of a page. `word` is the text in it that explains the topic, such as the field's path
// in a table; empty: the whole section.
struct ManualLocation {
  std::string file;
  std::string slug;
  std::string word;

  bool operator==(const ManualLocation&) const = default;
};
std::string to_string(const ManualLocation& place);  // "training.md#fields"

// Heading of the contents with its pages, in order.
struct ContentsGroup {
  std::string title;
  std::vector<std::string> files;
};

struct SearchHit {
  ManualLocation place;
  std::string page, section;  // titles
  std::string excerpt;        // plain text around the first word found
};

class Manual {
 public:
  // Reads all pages below the directory.
  static base::Result<Manual> load(const std::filesystem::path& directory);
  explicit Manual(std::vector<Page> pages = {});

  const std::vector<Page>& pages() const { return pages_; }
  const Page* page(std::string_view file) const;  // null if there is none
  // Groups of index.md. Pages that it does not name are left out.
  const std::vector<ContentsGroup>& contents() const { return contents_; }
  // Sections that contain all words; those with the words in a title come first.
  std::vector<SearchHit> search(std::string_view words, std::size_t most = 100) const;

  // Topic: a file ("training.md" or "training"), a file and a slug ("training.md#fields"), a title,
  // or the name of a verb, strategy, algorithm, panel or field. An unknown topic is a Problem that
  // names similar topics.
  base::Result<ManualLocation> find(const std::string& topic) const;

  std::optional<ManualLocation> field(std::string path) const;  // list indices do not matter
  std::optional<ManualLocation> strategy(std::string_view kind) const;
  std::optional<ManualLocation> algorithm(std::string_view name) const;
  std::optional<ManualLocation> panel(std::string_view title) const;
  std::optional<ManualLocation> verb(std::string_view name) const;
  // The row of problems.md with the problem's id, else the field where the problem is, else the
  // section of problems.md for its code.
  std::optional<ManualLocation> problem(const base::Problem& problem) const;
  const std::map<std::string, ManualLocation>& problems() const { return problems_; }  // rows by id

  // All places of a field that has more than one row of its own in "Fields" tables, or one.
  const std::map<std::string, std::vector<ManualLocation>>& fields() const { return fields_; }

 private:
  void read_contents();
  void read_fields(const Page& page);
  void read_problems();
  std::optional<ManualLocation> heading(std::string_view file, std::string_view slug) const;
  std::vector<std::string> topics() const;

  std::vector<Page> pages_;
  std::vector<ContentsGroup> contents_;
  std::map<std::string, std::vector<ManualLocation>> fields_;  // by path, with [] for list indices
  std::map<std::string, ManualLocation, std::less<>> strategies_, panels_;
  std::map<std::string, ManualLocation> problems_;  // rows of problems.md by id
};

}  // namespace trainyard::manual
