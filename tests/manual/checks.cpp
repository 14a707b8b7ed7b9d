// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/manual/checks.h"

#include <algorithm>
#include <optional>
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

std::string location(const Page& page, std::size_t line) {
  return page.file + ":" + std::to_string(line);
}

base::Problem problem(std::string id, std::string where, std::string what) {
  return {std::move(id), base::ProblemCode::bad_input, std::move(where), std::move(what), "", ""};
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

// Returns a problem if the page or anchor of a link is missing.
std::optional<base::Problem> link_problem(const Manual& manual, const Page& page, const Link& link,
                                          const fs::path& directory) {
  if (link.target.find("://") != std::string::npos) return std::nullopt;
  const auto at_link = [&](const char* id, const std::string& what) {
    return problem(id, location(page, link.line), link.target + " " + what);
  };
  const std::size_t hash = std::min(link.target.find('#'), link.target.size());
  const std::string file = link.target.substr(0, hash),
                    slug = link.target.substr(std::min(hash + 1, link.target.size()));
  const std::string path = file.empty() ? page.file : resolved(page.file, file);
  const Page* target = manual.page(path);
  if (!target && !fs::exists(directory / path)) return at_link("broken_link", "is missing");
  if (slug.empty() || (target && target->section(slug))) return std::nullopt;
  return at_link("broken_anchor", "has no section \"" + slug + "\"");
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
    const bool continues = line.ends_with('\\');
    if (continues) line.pop_back();
    if (continued) commands.back().text += " " + line;
    else if (line == "trainyard-cli" || line.starts_with("trainyard-cli "))
      commands.push_back({line, number});
    else continue;
    continued = continues;
  }
  return commands;
}

// Returns a problem if a value does not fit the type in the help.
std::optional<base::Problem> value_problem(const std::string& type, const std::string& value) {
  const std::size_t begin = type.find('{'), end = type.rfind('}');
  if (begin != std::string::npos && end != std::string::npos) {
    std::istringstream words(type.substr(begin + 1, end - begin - 1));
    std::string all;
    for (std::string word; std::getline(words, word, ',');) {
      if (word == value) return std::nullopt;
      all += (all.empty() ? "" : ", ") + word;
    }
    return problem("unknown_value", "", "\"" + value + "\" is not one of " + all);
  }
  static const std::regex whole(R"(-?\d+)");
  if (type.starts_with("INT") && !std::regex_match(value, whole))
    return problem("wrong_type", "", "\"" + value + "\" is not a whole number");
  return std::nullopt;
}

struct Parsed {
  std::string verb;
  std::vector<std::string> positionals, overrides;
  std::set<std::string> options;
  base::Problems problems;  // `where` is empty, or a location in the experiment
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
    parsed.problems.push_back(problem("unknown_verb", "", "\"" + words[i] + "\" is not a verb"));
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
      parsed.problems.push_back(problem("unknown_option", "", name + " is not an option"));
      continue;
    }
    parsed.options.insert(name);
    parsed.help = parsed.help || name == "--help" || name == "--version";
    if (option->second.type.empty()) continue;
    std::string value = words[i].substr(std::min(equals + 1, words[i].size()));
    if (equals == words[i].size()) {
      if (i + 1 == words.size()) {
        parsed.problems.push_back(problem("option_without_value", "", name + " has no value"));
        continue;
      }
      value = words[++i];
    }
    if (const auto bad = value_problem(option->second.type, value))
      parsed.problems.push_back(problem(bad->id, "", name + ": " + bad->what));
    if (name == "--set") parsed.overrides.push_back(value);
  }
  if (parsed.positionals.size() > verb.positionals.size())
    parsed.problems.push_back(
        problem("too_many_arguments", "", "\"" + parsed.positionals.back() + "\" is one too many"));
  const auto required = std::ranges::count_if(verb.positionals, &Argument::required);
  if (!parsed.help && static_cast<std::ptrdiff_t>(parsed.positionals.size()) < required)
    parsed.problems.push_back(problem("missing_argument", "", "an argument is missing"));
  for (const auto& [name, option] : verb.options)
    if (!parsed.help && option.required && !parsed.options.contains(name))
      parsed.problems.push_back(problem("missing_option", "", name + " is missing"));
  for (std::size_t p = 0; p < std::min(parsed.positionals.size(), verb.positionals.size()); ++p)
    if (const auto bad = value_problem(verb.positionals[p].type, parsed.positionals[p]))
      parsed.problems.push_back(*bad);
  return parsed;
}

// Loads the experiment that a command names with its overrides.
base::Problems experiment_problems(const Parsed& parsed, const fs::path& source) {
  if (parsed.positionals.empty() || !parsed.positionals[0].starts_with("resources/experiments/"))
    return {};
  if (!fs::exists(source / parsed.positionals[0]))
    return {problem("missing_experiment", "", parsed.positionals[0] + " is missing")};
  const auto loaded = experiment::load(source / parsed.positionals[0], parsed.overrides);
  return loaded ? base::Problems{} : loaded.error();
}

}  // namespace

std::vector<std::string> experiment_fields() {
  std::vector<std::string> paths;
  add_fields(base::describe(experiment::Experiment{}), "", paths);
  for (const std::string_view key : base::Fields<topology::Device>::shorthands)
    paths.push_back("topology.hosts[].devices[]." + std::string(key));
  return paths;
}

base::Problems check_names(const Manual& manual, const Names& names) {
  base::Problems problems;
  const auto require = [&](const char* id, const std::vector<std::string>& all, auto documented) {
    for (const std::string& name : all)
      if (!documented(name)) problems.push_back(problem(id, name, "the manual lacks this name"));
  };
  require("undocumented_field", names.fields,
          [&](const auto& n) { return manual.fields().contains(n); });
  require("undocumented_strategy", names.strategies,
          [&](const auto& n) { return manual.strategy(n).has_value(); });
  require("undocumented_algorithm", names.algorithms,
          [&](const auto& n) { return manual.algorithm(n).has_value(); });
  require("undocumented_verb", names.verbs,
          [&](const auto& n) { return manual.verb(n).has_value(); });
  return problems;
}

base::Problems check_field_tables(const Manual& manual, const std::vector<std::string>& fields) {
  base::Problems problems;
  for (const auto& [path, places] : manual.fields()) {
    if (std::ranges::find(fields, path) == fields.end())
      problems.push_back(problem("unknown_field", places.front().file, path + " is not a field"));
    else if (places.size() > 1)
      problems.push_back(problem(
          "duplicate_row", places[1].file,
          path + " also has a row in " + places[0].file + "; make one a link to the other"));
  }
  return problems;
}

base::Problems check_strategy_fields(const Manual& manual) {
  base::Problems problems;
  for (const auto& [value, name] : base::Names<experiment::StrategyKind>::table) {
    const std::string kind(name);
    const auto place = manual.strategy(kind);
    experiment::StrategySpec strategy;
    strategy.kind = value;
    const std::string fields = place ? manual.text({place->file, "fields", ""}) : "";
    for (const base::FieldDescription& field : base::describe(strategy)) {
      const std::string path = "strategy." + field.name;
      if (field.used && field.name != "engine" && field.name != "compression" &&
          fields.find("`" + path + "`") == std::string::npos)
        problems.push_back(problem("missing_row", kind, "the page lacks a row for " + path));
    }
  }
  return problems;
}

base::Problems check_contents(const Manual& manual) {
  std::set<std::string> known{std::string(kContentsPage)};
  for (const ContentsGroup& group : manual.contents())
    known.insert(group.files.begin(), group.files.end());
  base::Problems problems;
  for (const Page& page : manual.pages()) {
    if (!known.contains(page.file))
      problems.push_back(problem("page_not_in_contents", page.file, "index.md lacks this page"));
    if (page.sections.empty() || page.sections.front().level != 1)
      problems.push_back(problem("page_without_title", page.file, "the first line is not a title"));
  }
  return problems;
}

base::Problems check_links(const Manual& manual, const fs::path& directory) {
  base::Problems problems;
  for (const Page& page : manual.pages())
    for (const Link& link : links_of(page))
      if (const auto broken = link_problem(manual, page, link, directory))
        problems.push_back(*broken);
  return problems;
}

base::Problems check_problem_ids(const Manual& manual, const fs::path& source) {
  static const std::regex made(R"re("([a-z0-9_]+)"\s*,\s*(?:base::)?ProblemCode::)re");
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
      for (auto at = std::sregex_iterator(text.begin(), text.end(), made);
           at != std::sregex_iterator(); ++at)
        if (!manual.problems().contains((*at)[1])) unexplained.insert((*at)[1]);
    }
  base::Problems problems;
  for (const std::string& id : unused)
    problems.push_back(problem("unknown_problem_id", "problems.md", "no source file has " + id));
  for (const std::string& id : unexplained)
    problems.push_back(problem("problem_id_not_listed", "problems.md", id + " has no row"));
  return problems;
}

base::Problems check_example_names(const Manual& manual, const fs::path& source) {
  static const std::regex name("[a-z0-9_]+\\.json");
  static const std::set<std::string> run_files{"experiment.json", "resolved.json", "result.json",
                                               "sweep.json", "manifest.json"};
  base::Problems problems;
  for (const Page& page : manual.pages())
    for (const std::string& span : code_spans(page.text)) {
      const bool path = span.starts_with("resources/experiments/") && span.ends_with(".json") &&
                        span.find("NAME") == std::string::npos;
      const bool plain = std::regex_match(span, name) && !run_files.contains(span);
      if ((path && !fs::exists(source / span)) ||
          (plain && !fs::exists(source / "resources" / "experiments" / span)))
        problems.push_back(problem("missing_experiment", page.file, span + " is missing"));
    }
  return problems;
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

// Checks the commands in running text that have options, such as `trainyard-cli run E --steps 3`.
base::Problems check_inline_commands(const Page& page, const Usage& usage) {
  base::Problems problems;
  for (const std::string& span : code_spans(page.text)) {
    if (!span.starts_with("trainyard-cli ") || span.find(" --") == std::string::npos) continue;
    for (base::Problem& problem : parse(shell_words(span), usage).problems) {
      problem.where = page.file + ": " + span;
      problems.push_back(std::move(problem));
    }
  }
  return problems;
}

base::Problems check_commands(const Manual& manual, const Usage& usage, const fs::path& source) {
  base::Problems problems;
  for (const Page& page : manual.pages()) {
    for (base::Problem& problem : check_inline_commands(page, usage))
      problems.push_back(std::move(problem));
    for (const CodeBlock& block : code_blocks_of(page))
      for (const Command& command : commands_of(block)) {
        Parsed parsed = parse(shell_words(command.text), usage);
        for (base::Problem& problem : experiment_problems(parsed, source))
          parsed.problems.push_back(std::move(problem));
        for (base::Problem& problem : parsed.problems) {
          problem.where = location(page, command.line) + (problem.where.empty() ? "" : ": ") +
                          std::move(problem.where);
          problems.push_back(std::move(problem));
        }
      }
  }
  return problems;
}

}  // namespace trainyard::manual
