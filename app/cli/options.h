// SPDX-License-Identifier: GPL-3.0-or-later
// Command line options of verbs. Hides CLI11 from the verbs, because its headers are slow to
// compile.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace CLI {  // NOLINT(readability-identifier-naming): the name that CLI11 has
class App;
class Option;
}  // namespace CLI

namespace trainyard::cli {

// Option of a verb. Every call sets a property and returns the option.
class Option {
 public:
  explicit Option(CLI::Option* option) : option_(option) {}

  Option required();
  Option type_name(
      const std::string& name);  // Name of the value in help. The shell completes FILE and DIR.
  Option range(std::int64_t least, std::int64_t most);
  Option one_of(const std::vector<std::string>& words);
  Option excludes(const Option& other);

 private:
  CLI::Option* option_;
};

// Verb of the program, or of another verb; the program itself is the outermost verb. Copies refer
// to the same verb.
class Verb {
 public:
  Verb(CLI::App& verb, int& exit_code) : app_(&verb), exit_code_(&exit_code) {}

  Verb add_verb(const std::string& name, const std::string& help);
  void require_verb();  // requires one of the verb's subcommands
  void examples(
      // Examples at the end of help. Verbs added to it later inherit them.
      const std::string& text);
  void hide();  // hides the verb from help and completion
  const CLI::App& app() const { return *app_; }

  // Adds an option; a name without dashes is a positional argument. The variable is written when
  // the command line is parsed, so it must live until then: see on_run.
  Option option(const std::string& name, std::string& value, const std::string& help = "");
  Option option(const std::string& name, int& value, const std::string& help = "");
  Option option(const std::string& name, std::int64_t& value, const std::string& help = "");
  Option option(const std::string& name, std::vector<std::string>& values,
                const std::string& help = "");  // one value per use; may be repeated
  Option flag(const std::string& name, bool& value, const std::string& help);
  void json_flag(bool& json);  // --json, with the same meaning for all verbs

  // Sets the function that runs the verb and returns the exit code. Creates its arguments, to which
  // options write; they live as long as the verb.
  template <class Arguments>
  Arguments& on_run(int (*run)(const Arguments&)) {
    auto arguments = std::make_shared<Arguments>();
    call([arguments, run] { return run(*arguments); });
    return *arguments;
  }

 private:
  void call(const std::function<int()>& run);

  CLI::App* app_;
  int* exit_code_;
};

}  // namespace trainyard::cli
