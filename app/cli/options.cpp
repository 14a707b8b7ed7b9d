// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/cli/options.h"

#include <CLI/CLI.hpp>

namespace trainyard::cli {
namespace {

// Validates that an integer is in a range. It accepts text that is no integer, because CLI11
// reports that itself; otherwise CLI11 would say that the text is out of range. The validator has
// no name, so that help does not mention it.
CLI::Validator integer_validator(std::int64_t least, std::int64_t most) {
  const std::string accepted = std::to_string(least) + " to " + std::to_string(most);
  const auto judge = [accepted](const std::string& text) {
    const bool whole = CLI::TypeValidator<std::int64_t>()(text).empty();
    return whole ? std::string()
                 : "\"" + text + "\" is no whole number (accepted: " + accepted + ")";
  };
  return {judge, ""};
}

}  // namespace

Option Option::required() { return Option(option_->required()); }
Option Option::type_name(const std::string& name) { return Option(option_->type_name(name)); }
Option Option::range(std::int64_t least, std::int64_t most) {
  return Option(option_->check(integer_validator(least, most))->check(CLI::Range(least, most)));
}
Option Option::one_of(const std::vector<std::string>& words) {
  return Option(option_->check(CLI::IsMember(words)));
}
Option Option::excludes(const Option& other) { return Option(option_->excludes(other.option_)); }

Verb Verb::add_verb(const std::string& name, const std::string& help) {
  return Verb(*app_->add_subcommand(name, help)->group("Verbs"), *exit_code_);
}
void Verb::require_verb() { app_->require_subcommand(1); }
void Verb::examples(const std::string& text) { app_->footer(text); }
void Verb::hide() { app_->group(""); }

Option Verb::option(const std::string& name, std::string& value, const std::string& help) {
  return Option(app_->add_option(name, value, help));
}
Option Verb::option(const std::string& name, int& value, const std::string& help) {
  return Option(app_->add_option(name, value, help));
}
Option Verb::option(const std::string& name, std::int64_t& value, const std::string& help) {
  return Option(app_->add_option(name, value, help));
}

Option Verb::option(const std::string& name, std::vector<std::string>& values,
                    const std::string& help) {
  return Option(app_->add_option(name, values, help)->expected(1)->take_all());
}

Option Verb::flag(const std::string& name, bool& value, const std::string& help) {
  return Option(app_->add_flag(name, value, help));
}
void Verb::json_flag(bool& json) {
  flag("--json", json,
       "Print NDJSON on standard output: one object per line, the last line is the result");
}

void Verb::call(const std::function<int()>& run) {
  app_->callback([run, exit_code = exit_code_] { *exit_code = run(); });
}

}  // namespace trainyard::cli
