// SPDX-License-Identifier: GPL-3.0-or-later
// What verbs take from the command line. CLI11 reads it; verbs do not see that, because its headers
// take long to compile.
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

// An option of a verb. Every call says more of it and gives it again.
class Option {
 public:
  explicit Option(CLI::Option* option) : option_(option) {}

  Option required();
  Option type_name(
      const std::string& name);  // what help calls the value; a shell completes FILE and DIR
  Option range(std::int64_t least, std::int64_t most);
  Option one_of(const std::vector<std::string>& words);
  Option excludes(const Option& other);

 private:
  CLI::Option* option_;
};

// A verb of the program, or of another verb; the program itself is the outermost. Copies are the
// same verb.
class Verb {
 public:
  Verb(CLI::App& verb, int& exit_code) : app_(&verb), exit_code_(&exit_code) {}

  Verb add_verb(const std::string& name, const std::string& help);
  void require_verb();  // one of its own must be asked for
  void examples(
      const std::string& text);  // at the end of help; verbs added to it later inherit them
  void hide();                   // from help and from completion
  const CLI::App& app() const { return *app_; }

  // A name without dashes is that of a positional argument. The variable is written when the
  // command line is read, so it must live: see on_run.
  Option option(const std::string& name, std::string& value, const std::string& help = "");
  Option option(const std::string& name, int& value, const std::string& help = "");
  Option option(const std::string& name, std::int64_t& value, const std::string& help = "");
  Option option(const std::string& name, std::vector<std::string>& values,
                const std::string& help = "");  // one each time; may be repeated
  Option flag(const std::string& name, bool& value, const std::string& help);
  void json_flag(bool& json);  // --json, which means the same everywhere

  // When the verb is the one asked for, `run` gives the exit code. What it takes is made here, for
  // options to write, and lives as long as the verb.
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
