// SPDX-License-Identifier: GPL-3.0-or-later
// completion: a bash script that completes verbs, options, their values and files. It is generated
// from the verbs.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <string>
#include <utility>
#include <vector>

#include "app/cli/verbs.h"

namespace trainyard::cli {
namespace {

struct VerbCompletion {
  std::string verb;
  std::string options;                                      // all options, separated by spaces
  std::vector<std::pair<std::string, std::string>> values;  // (option, its accepted values)
  // accepted words of the positional argument, or "file" or "directory"
  std::string positional;
};

// Returns the accepted values of an option. CLI11 appends them to the option's type:
// "TEXT:{csv,trace}".
std::string accepted_words(const CLI::Option& option) {
  const std::string type = option.get_type_name();
  const std::size_t begin = type.find('{'), end = type.rfind('}');
  if (begin == std::string::npos || end == std::string::npos) return "";
  std::string words = type.substr(begin + 1, end - begin - 1);
  for (char& c : words)
    if (c == ',') c = ' ';
  return words;
}

std::string positional_values(const CLI::Option& option) {
  if (std::string words = accepted_words(option); !words.empty()) return words;
  const std::string type = option.get_type_name();
  if (type == "DIR") return "@directory";
  return type == "FILE" ? "@file" : "";  // a number or free text cannot be completed
}

void add_options(const CLI::App& verb, VerbCompletion& c) {
  for (const CLI::Option* option : verb.get_options()) {
    if (option->get_positional()) {
      c.positional = positional_values(*option);
      continue;
    }
    for (const std::string& name : option->get_lnames()) {
      if (name != "help" || c.options.empty())
        c.options += (c.options.empty() ? "--" : " --") + name;
      if (option->get_items_expected_max() > 0)
        c.values.emplace_back("--" + name, positional_values(*option));
    }
  }
}

// Collects the completions of a verb. A verb with subcommands gets their names and options.
VerbCompletion completed(const CLI::App& verb) {
  VerbCompletion c{verb.get_name(), "", {}, ""};
  add_options(verb, c);
  for (const CLI::App* inner : verb.get_subcommands([](const CLI::App*) { return true; })) {
    add_options(*inner, c);
    c.positional += (c.positional.empty() ? "" : " ") + inner->get_name();
  }
  return c;
}

std::string reply(const std::string& words) {
  if (words.empty()) return ":";
  if (words == "@directory")
    return "compopt -o filenames 2> /dev/null; mapfile -t COMPREPLY < <(compgen -d -- \"$cur\")";
  if (words == "@file")
    return "compopt -o filenames 2> /dev/null; mapfile -t COMPREPLY < <(compgen -f -- \"$cur\")";
  return "mapfile -t COMPREPLY < <(compgen -W '" + words + "' -- \"$cur\")";
}

std::string verb_case(const VerbCompletion& c) {
  std::string text = "    " + c.verb + ")\n      case \"$prev\" in\n";
  for (const auto& [option, words] : c.values)
    text += "        " + option + ") " + reply(words) + "; return ;;\n";
  text += "      esac\n";
  text += "      if [[ $cur == -* ]]; then " + reply(c.options) + "; return; fi\n";
  if (!c.positional.empty()) text += "      " + reply(c.positional) + "\n";
  return text + "      ;;\n";
}

std::string script(const CLI::App& program) {
  std::string verbs, cases;
  for (const CLI::App* verb : program.get_subcommands([](const CLI::App*) { return true; })) {
    if (verb->get_group().empty()) continue;  // hidden verb
    verbs += (verbs.empty() ? "" : " ") + verb->get_name();
    cases += verb_case(completed(*verb));
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
  const CLI::App* program = nullptr;
  std::string shell = "bash";
};

int run_completion(const CompletionArguments& arguments) {
  const std::string text = script(*arguments.program);
  std::fwrite(text.data(), 1, text.size(), stdout);
  return 0;
}

}  // namespace

void add_completion(Verb& program) {
  Verb verb = program.add_verb("completion", "Print a shell completion script");
  CompletionArguments& arguments = verb.on_run(run_completion);
  arguments.program = &program.app();
  verb.option("shell", arguments.shell, "Shell").one_of({"bash"});
  verb.examples(
      "Examples:\n"
      "  source <(trainyard-cli completion bash)\n"
      "  trainyard-cli completion bash > ~/.local/share/bash-completion/completions/trainyard-cli");
}

}  // namespace trainyard::cli
