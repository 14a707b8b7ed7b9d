// SPDX-License-Identifier: GPL-3.0-or-later
// Command line of a program: verbs, options, help and errors. Only the implementation of this
// interface includes CLI11, because CLI11's headers are slow to compile.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "core/base/result.h"

namespace CLI {  // NOLINT(readability-identifier-naming): the name that CLI11 has
class App;
class Option;
}  // namespace CLI

namespace trainyard::app {

struct ProgramState;  // state that all verbs of a program share

// Option of a verb. Each member function sets one property and returns the option.
class Option {
 public:
  Option(CLI::Option* option, ProgramState& state) : option_(option), state_(&state) {}

  Option required();
  // Sets the name of the value in help. For FILE and DIR, the shell completes paths.
  Option type_name(const std::string& name);
  // Sets the accepted range of an integer, both ends included.
  Option range(std::int64_t least, std::int64_t most);
  Option one_of(const std::vector<std::string>& words);
  Option excludes(const Option& other);

 private:
  CLI::Option* option_;
  ProgramState* state_;
};

// Verb of the program, or subcommand of another verb. The program itself is the outermost verb.
// Copies refer to the same verb.
class Verb {
 public:
  Verb(CLI::App& verb, ProgramState& state) : app_(&verb), state_(&state) {}

  Verb add_verb(const std::string& name, const std::string& help);
  void require_verb();  // requires one of the verb's subcommands
  // Sets the examples at the end of the verb's help. Subcommands that are added later inherit them.
  void examples(const std::string& text);
  void hide();  // hides the verb from help and completion

  // Adds an option. A name without dashes adds a positional argument. `value` is written when the
  // command line is parsed, so it must still exist then: see on_run.
  Option option(const std::string& name, std::string& value, const std::string& help = "");
  Option option(const std::string& name, int& value, const std::string& help = "");
  Option option(const std::string& name, std::int64_t& value, const std::string& help = "");
  // Adds an option that can be repeated; each use adds one value.
  Option option(const std::string& name, std::vector<std::string>& values,
                const std::string& help = "");
  Option flag(const std::string& name, bool& value, const std::string& help);
  void json_flag(bool& json);  // adds --json, which means the same for all verbs

  // Sets the function that runs the verb and returns the exit code. Returns the verb's arguments,
  // to which its options can write. The arguments exist as long as the verb.
  template <class Arguments>
  Arguments& on_run(int (*run)(const Arguments&)) {
    auto arguments = std::make_shared<Arguments>();
    call([arguments, run] { return run(*arguments); });
    return *arguments;
  }

 private:
  void call(const std::function<int()>& run);

  CLI::App* app_;
  ProgramState* state_;
};

// Description of an option, for shell completion.
struct OptionSummary {
  std::vector<std::string> names;  // names with dashes; empty for a positional argument
  bool takes_value = false;
  std::string type_name;              // "FILE", "DIR" or another name
  std::vector<std::string> accepted;  // accepted words; empty: all
};

// Description of a verb, for shell completion.
struct VerbSummary {
  std::string name;
  bool hidden = false;
  std::vector<OptionSummary> options;
  std::vector<VerbSummary> verbs;
};

class Program {
 public:
  Program(const std::string& name, const std::string& description, const std::string& version);
  ~Program();

  Verb verb();  // the outermost verb
  VerbSummary summary() const;

  // Parses the arguments, runs the verb, and returns its exit code; returns 0 after --help or
  // --version. Wrong arguments give a problem bad_usage. Its `where` is the command, for example
  // "trainyard-cli bench allreduce", followed by the option if its value is wrong.
  base::Result<int> run(int argc, const char* const* argv);

  // Returns the full command of the innermost verb that was given on the command line.
  std::string command() const;

 private:
  std::unique_ptr<ProgramState> state_;
  std::unique_ptr<CLI::App> app_;
};

}  // namespace trainyard::app
