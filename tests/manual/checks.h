// SPDX-License-Identifier: GPL-3.0-or-later
// Rules of the manual. Each check returns its findings, one sentence each, with page and line.
#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "core/manual/manual.h"

namespace trainyard::manual {

using Findings = std::vector<std::string>;

// Every name of these must have a place in the manual.
struct Names {
  std::vector<std::string> fields;  // paths, with [] for list indices
  std::vector<std::string> strategies, algorithms, verbs;
};
std::vector<std::string> experiment_fields();

Findings check_names(const Manual& manual, const Names& names);
// "Fields" tables name only fields, and each field has one row that is no link.
Findings check_field_tables(const Manual& manual, const std::vector<std::string>& fields);
Findings check_contents(const Manual& manual);  // index.md leads to every page
Findings check_links(const Manual& manual, const std::filesystem::path& directory);
// The tables of problems list every id that a source file below `source` gives a problem, and no
// other id.
Findings check_problem_ids(const Manual& manual, const std::filesystem::path& source);
Findings check_example_names(const Manual& manual, const std::filesystem::path& source);

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

// Words of a shell command: quotes are removed, and what follows a pipe or a comment is left out.
std::vector<std::string> shell_words(const std::string& command);
// Commands of trainyard-cli in code blocks: verbs, options and values are accepted, experiments
// exist, and their overrides are valid.
Findings check_commands(const Manual& manual, const Usage& usage,
                        const std::filesystem::path& source);

}  // namespace trainyard::manual
