// SPDX-License-Identifier: GPL-3.0-or-later
// validate: everything that is wrong with an experiment, at once.
#include <cstdio>

#include "app/cli/verbs.h"
#include "core/base/units.h"
#include "core/experiment/fields.h"
#include "core/experiment/placement.h"
#include "core/experiment/vertical.h"

namespace trainyard::cli {
namespace {

std::string in_micro_steps(const experiment::TrainingSpec& training) {
  return training.accumulation_steps == 1 ? "" : " in " + base::format_count(training.accumulation_steps) + " micro-steps";
}

std::string in_bfloat16(const experiment::TrainingSpec& training) {
  return training.multiplies == experiment::Multiplies::bfloat16 ? ", bfloat16 multiplies" : "";
}

std::string summary(const experiment::Resolved& resolved) {
  const experiment::Experiment& document = resolved.document;
  const auto count = [](std::int64_t value) { return base::format_count(value); };
  return (document.name.empty() ? "" : document.name + ": ") + count(resolved.world()) + (resolved.world() == 1 ? " rank, " : " ranks, ") +
         std::string(base::name_of(document.strategy.kind)) + ", " + count(resolved.model.elements) + " parameters, global batch " +
         count(resolved.global_batch) + in_micro_steps(document.training) + ", " + count(resolved.steps) + " steps" + in_bfloat16(document.training);
}

void print(const experiment::Resolved& resolved) {
  std::printf("ok: %s\n", summary(resolved).c_str());
  if (const std::string chosen = chosen_algorithm(resolved); !chosen.empty()) std::printf("note: %s\n", chosen.c_str());
  if (const auto emulated = experiment::emulation_said(resolved.document.topology)) std::printf("note: EMULATED: %s\n", emulated->c_str());
  if (experiment::shares_columns(resolved)) std::printf("note: every rank loads its own feature columns alone (vertical sharding)\n");
  print_columns(resolved);
  const auto unlike = experiment::unlike_one_device(resolved.document);
  if (!unlike) return;
  std::printf("note: %s\n", unlike->c_str());
  print_shards(resolved.shards);
}

int run(const ExperimentArguments& arguments) {
  const auto resolved = load_resolved(arguments);
  if (!resolved) return complain(resolved.error(), arguments.json);
  if (!arguments.json) return print(*resolved), 0;
  base::Json result{{"type", "result"},
                    {"status", "completed"},
                    {"name", resolved->document.name},
                    {"ranks", resolved->world()},
                    {"strategy", base::name_of(resolved->document.strategy.kind)},
                    {"parameters", resolved->model.elements},
                    {"global_batch", resolved->global_batch},
                    {"steps", resolved->steps},
                    {"multiplies", base::name_of(resolved->document.training.multiplies)},
                    {"sharding", base::name_of(resolved->document.data.sharding.kind)},
                    {"samples_by_rank_and_class", resolved->shards}};
  for (const auto& [first, count] : experiment::columns_by_rank(*resolved)) result["columns_by_rank"].push_back({{"first", first}, {"count", count}});
  add_chosen_algorithm(result, *resolved);
  print_json(result);
  return 0;
}

}  // namespace

void add_validate(Verb& program) {
  Verb verb = program.add_verb("validate", "Say everything that is wrong with an experiment");
  ExperimentArguments& arguments = verb.on_run(run);
  arguments.add_to(verb);
  verb.examples(
      "Examples:\n"
      "  trainyard-cli validate experiment.json\n"
      "  trainyard-cli validate experiment.json --set training.batch_per_rank=256 --json\n"
      "Exit codes: 0 it can run; 2 it cannot, and every problem was said; 4 a newer version wrote it.");
}

}  // namespace trainyard::cli
