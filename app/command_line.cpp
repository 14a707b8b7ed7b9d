// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/command_line.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <limits>
#include <map>
#include <optional>
#include <string_view>

#include "app/address_space.h"

namespace trainyard::app {

struct ProgramState {
  int exit_code = 0;
  std::map<const CLI::Option*, std::vector<std::string>> accepted_words;
};

namespace {

// Joins a fault in a value and the accepted values into one text, because a validator of CLI11 can
// return only one. value_problem splits the text again.
std::string message(const std::string& fault, const std::string& accepted) {
  return fault + "\n" + accepted;
}

std::optional<std::int64_t> to_integer(const std::string& text) {
  std::int64_t value = 0;
  if (!CLI::detail::lexical_cast(text, value)) return {};
  return value;
}

constexpr const char* kIntegerCheck = "integer";  // the name of the validator of integers

// Returns a validator that says why a text is not an accepted integer. It runs before CLI11's
// conversion, which would only report that it failed. `help` appears in the help of the option.
CLI::Validator integer_validator(std::int64_t least, std::int64_t most, const std::string& accepted,
                                 const std::string& help) {
  const auto check = [=](const std::string& text) {
    const auto value = to_integer(text);
    if (!value) return message(fmt::format("\"{}\" is not an integer", text), accepted);
    if (*value < least || *value > most)
      return message(fmt::format("{} is out of range", text), accepted);
    return std::string();
  };
  return {check, help, kIntegerCheck};
}

template <class Integer>
CLI::Option* add_integer(CLI::App& verb, const std::string& name, Integer& value,
                         const std::string& help) {
  using Limits = std::numeric_limits<Integer>;
  return verb.add_option(name, value, help)
      ->check(integer_validator(Limits::min(), Limits::max(), "an integer", ""));
}

// Returns the full command of a verb, for example "trainyard-cli bench allreduce".
std::string command_of(const CLI::App& verb) {
  const CLI::App* outer = verb.get_parent();
  return outer == nullptr ? verb.get_name() : command_of(*outer) + " " + verb.get_name();
}

// Returns the innermost verb that was given on the command line.
const CLI::App& innermost_verb(const CLI::App& outer) {
  const auto verbs = outer.get_subcommands();
  return verbs.empty() ? outer : innermost_verb(*verbs.back());
}

// Returns the direct subcommands of a verb, hidden ones too.
std::vector<const CLI::App*> inner_verbs(const CLI::App& verb) {
  return verb.get_subcommands([](const CLI::App*) { return true; });
}

// Returns the names of the visible subcommands of a verb; empty if there are none.
std::string verbs_of(const CLI::App& verb) {
  const auto visible = [](const CLI::App* inner) { return !inner->get_group().empty(); };
  std::vector<std::string> names;
  for (const CLI::App* inner : verb.get_subcommands(visible)) names.push_back(inner->get_name());
  return fmt::format("{}", fmt::join(names, ", "));
}

// Returns the names of the options of a verb, with dashes.
std::string options_of(const CLI::App& verb) {
  std::vector<std::string> names;
  for (const CLI::Option* option : verb.get_options())
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  return fmt::format("{}", fmt::join(names, ", "));
}

base::Problem usage_problem(const std::string& id, const CLI::App& verb, const std::string& what,
                            const std::string& accepted) {
  return {id,
          base::ProblemCode::bad_usage,
          command_of(verb),
          what,
          accepted,
          command_of(verb) + " --help shows examples"};
}

// Returns the problem of an argument that is neither a subcommand nor an option of `verb`.
base::Problem unknown_argument(const CLI::App& verb, const std::string& word) {
  if (word.rfind('-', 0) == 0)
    return usage_problem("unknown_option", verb, fmt::format("\"{}\" is not an option", word),
                         options_of(verb));
  const std::string verbs = verbs_of(verb);
  if (!verbs.empty())
    return usage_problem("unknown_verb", verb, fmt::format("\"{}\" is not a verb", word), verbs);
  return usage_problem("unexpected_argument", verb,
                       fmt::format("the argument \"{}\" is unexpected", word), "");
}

// True if the verb has the option that `word` names. `word` may include a value, as in "--steps=3".
bool has_option(const CLI::App& verb, const std::string& word) {
  return verb.get_option_no_throw(word.substr(0, word.find('='))) != nullptr;
}

bool is_option_of_verbs(const CLI::App& outer, const std::string& word) {
  const auto verbs = inner_verbs(outer);
  return std::any_of(verbs.begin(), verbs.end(),
                     [&](const CLI::App* verb) { return has_option(*verb, word); });
}

// True if one of the words is the name of a subcommand of `outer`.
bool names_verb(const CLI::App& outer, const char* const* words) {
  const auto verbs = inner_verbs(outer);
  for (; *words != nullptr; ++words)
    if (std::any_of(verbs.begin(), verbs.end(),
                    [&](const CLI::App* verb) { return verb->get_name() == *words; }))
      return true;
  return false;
}

// Returns a problem if the first word names neither a subcommand nor an option of `outer`. CLI11
// would only report that a subcommand is required.
std::optional<base::Problem> unknown_verb(const CLI::App& outer, const char* const* words) {
  const std::string word = *words == nullptr ? "" : *words;
  if (verbs_of(outer).empty() || word.empty()) return {};
  if (word.front() == '-') {
    // If the verb is missing, reports no problem for an option of a verb, because CLI11 reports the
    // missing verb.
    if (has_option(outer, word) || (!names_verb(outer, words) && is_option_of_verbs(outer, word)))
      return {};
    base::Problem problem = unknown_argument(outer, word);
    problem.advice = "Write options after the verb: " + command_of(outer) + " VERB " + word;
    return problem;
  }
  const auto named =
      outer.get_subcommands([&](const CLI::App* verb) { return verb->get_name() == word; });
  if (!named.empty()) return unknown_verb(*named.front(), words + 1);
  return unknown_argument(outer, word);
}

// Returns the problem of an option whose value is wrong. CLI11 writes "OPTION: MESSAGE".
base::Problem value_problem(const std::string& id, const CLI::App& verb, std::string text) {
  std::string option, accepted;
  if (const std::size_t colon = text.find(": "); colon != std::string::npos) {
    option = " " + text.substr(0, colon);
    text.erase(0, colon + 2);
  }
  if (const std::size_t line = text.find('\n'); line != std::string::npos) {
    accepted = text.substr(line + 1);
    text.erase(line);
  }
  base::Problem problem = usage_problem(id, verb, text, accepted);
  problem.where += option;
  return problem;
}

// Returns the problem of an option with too few or too many values. CLI11 has one error for both;
// only its English text tells them apart.
base::Problem mismatch_problem(const CLI::App& verb, const std::string& text) {
  const bool too_many = text.find("At Most") != std::string::npos ||
                        text.find("Expected exactly") != std::string::npos;
  base::Problem problem = value_problem(too_many ? "repeated_option" : "missing_value", verb, text);
  problem.what = too_many ? "the option is given more than once" : "the value is missing";
  problem.accepted = too_many ? "one value" : "";
  return problem;
}

// Returns the problem of a value given to a flag, from CLI11's message "Could not convert: FLAG =
// VALUE". Only flags cause this message, because validators check the values of other options
// before the conversion.
base::Problem flag_problem(const CLI::App& verb, const std::string& text) {
  const std::size_t begin = std::min(text.find(": ") + 2, text.size()),
                    end = std::min(text.find(" = ", begin), text.size());
  base::Problem problem = usage_problem("bad_value", verb, "the option takes no value", "no value");
  problem.where += " " + text.substr(begin, end - begin);
  return problem;
}

// Returns the first argument that begins like an option but names no known option; empty if there
// is none.
std::string unknown_option_of(const CLI::App& program) {
  for (const std::string& word : program.remaining(true))
    if (word.rfind('-', 0) == 0) return word;
  return "";
}

template <class Error>
bool is(const CLI::ParseError& error) {
  return dynamic_cast<const Error*>(&error) != nullptr;
}

base::Problem problem_of(const CLI::App& program, const CLI::ParseError& error) {
  const CLI::App& verb = innermost_verb(program);
  if (is<CLI::ExtrasError>(error)) return unknown_argument(verb, program.remaining(true).front());
  if (is<CLI::ValidationError>(error)) return value_problem("bad_value", verb, error.what());
  if (is<CLI::ArgumentMismatch>(error)) return mismatch_problem(verb, error.what());
  if (is<CLI::ConversionError>(error)) return flag_problem(verb, error.what());
  if (is<CLI::RequiredError>(error)) {
    if (const std::string verbs = verbs_of(verb); !verbs.empty())
      return usage_problem("missing_verb", verb, "a verb is missing", verbs);
    if (const std::string option = unknown_option_of(program); !option.empty())
      return unknown_argument(verb, option);
    const std::string text = error.what();  // "experiment is required"
    return usage_problem(
        "missing_argument", verb,
        fmt::format("the argument \"{}\" is missing", text.substr(0, text.find(" is required"))),
        "");
  }
  if (is<CLI::ExcludesError>(error)) {
    const std::string text = error.what();  // "--a excludes --b"
    const std::size_t word = text.find(" excludes ");
    return usage_problem(
        "conflicting_options", verb,
        text.substr(0, word) + " cannot be combined with " + text.substr(word + 10), "one of them");
  }
  return usage_problem("bad_arguments", verb, error.what(), "");
}

OptionSummary summary_of(const CLI::Option& option, const ProgramState& state) {
  OptionSummary summary;
  if (!option.get_positional())
    for (const std::string& name : option.get_lnames()) summary.names.push_back("--" + name);
  summary.takes_value = option.get_items_expected_max() > 0;
  summary.type_name = option.get_type_name();
  if (const auto words = state.accepted_words.find(&option); words != state.accepted_words.end())
    summary.accepted = words->second;
  return summary;
}

VerbSummary summary_of(const CLI::App& verb, const ProgramState& state) {
  VerbSummary summary{verb.get_name(), verb.get_group().empty(), {}, {}};
  for (const CLI::Option* option : verb.get_options())
    summary.options.push_back(summary_of(*option, state));
  for (const CLI::App* inner : inner_verbs(verb))
    summary.verbs.push_back(summary_of(*inner, state));
  return summary;
}

}  // namespace

Option Option::required() { return {option_->required(), *state_}; }
Option Option::type_name(const std::string& name) { return {option_->type_name(name), *state_}; }
Option Option::excludes(const Option& other) { return {option_->excludes(other.option_), *state_}; }

Option Option::range(std::int64_t least, std::int64_t most) {
  const std::string accepted = fmt::format("{} to {}", least, most);
  *option_->get_validator(kIntegerCheck) = integer_validator(least, most, accepted, accepted);
  return *this;
}

Option Option::one_of(const std::vector<std::string>& words) {
  const auto check = [words](const std::string& text) {
    if (std::find(words.begin(), words.end(), text) != words.end()) return std::string();
    return message(fmt::format("unknown value: \"{}\"", text),
                   fmt::format("{}", fmt::join(words, ", ")));
  };
  option_->check(CLI::Validator(check, fmt::format("{{{}}}", fmt::join(words, ","))));
  state_->accepted_words[option_] = words;
  return *this;
}

Verb Verb::add_verb(const std::string& name, const std::string& help) {
  return {*app_->add_subcommand(name, help)->group("Verbs"), *state_};
}
void Verb::require_verb() { app_->require_subcommand(1); }
void Verb::examples(const std::string& text) { app_->footer(text); }
void Verb::hide() { app_->group(""); }

Option Verb::option(const std::string& name, std::string& value, const std::string& help) {
  return {app_->add_option(name, value, help), *state_};
}
Option Verb::option(const std::string& name, int& value, const std::string& help) {
  return {add_integer(*app_, name, value, help), *state_};
}
Option Verb::option(const std::string& name, std::int64_t& value, const std::string& help) {
  return {add_integer(*app_, name, value, help), *state_};
}
Option Verb::option(const std::string& name, std::vector<std::string>& values,
                    const std::string& help) {
  return {app_->add_option(name, values, help)->expected(1)->take_all(), *state_};
}

Option Verb::flag(const std::string& name, bool& value, const std::string& help) {
  return {app_->add_flag(name, value, help), *state_};
}
void Verb::json_flag(bool& json) {
  flag("--json", json,
       "Print NDJSON on standard output: one object per line, the last line is the result");
}

void Verb::call(const std::function<int()>& run) {
  app_->callback([run, app = app_, state = state_] {
    if (app->get_subcommands().empty()) state->exit_code = run();
  });
}

Program::Program(const std::string& name, const std::string& description,
                 const std::string& version)
    : state_(std::make_unique<ProgramState>()),
      app_(std::make_unique<CLI::App>(description, name)) {
  add_address_space_check();
  app_->set_version_flag("--version", version);
  app_->get_formatter()->label("SUBCOMMAND", "VERB");
}

Program::~Program() = default;

Verb Program::verb() { return {*app_, *state_}; }
VerbSummary Program::summary() const { return summary_of(*app_, *state_); }
std::string Program::command() const { return command_of(innermost_verb(*app_)); }

base::Result<int> Program::run(int argc, const char* const* argv) {
  if (auto problem = unknown_verb(*app_, argv + 1)) return base::fail(*problem);
  try {
    app_->parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    const bool is_answered = error.get_exit_code() == 0;  // --help or --version
    if (!is_answered) return base::fail(problem_of(*app_, error));
    return app_->exit(error);
  }
  return state_->exit_code;
}

}  // namespace trainyard::app
