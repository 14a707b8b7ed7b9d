// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/manual/checks.h"

#include <algorithm>
#include <regex>
#include <set>
#include <sstream>
#include <utility>

#include "core/base/fields.h"
#include "core/base/file.h"
#include "core/experiment/document.h"
#include "core/experiment/field_templates.h"

namespace trainyard::manual {
namespace {

namespace fs = std::filesystem;

std::string at(const Page& page, std::size_t line) {
  return page.file + ":" + std::to_string(line) + ": ";
}

void add_fields(const std::vector<base::FieldDescription>& fields, const std::string& prefix,
                std::vector<std::string>& paths) {
  for (const base::FieldDescription& field : fields) {
    const std::string path = prefix + field.name;
    paths.push_back(path);
    add_fields(field.fields, path + (field.kind == base::FieldKind::list ? "[]." : "."), paths);
  }
}

// Resolves a relative link: "../training.md" in "developers/threads.md" is "training.md".
std::string resolved(const std::string& file, const std::string& target) {
  return (fs::path(file).parent_path() / target).lexically_normal().generic_string();
}

// Returns why a page or anchor of a link is missing, or an empty string.
std::string link_problem(const Manual& manual, const Page& page, const Link& link,
                         const fs::path& directory) {
  if (link.target.find("://") != std::string::npos) return "";
  const std::size_t hash = std::min(link.target.find('#'), link.target.size());
  const std::string file = link.target.substr(0, hash),
                    slug = link.target.substr(std::min(hash + 1, link.target.size()));
  const std::string path = file.empty() ? page.file : resolved(page.file, file);
  const Page* target = manual.page(path);
  if (!target && !fs::exists(directory / path)) return "is missing";
  if (slug.empty()) return "";
  return target && target->section(slug) ? "" : "has no section \"" + slug + "\"";
}

struct Command {
  std::string text;
  std::size_t line = 0;
};

// Commands of trainyard-cli in a code block; a line that ends in a backslash continues.
std::vector<Command> commands_of(const CodeBlock& block) {
  std::vector<Command> commands;
  std::istringstream lines(block.text);
  std::size_t number = block.line;
  bool continued = false;
  for (std::string line; std::getline(lines, line); ++number) {
    const bool goes_on = line.ends_with('\\');
    if (goes_on) line.pop_back();
    if (continued) commands.back().text += " " + line;
    else if (line == "trainyard-cli" || line.starts_with("trainyard-cli "))
      commands.push_back({line, number});
    else continue;
    continued = goes_on;
  }
  return commands;
}

// Returns why a value does not fit the type that help names, or an empty string.
std::string value_problem(const std::string& type, const std::string& value) {
  const std::size_t begin = type.find('{'), end = type.rfind('}');
  if (begin != std::string::npos && end != std::string::npos) {
    std::istringstream words(type.substr(begin + 1, end - begin - 1));
    std::string all;
    for (std::string word; std::getline(words, word, ',');) {
      if (word == value) return "";
      all += (all.empty() ? "" : ", ") + word;
    }
    return "\"" + value + "\" is not one of " + all;
  }
  static const std::regex whole(R"(-?\d+)");
  if (type.starts_with("INT") && !std::regex_match(value, whole))
    return "\"" + value + "\" is no whole number";
  return "";
}

struct Parsed {
  std::string verb;
  std::vector<std::string> positionals, overrides, problems;
  std::set<std::string> options;
  bool help = false;
};

Parsed parse(const std::vector<std::string>& words, const Usage& usage) {
  Parsed parsed;
  std::size_t i = 1;
  while (i < words.size() &&
         usage.contains(parsed.verb.empty() ? words[i] : parsed.verb + " " + words[i]))
    parsed.verb += (parsed.verb.empty() ? "" : " ") + words[i++];
  const VerbUsage& verb = usage.at(parsed.verb);
  const bool takes_verb = std::ranges::any_of(usage, [&](const auto& entry) {
    return entry.first.starts_with(parsed.verb.empty() ? "" : parsed.verb + " ") &&
           entry.first != parsed.verb;
  });
  if (takes_verb && i < words.size() && !words[i].starts_with("-")) {
    parsed.problems.push_back("\"" + words[i] + "\" is no verb");
    return parsed;
  }
  for (; i < words.size(); ++i) {
    if (!words[i].starts_with("-")) {
      parsed.positionals.push_back(words[i]);
      continue;
    }
    const std::size_t equals = std::min(words[i].find('='), words[i].size());
    const std::string name = words[i].substr(0, equals);
    const auto option = verb.options.find(name);
    if (option == verb.options.end()) {
      parsed.problems.push_back("has no option " + name);
      continue;
    }
    parsed.options.insert(name);
    parsed.help = parsed.help || name == "--help" || name == "--version";
    if (option->second.type.empty()) continue;
    std::string value = words[i].substr(std::min(equals + 1, words[i].size()));
    if (equals == words[i].size()) {
      if (i + 1 == words.size()) {
        parsed.problems.push_back(name + " has no value");
        continue;
      }
      value = words[++i];
    }
    if (const std::string problem = value_problem(option->second.type, value); !problem.empty())
      parsed.problems.push_back(name + ": " + problem);
    if (name == "--set") parsed.overrides.push_back(value);
  }
  if (parsed.positionals.size() > verb.positionals.size())
    parsed.problems.push_back("\"" + parsed.positionals.back() + "\" is too much");
  const auto required = std::ranges::count_if(verb.positionals, &Argument::required);
  if (!parsed.help && static_cast<std::ptrdiff_t>(parsed.positionals.size()) < required)
    parsed.problems.push_back("an argument is missing");
  for (const auto& [name, option] : verb.options)
    if (!parsed.help && option.required && !parsed.options.contains(name))
      parsed.problems.push_back(name + " is missing");
  for (std::size_t p = 0; p < std::min(parsed.positionals.size(), verb.positionals.size()); ++p)
    if (const std::string problem = value_problem(verb.positionals[p].type, parsed.positionals[p]);
        !problem.empty())
      parsed.problems.push_back(problem);
  return parsed;
}

// Loads the experiment that a command names with its overrides.
Findings experiment_problems(const Parsed& parsed, const fs::path& source) {
  if (parsed.positionals.empty() || !parsed.positionals[0].starts_with("resources/experiments/"))
    return {};
  if (!fs::exists(source / parsed.positionals[0])) return {parsed.positionals[0] + " is missing"};
  const auto loaded = experiment::load(source / parsed.positionals[0], parsed.overrides);
  if (loaded) return {};
  return {base::to_string(loaded.error())};
}

}  // namespace

std::vector<std::string> experiment_fields() {
  std::vector<std::string> paths;
  add_fields(base::describe(experiment::Experiment{}), "", paths);
  return paths;
}

Findings check_names(const Manual& manual, const Names& names) {
  Findings findings;
  const auto want = [&](const char* kind, const std::vector<std::string>& all, auto place) {
    for (const std::string& name : all)
      if (!place(name)) findings.push_back(std::string(kind) + " " + name + " has no place");
  };
  want("field", names.fields, [&](const auto& n) { return manual.fields().contains(n); });
  want("strategy", names.strategies, [&](const auto& n) { return manual.strategy(n); });
  want("algorithm", names.algorithms, [&](const auto& n) { return manual.algorithm(n); });
  want("verb", names.verbs, [&](const auto& n) { return manual.verb(n); });
  return findings;
}

Findings check_field_tables(const Manual& manual, const std::vector<std::string>& fields) {
  Findings findings;
  for (const auto& [path, places] : manual.fields()) {
    if (std::ranges::find(fields, path) == fields.end())
      findings.push_back(places.front().file + ": " + path + " is no field");
    else if (places.size() > 1)
      findings.push_back(path + " has rows in " + places[0].file + " and " + places[1].file +
                         "; make one a link to the other");
  }
  return findings;
}

Findings check_contents(const Manual& manual) {
  std::set<std::string> known{std::string(kContentsPage)};
  for (const ContentsGroup& group : manual.contents())
    known.insert(group.files.begin(), group.files.end());
  Findings findings;
  for (const Page& page : manual.pages()) {
    if (!known.contains(page.file)) findings.push_back(page.file + " is not in index.md");
    if (page.sections.empty() || page.sections.front().level != 1)
      findings.push_back(page.file + " does not begin with a title");
  }
  return findings;
}

Findings check_links(const Manual& manual, const fs::path& directory) {
  Findings findings;
  for (const Page& page : manual.pages())
    for (const Link& link : links_of(page))
      if (const std::string problem = link_problem(manual, page, link, directory); !problem.empty())
        findings.push_back(at(page, link.line) + link.target + " " + problem);
  return findings;
}

Findings check_problem_ids(const Manual& manual, const fs::path& source) {
  static const std::regex problem(R"re("([a-z0-9_]+)"\s*,\s*(?:base::)?ProblemCode::)re");
  std::set<std::string> unused, unexplained;
  for (const auto& [id, place] : manual.problems()) unused.insert(id);
  for (const char* folder : {"core", "app", "backends", "ui"})
    for (const auto& entry : fs::recursive_directory_iterator(source / folder)) {
      const fs::path& file = entry.path();
      if (file.extension() != ".cpp" && file.extension() != ".h" && file.extension() != ".cu")
        continue;
      const std::string text = base::read_file(file, std::size_t{1} << 22).value_or("");
      std::erase_if(unused, [&](const std::string& id) {
        return text.find('"' + id + '"') != std::string::npos;
      });
      for (auto at = std::sregex_iterator(text.begin(), text.end(), problem);
           at != std::sregex_iterator(); ++at)
        if (!manual.problems().contains((*at)[1])) unexplained.insert((*at)[1]);
    }
  Findings findings;
  for (const std::string& id : unused) findings.push_back("no source file names " + id);
  for (const std::string& id : unexplained) findings.push_back("problems.md does not list " + id);
  return findings;
}

Findings check_example_names(const Manual& manual, const fs::path& source) {
  static const std::regex name("[a-z0-9_]+\\.json");
  static const std::set<std::string> of_runs{"experiment.json", "resolved.json", "result.json",
                                             "sweep.json", "manifest.json"};
  Findings findings;
  for (const Page& page : manual.pages())
    for (const std::string& span : code_spans(page.text)) {
      const bool path = span.starts_with("resources/experiments/") && span.ends_with(".json") &&
                        span.find("NAME") == std::string::npos;
      const bool plain = std::regex_match(span, name) && !of_runs.contains(span);
      if ((path && !fs::exists(source / span)) ||
          (plain && !fs::exists(source / "resources" / "experiments" / span)))
        findings.push_back(page.file + ": there is no experiment " + span);
    }
  return findings;
}

VerbUsage read_help(const std::string& help) {
  static const std::regex option(R"(^  (?:-\w,)?(--[\w-]+)(?: (\S.*?))?(?:  .*|$))"),
      positional(R"(^  (\w+)(?: (\S+))?( REQUIRED)?(?:  .*|$))");
  VerbUsage usage;
  std::istringstream lines(help);
  std::string heading;
  for (std::string line; std::getline(lines, line);) {
    std::smatch parts;
    if (!line.starts_with(' ')) heading = line;
    else if (heading == "Options:" && std::regex_match(line, parts, option))
      usage.options[parts[1]] = {parts[2].str().starts_with("Excludes") ? "" : parts[2].str(),
                                 parts[2].str().ends_with("REQUIRED")};
    else if (heading == "Positionals:" && std::regex_match(line, parts, positional))
      usage.positionals.push_back({parts[2], parts[3].matched});
  }
  if (usage.options.contains("--help")) usage.options["-h"] = {};
  return usage;
}

std::vector<std::string> verbs_in_help(const std::string& help) {
  static const std::regex verb(R"(^  ([a-z]+) .*)");
  std::vector<std::string> verbs;
  std::istringstream lines(help);
  std::string heading;
  for (std::string line; std::getline(lines, line);) {
    std::smatch parts;
    if (!line.starts_with(' ')) heading = line;
    else if (heading == "Verbs:" && std::regex_match(line, parts, verb)) verbs.push_back(parts[1]);
  }
  return verbs;
}

Usage read_usage(const std::function<std::string(const std::string& verb)>& help_of) {
  Usage usage;
  std::vector<std::string> open{""};
  while (!open.empty()) {
    const std::string verb = open.back(), help = help_of(verb);
    open.pop_back();
    usage[verb] = read_help(help);
    for (const std::string& inner : verbs_in_help(help))
      open.push_back(verb.empty() ? inner : verb + " " + inner);
  }
  return usage;
}

std::vector<std::string> shell_words(const std::string& command) {
  std::vector<std::string> words;
  std::string word;
  bool inside = false;
  char quote = 0;
  for (const char c : command) {
    if (quote != 0) {
      if (c == quote) quote = 0;
      else word += c;
    } else if (c == '\'' || c == '"') {
      quote = c;
      inside = true;
    } else if (c == ' ' || c == '\t') {
      if (inside) words.push_back(std::exchange(word, ""));
      inside = false;
    } else if (!inside && std::string("|>;&#").find(c) != std::string::npos) {
      return words;
    } else {
      word += c;
      inside = true;
    }
  }
  if (inside) words.push_back(word);
  return words;
}

Findings check_commands(const Manual& manual, const Usage& usage, const fs::path& source) {
  Findings findings;
  for (const Page& page : manual.pages())
    for (const CodeBlock& block : code_blocks_of(page))
      for (const Command& command : commands_of(block)) {
        Parsed parsed = parse(shell_words(command.text), usage);
        for (std::string& problem : experiment_problems(parsed, source))
          parsed.problems.push_back(std::move(problem));
        for (const std::string& problem : parsed.problems)
          findings.push_back(at(page, command.line) + "trainyard-cli " + parsed.verb + ": " +
                             problem);
      }
  return findings;
}

}  // namespace trainyard::manual
