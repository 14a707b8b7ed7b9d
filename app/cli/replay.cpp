// SPDX-License-Identifier: GPL-3.0-or-later
// replay: prints the history of a run from its recording. Computes nothing again unless --recompute
// is given.
#include "core/session/replay/replay.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <ctime>

#include "app/cli/verbs.h"
#include "app/devices.h"
#include "backends/inproc/transport.h"
#include "core/base/printable.h"
#include "core/base/units.h"
#include "core/experiment/field_templates.h"
#include "core/experiment/placement.h"
#include "core/telemetry/summary.h"

namespace trainyard::cli {
namespace {

using base::Json;
using telemetry::History;
using telemetry::RecordedResult;
using telemetry::StepValue;
using telemetry::StepValues;

struct ReplayArguments {
  std::string directory;
  std::int64_t every = 0;  // steps per line; 0: about 20 lines
  bool recompute = false;
  bool json = false;
};

// An event of a run, as JSON and as text.
struct Moment {
  double seconds = 0;
  Json json;
  std::string text;
};

// Returns the value for a step in a series of values that is sorted by step; null if the series has
// no value for it.
const StepValue* at_step(const StepValues& values, std::int32_t step) {
  const auto at =
      std::lower_bound(values.begin(), values.end(), step,
                       [](const StepValue& value, std::int32_t s) { return value.step < s; });
  return at != values.end() && at->step == step ? &*at : nullptr;
}

Moment measured(const char* type, const StepValue& loss, const StepValue* accuracy) {
  const bool held_out = std::string_view(type) == "evaluation";
  const std::string prefix = held_out ? "held_out_" : "train_";
  Moment moment{loss.seconds,
                {{"type", type},
                 {"seconds", loss.seconds},
                 {"step", loss.step},
                 {prefix + "loss", loss.value}},
                ""};
  if (accuracy != nullptr) moment.json[prefix + "accuracy"] = accuracy->value;
  moment.text = "step " + base::format_count(loss.step) +
                (held_out ? "  held out: loss " : "  loss ") +
                base::number_text(loss.value, "%.4f");
  if (accuracy != nullptr)
    moment.text += "  accuracy " + base::number_text(100 * accuracy->value, "%.2f %%");
  return moment;
}

void add_steps(const History& history, std::int64_t every, std::vector<Moment>& moments) {
  const auto& losses = history.train_loss();
  const std::int64_t stride =
      every > 0 ? every
                : std::max<std::int64_t>(1, (static_cast<std::int64_t>(losses.size()) + 19) / 20);
  for (std::size_t i = 0; i < losses.size(); ++i)
    if ((static_cast<std::int64_t>(i) + 1) % stride == 0 || i + 1 == losses.size())
      moments.push_back(
          measured("step", losses[i], at_step(history.train_accuracy(), losses[i].step)));
}

void add_evaluations(const History& history, std::vector<Moment>& moments) {
  for (const StepValue& loss : history.held_out_loss())
    moments.push_back(
        measured("evaluation", loss, at_step(history.held_out_accuracy(), loss.step)));
}

void add_consensus(const History& history, std::vector<Moment>& moments) {
  for (const StepValue& distance : history.consensus_distance())
    moments.push_back({distance.seconds,
                       {{"type", "consensus"},
                        {"seconds", distance.seconds},
                        {"step", distance.step},
                        {"consensus_distance", distance.value}},
                       "step " + base::format_count(distance.step) + "  ranks are " +
                           base::number_text(distance.value, "%.4g") + " from their mean"});
}

std::string problem_text(const base::Problem& problem) {
  return (problem.where.empty() ? "" : problem.where + ": ") + problem.what +
         (problem.advice.empty() ? "" : ". " + problem.advice);
}

// Returns the seconds between two recorded times. The difference is modulo 2^64, because times in a
// damaged recording may be arbitrary.
double seconds_between(std::int64_t from_ns, std::int64_t to_ns) {
  const auto wrapped = static_cast<std::uint64_t>(to_ns) - static_cast<std::uint64_t>(from_ns);
  return static_cast<double>(static_cast<std::int64_t>(wrapped)) * 1e-9;
}

// Adds state changes. Their recorded times are nanoseconds of the clock that all ranks share;
// printed times are seconds since the first state.
void add_states(const History& history, std::vector<Moment>& moments) {
  const auto& states = history.recorded_states();
  for (std::size_t i = 0; i < states.size(); ++i) {
    const double seconds =
        seconds_between(states.front().time_ns.value_or(0), states[i].time_ns.value_or(0));
    Moment moment{seconds, {{"type", "state"}, {"seconds", seconds}}, states[i].state};
    for (const auto& [key, value] : (*history.states()[i]).items())
      if (key != "time_ns") moment.json[key] = value;
    if (states[i].problem) moment.text += ": " + problem_text(*states[i].problem);
    moments.push_back(std::move(moment));
  }
}

void add_log(const History& history, std::vector<Moment>& moments) {
  for (const telemetry::LogLine& line : history.log()) {
    const std::string who = line.rank < 0 ? "coordinator" : "rank " + std::to_string(line.rank);
    moments.push_back({line.seconds,
                       {{"type", "log"},
                        {"seconds", line.seconds},
                        {"rank", line.rank},
                        {"level", line.level},
                        {"text", line.text}},
                       who + ": " + line.text});
  }
}

std::vector<Moment> tell(const History& history, std::int64_t every) {
  std::vector<Moment> moments;
  add_states(history, moments);
  add_log(history, moments);
  add_steps(history, every, moments);
  add_evaluations(history, moments);
  add_consensus(history, moments);
  std::stable_sort(moments.begin(), moments.end(),
                   [](const Moment& a, const Moment& b) { return a.seconds < b.seconds; });
  return moments;
}

// Summarizes the recording of a run that did not report its end.
Json unfinished(const History& history) {
  const telemetry::Summary s = telemetry::summarize(history);
  Json json{{"type", "result"},
            {"status", "unfinished"},
            {"steps", s.steps},
            {"samples", s.samples},
            {"wall_seconds", s.wall_seconds},
            {"samples_per_second", s.samples_per_second}};
  json["step_seconds"] =
      s.step_seconds ? Json{{"median", s.step_seconds->median}, {"p95", s.step_seconds->p95}}
                     : Json();
  json["train_loss"] = s.train_loss ? Json(*s.train_loss) : Json();
  if (s.diverged_step) json["diverged_step"] = *s.diverged_step;
  json["held_out_accuracy"] = s.held_out_accuracy ? Json(*s.held_out_accuracy) : Json();
  return json;
}

std::string number_text(double number, const char* format) {
  return std::isnan(number) ? "not measured" : base::number_text(number, format);
}

// Returns the loss of a result. JSON has no NaN, so the loss of a run that diverged is null.
std::string loss_text(const RecordedResult& result) {
  return result.diverged_step && std::isnan(result.train_loss)
             ? "nan"
             : number_text(result.train_loss, "%.4f");
}

void print_summary(const RecordedResult& result) {
  std::printf("%s after %lld steps: loss %s, held-out accuracy %s, %s samples/s\n",
              base::printable_line(result.status).c_str(), static_cast<long long>(result.steps),
              loss_text(result).c_str(),
              number_text(100 * result.held_out_accuracy, "%.2f %%").c_str(),
              number_text(result.samples_per_second, "%.0f").c_str());
}

std::string experiment_name(const Json& header) {
  const auto name = base::value_at(header, "experiment.document.name");
  return name && name->is_string() ? name->get<std::string>() : "";
}

std::string when(const telemetry::RecordedHeader& header) {
  if (header.started_unix_seconds < 0) return "";
  const auto started = static_cast<std::time_t>(header.started_unix_seconds);
  std::tm local{};
  char text[64];
  if (::localtime_r(&started, &local) == nullptr) return "";
  return std::strftime(text, sizeof text, ", recorded %Y-%m-%d %H:%M:%S", &local) > 0 ? text : "";
}

void print_title(const History& history) {
  const std::string name = experiment_name(history.header());
  std::printf("%s%d %s%s, by version %s\n",
              name.empty() ? "" : (base::printable_line(name) + ": ").c_str(), history.ranks(),
              history.ranks() == 1 ? "rank" : "ranks", when(history.recorded_header()).c_str(),
              base::printable_line(history.recorded_header().software).c_str());
}

void print_emulation(const Json& header) {
  const auto drawn = base::value_at(header, "experiment.document.topology");
  if (!drawn) return;
  topology::Topology topology;
  base::Problems problems;
  base::read_document(*drawn, topology, "", problems);
  if (const auto note = experiment::emulation_caveat(topology); note && problems.empty())
    std::printf("EMULATED: %s\n", note->c_str());
}

// Prints which samples or feature columns each rank has, if the sharding is not iid.
void print_recorded_shards(const Json& header) {
  const auto resolved = base::value_at(header, "experiment"),
             kind = base::value_at(header, "experiment.document.data.sharding.kind");
  if (!resolved || !kind || *kind == "iid") return;
  print_shards(experiment::shards_of(*resolved));
  if (const auto known = experiment::resolved_from_json(*resolved)) print_columns(*known);
}

session::ReplayServices in_this_process() {
  return {app::make_compute, [](int ranks, std::size_t arena_bytes, int channels) {
            inproc::Options options;
            options.channels = std::max(options.channels, channels);
            return inproc::make(ranks, arena_bytes, options);
          }};
}

Json json_of(const session::ReplayResult& again) {
  Json ranks = Json::array();
  const auto note = [&](const std::string& recorded) {
    return again.compared() ? Json(recorded) : Json();
  };
  for (const auto& one : again.weights)
    ranks.push_back({{"rank", one.rank},
                     {"parameters_xxh64", one.parameters_xxh64},
                     {"recorded_xxh64", note(one.recorded_xxh64)}});
  return {{"type", "result"},
          {"status", "completed"},
          {"gradients", again.gradients},
          {"events", again.events},
          {"left_over", again.skipped_events},
          {"parameters_xxh64", again.reported_weights().parameters_xxh64},
          {"recorded_xxh64", note(again.reported_weights().recorded_xxh64)},
          {"same", again.compared() ? Json(again.same()) : Json()},
          {"ranks", ranks}};
}

void print_replayed(const session::ReplayResult& again) {
  const auto& weights = again.reported_weights();
  std::printf("replayed %s gradients in the order of %s recorded events: weights %s\n",
              base::format_count(again.gradients).c_str(), base::format_count(again.events).c_str(),
              weights.parameters_xxh64.c_str());
  if (again.skipped_events > 0)
    std::printf(
        "%s more recorded events were not replayed, because an event before them is missing\n",
        base::format_count(again.skipped_events).c_str());
  const std::string others = fmt::format(
      "different from those of the run ({}, rank {}). The run used another machine or another "
      "version.",
      weights.recorded_xxh64, weights.rank);
  std::printf("%s\n", !again.compared()
                          ? "the run did not complete, so there are no weights to compare"
                      : again.same() ? "bitwise equal to the weights of the run"
                                     : others.c_str());
}

// Replays the computation of the run. The exit code is 3 if the result differs from the recording.
int replay_computation(const ReplayArguments& arguments) {
  const auto again = session::replay_run(arguments.directory, in_this_process());
  if (!again) return complain({again.error()}, arguments.json);
  if (arguments.json) print_json(json_of(*again));
  else print_replayed(*again);
  return again->compared() && !again->same() ? 3 : 0;
}

int run_replay(const ReplayArguments& arguments) {
  if (arguments.recompute) return replay_computation(arguments);
  const auto history = load_history(arguments.directory);
  if (!history) return complain({history.error()}, arguments.json);
  Json result = history->result().is_object() ? history->result() : unfinished(*history);
  if (!history->damage().empty()) result["damage"] = history->damage();
  if (!arguments.json)
    print_title(*history), print_emulation(history->header()),
        print_recorded_shards(history->header());
  for (const Moment& moment : tell(*history, arguments.every)) {
    if (arguments.json) print_json(moment.json);
    else
      std::printf("%10s  %s\n", base::format_seconds(moment.seconds).c_str(),
                  base::printable_line(moment.text).c_str());
  }
  base::Problems ignored;  // `damage` describes them
  const RecordedResult checked = telemetry::read_result(result, ignored);
  if (arguments.json) print_json(result);
  else print_summary(checked);
  if (checked.diverged_step)
    std::fprintf(stderr, "warning: %s\n", telemetry::divergence(*checked.diverged_step).c_str());
  return 0;
}

}  // namespace

void add_replay(Verb& program) {
  Verb verb = program.add_verb("replay", "Print the events of a run from its recording");
  ReplayArguments& arguments = verb.on_run(run_replay);
  verb.option("run_directory", arguments.directory, "Run directory").required().type_name("DIR");
  verb.option("--every", arguments.every,
              "Number of steps between printed losses (default: about twenty lines)")
      .range(1, 1'000'000'000);
  verb.flag("--recompute", arguments.recompute,
            "Replay the computation of a run (parameter_server, asynchronous gossip) in the "
            "recorded order, and compare the weights; exit code 3 if they differ");
  verb.json_flag(arguments.json);
  verb.examples(
      "Examples:\n"
      "  trainyard-cli replay ~/.local/share/trainyard/runs/2025-01-31_12-00-00_digits\n"
      "  trainyard-cli replay RUN_DIRECTORY --every 1 --json\n"
      "Steps are numbered from 0, as in charts and exports. A recording that ends early (power "
      "loss, live run) is printed up to its end.");
}

}  // namespace trainyard::cli
