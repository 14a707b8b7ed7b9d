// SPDX-License-Identifier: GPL-3.0-or-later
// validate: reports all problems of an experiment at once.
#include <fmt/core.h>

#include <algorithm>
#include <cstdio>

#include "app/cli/verbs.h"
#include "app/devices.h"
#include "core/base/fields.h"
#include "core/base/printable.h"
#include "core/base/units.h"
#include "core/base/unused_settings.h"
#include "core/experiment/compression.h"
#include "core/experiment/fields.h"
#include "core/experiment/imposed.h"
#include "core/experiment/measured_partition.h"
#include "core/experiment/multiplies.h"
#include "core/experiment/notes.h"
#include "core/experiment/placement.h"
#include "core/experiment/rank_duties.h"
#include "core/experiment/recomputation.h"
#include "core/experiment/servers.h"
#include "core/experiment/stages.h"
#include "core/experiment/swap.h"
#include "core/experiment/tensor.h"
#include "core/experiment/unused_settings.h"
#include "core/experiment/vertical.h"
#include "core/session/advice/offload_estimate.h"
#include "core/strategy/strategy.h"

namespace trainyard::cli {
namespace {

std::string in_micro_steps(const experiment::TrainingSpec& training) {
  return training.accumulation_steps == 1
             ? ""
             : fmt::format(" in {} micro-steps", base::format_count(training.accumulation_steps));
}

std::string multiplies_text(const experiment::TrainingSpec& training) {
  return training.multiplies == experiment::Multiplies::full
             ? ""
             : fmt::format(", {} multiplies", base::name_of(training.multiplies));
}

std::string summary(const experiment::Resolved& resolved) {
  const experiment::Experiment& document = resolved.document;
  return fmt::format("{}{}, {}, {}, global batch {}{}, {}{}",
                     document.name.empty() ? "" : document.name + ": ",
                     base::counted(resolved.world(), "rank"), base::name_of(document.strategy.kind),
                     base::counted(resolved.model.elements, "parameter"),
                     base::format_count(resolved.global_batch), in_micro_steps(document.training),
                     base::counted(resolved.steps, "step"), multiplies_text(document.training));
}

bool is_slowed(const topology::Device& device) {
  return device.slow_down != 1 || device.jitter != 0;
}

bool is_as_slow(const topology::Device& a, const topology::Device& b) {
  return a.slow_down == b.slow_down && a.jitter == b.jitter;
}

std::string ranks_compute_text(int first, int last, const topology::Device& device) {
  if (first == last) return fmt::format("rank {}, {}, computes ", first, device.name);
  return fmt::format("ranks {} {} {} compute ", first, last == first + 1 ? "and" : "to", last);
}

// Adds notes on slowed ranks. Consecutive ranks with the same slowdown share a note.
void add_slowed_down(const topology::Topology& topology, std::vector<std::string>& notes) {
  const topology::Network network(topology);
  const auto ranks = network.ranks();
  const auto add = [&](const std::string& who, const topology::Device& device) {
    if (is_slowed(device))
      notes.push_back(who + experiment::slow_down_line(device.slow_down, device.jitter));
  };
  for (auto from = ranks.begin(); from != ranks.end();) {
    const topology::Device& first = network.device(*from);
    const auto end = std::find_if_not(from, ranks.end(), [&](topology::DeviceId id) {
      return is_as_slow(network.device(id), first);
    });
    add(ranks_compute_text(static_cast<int>(from - ranks.begin()),
                           static_cast<int>(end - ranks.begin()) - 1, first),
        first);
    from = end;
  }
  for (const topology::DeviceId idle : network.with_role(topology::Role::idle))
    add(fmt::format("{} is idle, so this setting has no effect: ", network.device(idle).name),
        network.device(idle));
}

// True if the document names an algorithm that differs from the default of the strategy. The value
// `auto` counts as naming no algorithm.
bool asks_for_another_algorithm(const experiment::StrategySpec& strategy) {
  const auto fixed = experiment::fixed_algorithm(strategy.kind);
  return strategy.algorithm != collective::Algorithm::automatic &&
         !(fixed && strategy.algorithm == fixed->algorithm);
}

}  // namespace

std::vector<std::string> unused_setting_notes(const experiment::Experiment& given) {
  std::vector<std::string> notes;
  for (const base::UnusedSetting& unused : base::unused_settings(given))
    if (unused.path != "strategy.algorithm" || asks_for_another_algorithm(given.strategy))
      notes.push_back(to_string(unused));
  if (auto tf32 = experiment::tf32_note(given)) notes.push_back(std::move(*tf32));
  return notes;
}

namespace {

// Returns notes: caveats on the measurements of a run, and unused settings.
std::vector<std::string> validation_notes(const experiment::Experiment& given,
                                          const experiment::Resolved& resolved) {
  const experiment::Experiment& document = resolved.document;
  std::vector<std::string> notes;
  for (const experiment::Note& note : experiment::all_notes(resolved))
    notes.push_back(to_string(note));
  if (std::string chosen = chosen_algorithm(resolved); !chosen.empty())
    notes.push_back(std::move(chosen));
  if (const auto emulated = experiment::emulation_caveat(document.topology))
    notes.push_back("EMULATED: " + *emulated);
  if (document.run.links == experiment::LinkSpeed::imposed ||
      document.run.devices == experiment::DeviceSpeed::paced)
    notes.push_back(experiment::speeds_line(document.run));
  add_slowed_down(document.topology, notes);
  for (std::string& text : unused_setting_notes(given)) notes.push_back(std::move(text));
  if (experiment::is_on_several_hosts(resolved))
    notes.push_back(*experiment::tensor_split_text(resolved));
  for (std::string& text : experiment::unused_stage_settings(resolved))
    notes.push_back(std::move(text));
  if (auto text = experiment::unused_shard_group(resolved)) notes.push_back(std::move(*text));
  if (const auto savings = experiment::savings(resolved))
    notes.push_back("gradients are " + experiment::savings_line(*savings));
  if (experiment::shards_columns(resolved))
    notes.emplace_back("every rank loads only its own feature columns (vertical sharding)");
  if (const auto again = experiment::recomputation_line(resolved)) notes.push_back(*again);
  if (auto awaited = experiment::times_pending_line(document.strategy))
    notes.push_back(std::move(*awaited));
  if (experiment::offloads(document.training))
    if (const auto plan = strategy::make_plan(resolved))
      notes.push_back(*session::offload_line(resolved, *plan));
  if (const auto shared = experiment::shared_gpus_caveat(document.topology))
    notes.push_back(*shared);
  if (const auto caveat = experiment::equivalence_caveats(document)) notes.push_back(*caveat);
  if (const auto restarts = experiment::unused_restarts_line(document)) notes.push_back(*restarts);
  if (const auto softsync = experiment::softsync_line(document)) notes.push_back(*softsync);
  if (const auto turns = experiment::paced_turns_note(document, document.run.seconds_per_step))
    notes.push_back(*turns);
  return notes;
}

void print(const experiment::Resolved& resolved, const std::vector<std::string>& notes) {
  std::printf("ok: %s\n", base::printable_line(summary(resolved)).c_str());
  for (const std::string& note : notes)
    std::printf("note: %s\n", base::printable_line(note).c_str());
  print_columns(resolved);
  if (data::owns_samples(resolved.document.data.sharding)) print_shards(resolved.shards);
}

int run_validate(const ExperimentArguments& arguments) {
  std::vector<std::string> notes;
  const auto refuse = [&](const base::Problems& problems) {
    for (const std::string& note : notes)
      std::fprintf(stderr, "note: %s\n", base::printable_line(note).c_str());
    return complain(problems, arguments.json);
  };
  const auto given = load(arguments, &notes);
  if (!given) return refuse(given.error());
  const auto resolved = resolve(*given, arguments);
  if (!resolved) return refuse(resolved.error());
  if (const auto problems = memory_problems(*resolved); !problems.empty()) return refuse(problems);
  if (const auto problems = app::gpu_problems(resolved->document.topology); !problems.empty())
    return refuse(problems);
  for (std::string& note : validation_notes(*given, *resolved)) notes.push_back(std::move(note));
  if (!arguments.json) return print(*resolved, notes), 0;
  base::Json result{{"type", "result"},
                    {"status", "completed"},
                    {"name", resolved->document.name},
                    {"ranks", resolved->world()},
                    {"strategy", base::name_of(resolved->document.strategy.kind)},
                    {"parameters", resolved->model.elements},
                    {"global_batch", resolved->global_batch},
                    {"steps", resolved->steps},
                    {"multiplies", base::name_of(resolved->document.training.multiplies)},
                    {"notes", notes},
                    {"sharding", base::name_of(resolved->document.data.sharding.kind)},
                    {"samples_by_rank_and_class", resolved->shards}};
  for (const auto& [first, count] : experiment::columns_by_rank(*resolved))
    result["columns_by_rank"].push_back({{"first", first}, {"count", count}});
  add_chosen_algorithm(result, *resolved);
  print_json(result);
  return 0;
}

}  // namespace

void add_validate(Verb& program) {
  Verb verb =
      program.add_verb("validate", "Validate an experiment, and print all problems and notes");
  ExperimentArguments& arguments = verb.on_run(run_validate);
  arguments.add_to(verb);
  verb.examples(
      "Examples:\n"
      "  trainyard-cli validate experiment.json\n"
      "  trainyard-cli validate experiment.json --set training.batch_per_rank=256 --json\n"
      "Exit codes: 0 the experiment can run; 2 it cannot, and the problems are printed (further "
      "problems may appear after these are fixed); 4 the file is from a newer version.");
}

}  // namespace trainyard::cli
