// SPDX-License-Identifier: GPL-3.0-or-later
// simulate: the run on a virtual clock with the drawn speeds, compared with one device.
#include <fmt/core.h>
#include <unistd.h>

#include <cstdio>
#include <optional>

#include "app/cli/interrupts.h"
#include "app/cli/verbs.h"
#include "core/base/clock.h"
#include "core/base/json.h"
#include "core/base/machine.h"
#include "core/base/units.h"
#include "core/experiment/imposed.h"
#include "core/experiment/mesh.h"
#include "core/experiment/placement.h"
#include "core/experiment/servers.h"
#include "core/experiment/stages.h"
#include "core/experiment/tensor.h"
#include "core/session/advice/simulation_options.h"
#include "core/sim/verdict.h"
#include "core/strategy/strategy.h"

namespace trainyard::cli {

base::Result<sim::Outcome> simulate(const experiment::Resolved& resolved, std::int64_t steps,
                                    const sim::Watch& watch) {
  const auto plan = strategy::make_plan(resolved);
  if (!plan) return base::fail(plan.error());
  auto options = session::simulation_options(resolved, *plan);
  if (!options) return base::fail(options.error());
  options->steps = steps > 0 ? steps : sim::automatic_steps(*plan);
  options->watch = watch;
  return sim::simulate(*plan, topology::Network(experiment::as_imposed(resolved.document)),
                       *options);
}

namespace {

using base::Json;

struct SimulateArguments : ExperimentArguments {
  std::int64_t steps = 0;  // 0: sim::automatic_steps.
};

struct Comparison {
  double one_device_step_seconds = 0;
  sim::Verdict verdict;
};

std::optional<Comparison> compare(const experiment::Resolved& resolved, const sim::Outcome& outcome,
                                  std::int64_t steps, const sim::Watch& watch) {
  if (resolved.world() == 1) return std::nullopt;
  const auto other = simulate(experiment::on_one_device(resolved), steps, watch);
  if (!other) return std::nullopt;
  return Comparison{other->median_step_seconds, sim::judge(outcome, *other)};
}

Json rank_json(const sim::RankUse& use, std::size_t rank) {
  return {{"rank", rank},
          {"peak_memory_bytes", use.peak_memory_bytes},
          {"memory_bytes", use.memory_bytes},
          {"compute_seconds", use.compute_seconds},
          {"input_seconds", use.input_seconds},
          {"adding_seconds", use.adding_seconds},
          {"crossing_seconds", use.crossing_seconds},
          {"waiting_seconds", use.waiting_seconds},
          {"idle_fraction", use.idle_fraction}};
}

// Returns the mean staleness of gradients in the simulation. For pipeline stages it is computed by
// formula, because the order of their passes is fixed.
double mean_staleness(const experiment::Resolved& resolved, const sim::Outcome& o) {
  const auto theory = resolved.servers > 0 ? std::nullopt : experiment::staleness_theory(resolved);
  return theory ? *theory->mean : o.mean_staleness;
}

Json result_json(const experiment::Resolved& resolved, const sim::Outcome& o,
                 const std::optional<Comparison>& c) {
  Json json{{"type", "result"},
            {"status", "completed"},
            {"steps", o.steps},
            {"step_seconds", o.median_step_seconds},
            {"first_step_seconds", o.first_step_seconds}};
  json["bubble_fraction"] = o.bubble_fraction;
  if (const auto ideal = experiment::ideal_bubble_fraction(resolved))
    json["ideal_bubble_fraction"] = *ideal;
  if (!o.engine.empty()) json["engine"] = o.engine;
  json["wire_bytes"] = o.engine.empty() ? Json(o.step_wire_bytes()) : Json();
  json["ranks"] = Json::array();
  for (std::size_t rank = 0; rank < o.ranks.size(); ++rank)
    json["ranks"].push_back(rank_json(o.ranks[rank], rank));
  json["predicted"] = {{"seconds", o.predicted_seconds},
                       {"samples_per_second", o.predicted_samples_per_second},
                       {"wire_bytes", o.engine.empty() ? Json(o.predicted_wire_bytes) : Json()}};
  json["mean_staleness"] = mean_staleness(resolved, o);
  json["explanation"] = o.explain;
  json["one_device"] =
      c ? Json{{"step_seconds", c->one_device_step_seconds}, {"speedup", c->verdict.speedup}}
        : Json();
  json["verdict"] = c ? Json(c->verdict.sentence) : Json();
  json["fingerprint"] = o.fingerprint;
  return json;
}

void print(const experiment::Resolved& resolved, const sim::Outcome& o,
           const std::optional<Comparison>& c) {
  std::printf("step %s, on a virtual clock from the drawn speeds\n",
              base::format_seconds(o.median_step_seconds).c_str());
  std::printf("  why                 %s\n", o.explain.c_str());
  std::printf("  idle                %.1f %% of the time of all ranks\n", 100 * o.bubble_fraction);
  if (const auto ideal = experiment::ideal_bubble_fraction(resolved))
    std::printf(
        "  ideal idle          %.1f %% with equal stages, instant links and no optimizer step\n",
        100 * *ideal);
  if (const auto mesh = experiment::mesh_line(resolved))
    std::printf("  mesh                %s\n", mesh->c_str());
  if (const auto stages = experiment::stages_line(resolved))
    std::printf("  stages              %s\n", stages->c_str());
  if (const auto split = experiment::tensor_split_text(resolved))
    std::printf("  split               %s\n", split->c_str());
  if (o.engine.empty())
    std::printf("  sent                %s per step\n",
                base::format_bytes(static_cast<double>(o.step_wire_bytes())).c_str());
  else
    std::printf("  sent                not reported by the engine %s, whose time is an estimate\n",
                o.engine.c_str());
  for (std::size_t rank = 0; rank < o.ranks.size(); ++rank) {
    const sim::RankUse& use = o.ranks[rank];
    std::printf(
        "  rank %-3zu            %s compute, %s reduction, %s communication, %s waiting; %s of "
        "buffers\n",
        rank, base::format_seconds(use.compute_seconds).c_str(),
        base::format_seconds(use.adding_seconds).c_str(),
        base::format_seconds(use.crossing_seconds).c_str(),
        base::format_seconds(use.waiting_seconds).c_str(),
        base::format_bytes(static_cast<double>(use.peak_memory_bytes)).c_str());
  }
  if (resolved.servers > 0 || experiment::updates_each_micro_batch(resolved.document.strategy))
    std::printf("  staleness           %.2f updates, mean over all gradients\n",
                mean_staleness(resolved, o));
  std::printf(
      "  whole run           %s, %s samples/s\n", base::format_seconds(o.predicted_seconds).c_str(),
      base::format_count(static_cast<std::int64_t>(o.predicted_samples_per_second)).c_str());
  if (c) std::printf("  verdict             as drawn, %s\n", c->verdict.sentence.c_str());
  if (const auto caveat = experiment::equivalence_caveats(resolved.document))
    std::printf("  unlike one device   %s\n", caveat->c_str());
  if (const experiment::RunSpec& run = resolved.document.run;
      run.links == experiment::LinkSpeed::imposed)
    std::printf("  links               %s\n", experiment::link_speeds_line(run).c_str());
  if (const auto shared = experiment::shared_cores_caveat(
          resolved.document.topology, resolved.document.run, base::usable_cores()))
    std::printf("  on this machine     %s\n", shared->c_str());
  std::printf("  fingerprint         %s\n", o.fingerprint.c_str());
}

// Shows the progress of a long simulation on the terminal, and cancels the simulation after Ctrl-C.
class ProgressOnTerminal {
 public:
  sim::Watch watch() {
    return {stop_.get_token(), [this](double fraction) { show(fraction); }};
  }
  void clear() {
    if (shown_ns_ > 0) std::fputs("\r\033[K", stderr);
    shown_ns_ = 0;
  }

 private:
  void show(double fraction) {
    constexpr std::int64_t kDelay = 1'000'000'000, kPeriod = kDelay / 5;
    if (interrupts() > 0) stop_.request_stop();
    const std::int64_t now = base::now_nanoseconds();
    if (!on_terminal_ || now - begun_ns_ < kDelay || now - shown_ns_ < kPeriod) return;
    shown_ns_ = now;
    const auto left = sim::remaining_seconds(fraction, base::seconds(now - begun_ns_));
    std::fprintf(stderr, "\r\033[Ksimulating: %.0f %%%s", 100 * fraction,
                 left ? fmt::format(", about {} left", base::format_seconds(*left)).c_str() : "");
    std::fflush(stderr);
  }

  std::stop_source stop_;
  bool on_terminal_ = ::isatty(STDERR_FILENO) == 1;
  std::int64_t begun_ns_ = base::now_nanoseconds(), shown_ns_ = 0;
};

int run_simulate(const SimulateArguments& arguments) {
  const auto resolved = load_resolved(arguments);
  if (!resolved) return complain(resolved.error(), arguments.json);
  catch_signals();
  ProgressOnTerminal progress;
  const auto outcome = simulate(*resolved, arguments.steps, progress.watch());
  const auto text = outcome ? compare(*resolved, *outcome, arguments.steps, progress.watch())
                            : std::optional<Comparison>();
  progress.clear();
  if (!outcome) return complain({outcome.error()}, arguments.json);
  if (arguments.json) print_json(result_json(*resolved, *outcome, text));
  else print(*resolved, *outcome, text);
  return 0;
}

}  // namespace

void add_simulate(Verb& program) {
  Verb verb = program.add_verb("simulate",
                               "Simulate an experiment on a virtual clock with the drawn speeds");
  SimulateArguments& arguments = verb.on_run(run_simulate);
  arguments.add_to(verb);
  verb.option(
          "--steps", arguments.steps,
          "Number of steps to simulate; the others are predicted from them (default: 20; fewer, at "
          "least 8, if many ranks have very many ops)")
      .range(1, 1'000'000'000);
  verb.examples(
      "Examples:\n"
      "  trainyard-cli simulate resources/experiments/four_hosts_ring_digits.json\n"
      "  trainyard-cli simulate experiment.json --set training.batch_per_rank=512 --json");
}

}  // namespace trainyard::cli
