// SPDX-License-Identifier: GPL-3.0-or-later
// manual: prints the table of contents, a page or a section of the manual.
#include "core/manual/manual.h"

#include <algorithm>
#include <cstdio>

#include "app/cli/verbs.h"
#include "app/paths.h"
#include "core/base/json.h"

namespace trainyard::cli {
namespace {

struct ManualArguments {
  std::string topic;
  bool json = false;
};

std::string topic_of(const std::string& file) { return file.substr(0, file.rfind(".md")); }

void print_contents(const manual::Manual& manual) {
  std::size_t width = 0;
  for (const manual::Page& page : manual.pages())
    width = std::max(width, topic_of(page.file).size());
  for (const manual::ContentsGroup& group : manual.contents()) {
    std::printf("%s\n", group.title.c_str());
    for (const std::string& file : group.files)
      std::printf("  %-*s  %s\n", static_cast<int>(width), topic_of(file).c_str(),
                  manual.page(file)->title.c_str());
  }
  std::printf(
      "\ntrainyard-cli manual TOPIC prints a page, or the section of a verb, a strategy, an "
      "algorithm, a field or a value.\n");
}

void print_json_contents(const manual::Manual& manual) {
  base::Json topics = base::Json::array();
  for (const manual::ContentsGroup& group : manual.contents())
    for (const std::string& file : group.files) {
      print_json({{"type", "page"},
                  {"topic", topic_of(file)},
                  {"title", manual.page(file)->title},
                  {"group", group.title}});
      topics.push_back(topic_of(file));
    }
  print_json({{"type", "result"}, {"status", "completed"}, {"topics", topics}});
}

int print_topic(const manual::Manual& manual, const ManualArguments& arguments) {
  const auto place = manual.find(arguments.topic);
  if (!place) return complain({place.error()}, arguments.json);
  const manual::Page& page = *manual.page(place->file);
  const manual::Section* section = page.section(place->slug);
  std::string text = manual.text(*place);
  text.resize(text.find_last_not_of('\n') + 1);
  if (arguments.json)
    print_json({{"type", "result"},
                {"status", "completed"},
                {"topic", manual::to_string(*place)},
                {"title", section ? section->title : page.title},
                {"text", text}});
  else std::printf("%s\n", text.c_str());
  if (!arguments.json && !place->word.empty())
    std::printf("\nMore: trainyard-cli manual %s#%s\n", topic_of(page.file).c_str(),
                place->slug.c_str());
  return 0;
}

int run_manual(const ManualArguments& arguments) {
  const auto manual = manual::Manual::load(app::manual_directory());
  if (!manual) return complain({manual.error()}, arguments.json);
  if (!arguments.topic.empty()) return print_topic(*manual, arguments);
  if (arguments.json) print_json_contents(*manual);
  else print_contents(*manual);
  return 0;
}

}  // namespace

void add_manual(Verb& program) {
  Verb verb =
      program.add_verb("manual", "Print the manual: its table of contents, a page or a section");
  ManualArguments& arguments = verb.on_run(run_manual);
  verb.option("topic", arguments.topic,
              "Page, PAGE#SECTION, title, verb, strategy, algorithm, field or value");
  verb.json_flag(arguments.json);
  verb.examples(
      "Examples:\n"
      "  trainyard-cli manual\n"
      "  trainyard-cli manual pipeline_parallel\n"
      "  trainyard-cli manual memory#memory-advice\n"
      "  trainyard-cli manual training.optimizer.learning_rate | less");
}

}  // namespace trainyard::cli
