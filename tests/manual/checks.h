// SPDX-License-Identifier: GPL-3.0-or-later
// Rules of the manual. Each check returns problems whose `where` is a page, with a line if known.
#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/manual/manual.h"

namespace trainyard::manual {

// Names that the manual must document.
struct Names {
  std::vector<std::string> fields;  // paths, with [] for list indices
  std::vector<std::string> strategies, algorithms, verbs;
};
std::vector<std::string> experiment_fields();

base::Problems check_names(const Manual& manual, const Names& names);
// "Fields" tables contain only fields, and one row without a link for each field.
base::Problems check_field_tables(const Manual& manual, const std::vector<std::string>& fields);
// The page of a strategy has a row for each field that the strategy uses. Engines and compression
// are left out, because many strategies use them with one value only.
base::Problems check_strategy_fields(const Manual& manual);
base::Problems check_contents(const Manual& manual);  // index.md must list every page
base::Problems check_links(const Manual& manual, const std::filesystem::path& directory);
// The tables of problems list every id that a source file below `source` gives a problem, and no
// other id.
base::Problems check_problem_ids(const Manual& manual, const std::filesystem::path& source);
// The workbench has every label that the manual quotes in italics.
base::Problems check_labels(const Manual& manual, const std::filesystem::path& source);
base::Problems check_example_names(const Manual& manual, const std::filesystem::path& source);

// Arguments and options of a verb, read from its help.
struct Argument {
  std::string type;  // empty: a flag
  bool required = false;
};
struct VerbUsage {
  std::map<std::string, Argument> options;  // by name with dashes
  std::vector<Argument> positionals;
};
using Usage = std::map<std::string, VerbUsage>;  // "" is the program, "bench allreduce" a verb
VerbUsage read_help(const std::string& help);
std::vector<std::string> verbs_in_help(const std::string& help);
// `help_of` returns the help of a verb.
Usage read_usage(const std::function<std::string(const std::string& verb)>& help_of);

// Words of a shell command without quotes, up to an operator or a comment.
std::vector<std::string> shell_words(const std::string& command);
// Commands of trainyard-cli in code blocks, and those with options in running text: verbs, options
// and values are accepted, experiments exist, and their overrides are valid.
base::Problems check_commands(const Manual& manual, const Usage& usage,
                              const std::filesystem::path& source);

}  // namespace trainyard::manual
