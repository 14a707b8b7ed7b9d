// SPDX-License-Identifier: GPL-3.0-or-later
// completion: a bash script that completes verbs, options, their values and files. It is generated
// from the verbs.
#include <fmt/format.h>

#include <cstdio>
#include <string>
#include <vector>

#include "app/cli/verbs.h"

namespace trainyard::cli {
namespace {

std::string join(const std::vector<std::string>& words) {
  return fmt::format("{}", fmt::join(words, " "));
}

// Returns the candidates for completing an option's value: words, "@file" or "@directory". Empty if
// the value cannot be completed, for example a number.
std::string values_of(const app::OptionSummary& option) {
  if (!option.accepted.empty()) return join(option.accepted);
  if (option.type_name == "DIR") return "@directory";
  return option.type_name == "FILE" ? "@file" : "";
}

std::string reply(const std::string& words) {
  if (words.empty()) return ":";
  if (words == "@directory")
    return "compopt -o filenames 2> /dev/null; mapfile -t COMPREPLY < <(compgen -d -- \"$cur\")";
  if (words == "@file")
    return "compopt -o filenames 2> /dev/null; mapfile -t COMPREPLY < <(compgen -f -- \"$cur\")";
  return "mapfile -t COMPREPLY < <(compgen -W '" + words + "' -- \"$cur\")";
}

struct VerbCompletion {
  std::vector<std::string> options;
  std::string cases;                    // a case of bash for each option that takes a value
  std::vector<std::string> positional;  // completions of the positional argument
};

// Adds the options of a verb and of its subcommands.
void add_options(const app::VerbSummary& verb, VerbCompletion& completion) {
  for (const app::OptionSummary& option : verb.options) {
    if (option.names.empty()) completion.positional.push_back(values_of(option));
    for (const std::string& name : option.names) {
      if (name == "--help" && !completion.options.empty()) continue;  // a nested verb's --help
      completion.options.push_back(name);
      if (option.takes_value)
        completion.cases += "        " + name + ") " + reply(values_of(option)) + "; return ;;\n";
    }
  }
  for (const app::VerbSummary& inner : verb.verbs) {
    completion.positional.push_back(inner.name);
    add_options(inner, completion);
  }
}

std::string verb_case(const app::VerbSummary& verb) {
  VerbCompletion completion;
  add_options(verb, completion);
  std::string text = "    " + verb.name + ")\n      case \"$prev\" in\n" + completion.cases +
                     "      esac\n      if [[ $cur == -* ]]; then " +
                     reply(join(completion.options)) + "; return; fi\n";
  if (!completion.positional.empty()) text += "      " + reply(join(completion.positional)) + "\n";
  return text + "      ;;\n";
}

std::string script(const app::VerbSummary& program) {
  std::string verbs, cases;
  for (const app::VerbSummary& verb : program.verbs) {
    if (verb.hidden) continue;
    verbs += (verbs.empty() ? "" : " ") + verb.name;
    cases += verb_case(verb);
  }
  return "# bash completion of trainyard-cli\n"
         "_trainyard_cli() {\n"
         "  local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]}\n"
         "  COMPREPLY=()\n"
         "  if ((COMP_CWORD == 1)); then\n"
         "    " +
         reply(verbs + " --help --version") +
         "\n"
         "    return\n"
         "  fi\n"
         "  case \"${COMP_WORDS[1]}\" in\n" +
         cases +
         "  esac\n"
         "}\n"
         "complete -F _trainyard_cli trainyard-cli\n";
}

struct CompletionArguments {
  const app::Program* program = nullptr;
  std::string shell = "bash";
};

int run_completion(const CompletionArguments& arguments) {
  const std::string text = script(arguments.program->summary());
  std::fwrite(text.data(), 1, text.size(), stdout);
  return 0;
}

}  // namespace

void add_completion(app::Program& program) {
  Verb verb = program.verb().add_verb("completion", "Print a shell completion script");
  CompletionArguments& arguments = verb.on_run(run_completion);
  arguments.program = &program;
  verb.option("shell", arguments.shell, "Shell").one_of({"bash"});
  verb.examples(
      "Examples:\n"
      "  source <(trainyard-cli completion bash)\n"
      "  trainyard-cli completion bash > ~/.local/share/bash-completion/completions/trainyard-cli");
}

}  // namespace trainyard::cli
