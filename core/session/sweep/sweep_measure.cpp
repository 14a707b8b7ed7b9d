// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/session/sweep/sweep_measure.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>

#include "core/base/file.h"
#include "core/base/json.h"
#include "core/base/machine.h"
#include "core/base/units.h"
#include "core/experiment/placement.h"
#include "core/experiment/sent_bytes.h"
#include "core/telemetry/summary.h"

namespace trainyard::session {
namespace {

namespace fs = std::filesystem;
using base::Json;
using base::ProblemCode;
using telemetry::Metric;

constexpr std::size_t kMaxPrinted = 16u << 20;

base::Problem not_done(const fs::path& directory, const std::string& why) {
  return {"sweep_run_failed", ProblemCode::failed, directory.string(), why, "", "See its run.log."};
}

std::string text_at(const Json& json, const char* key) {
  const auto at = json.is_object() ? json.find(key) : json.end();
  return at != json.end() && at->is_string() ? at->get<std::string>() : "";
}

// Returns the text of a problem: its place and its description.
std::string problem_text(const Json& problem) {
  const std::string where = text_at(problem, "where"), what = text_at(problem, "what");
  return where.empty() ? what : fmt::format("{}: {}", where, what);
}

base::Result<void> check_ended_well(const Json& result, std::int64_t steps,
                                    const fs::path& directory) {
  const std::string status = text_at(result, "status");
  if (result.contains("problem"))
    return base::fail(not_done(directory, problem_text(result["problem"])));
  if (status == "completed") return {};
  const std::int64_t done = result.value("steps", std::int64_t{0});
  return base::fail(
      not_done(directory, fmt::format("{} after {} of {} steps", status, base::format_count(done),
                                      base::format_count(steps))));
}

void take_bytes(SweepVariant& variant, const Json& ranks) {
  variant.sent_bytes = variant.busiest_sent_bytes = variant.emulated_ranks = 0;
  for (const Json& rank : ranks) {
    const auto sent = rank.value("sent_bytes", std::int64_t{0});
    variant.sent_bytes += sent;
    variant.busiest_sent_bytes = std::max(variant.busiest_sent_bytes, sent);
    variant.emulated_ranks += rank.value("emulated", false) ? 1 : 0;
  }
}

void take_formula(SweepVariant& variant, const experiment::Resolved& resolved) {
  const auto sent = experiment::sent_bytes(resolved);
  if (!sent) return;
  variant.formula_sent_bytes = variant.formula_busiest_sent_bytes = 0;
  for (const std::int64_t bytes : *sent) {
    variant.formula_sent_bytes += bytes;
    variant.formula_busiest_sent_bytes = std::max(variant.formula_busiest_sent_bytes, bytes);
  }
}

base::Result<void> take_steps(SweepVariant& variant, const telemetry::History& history,
                              std::int64_t warm_up, const fs::path& directory) {
  const FullSteps steps = full_steps(history, warm_up);
  if (steps.seconds.empty())
    return base::fail(not_done(directory, "recorded no full step after the warm-up"));
  const telemetry::StepSeconds times = telemetry::quantiles(steps.seconds);
  variant.measured_steps = std::ssize(steps.seconds);
  variant.step_samples = steps.samples;
  variant.median_step_seconds = times.median;
  variant.p95_step_seconds = times.p95;
  return {};
}

// Returns the last line of a program's output that is JSON.
Json last_json(const std::string& printed) {
  Json last;
  for (std::size_t begin = 0; begin < printed.size();) {
    const std::size_t end = std::min(printed.find('\n', begin), printed.size());
    if (printed[begin] == '{')
      if (Json line = Json::parse(printed.substr(begin, end - begin), nullptr, false);
          line.is_object())
        last = std::move(line);
    begin = end + 1;
  }
  return last;
}

}  // namespace

FullSteps full_steps(const telemetry::History& history, std::int64_t from_step) {
  struct Step {
    double seconds = 0, samples = 0;
    int reports = 0;
  };
  std::map<std::int32_t, Step> steps;
  const auto read = [&](Metric metric, const auto& take) {
    for (int rank = 0; rank < history.ranks(); ++rank)
      if (const telemetry::Series* series = history.find({metric, rank, 0}))
        for (std::size_t i = 0; i < series->values.size(); ++i)
          if (series->steps[i] >= from_step) take(steps[series->steps[i]], series->values[i]);
  };
  read(Metric::step_seconds, [](Step& step, double seconds) {
    step.seconds = std::max(step.seconds, seconds), ++step.reports;
  });
  read(Metric::samples,
       [](Step& step, double samples) { step.samples += samples, ++step.reports; });
  std::erase_if(steps,
                [&](const auto& entry) { return entry.second.reports != 2 * history.ranks(); });
  double most = 0;
  for (const auto& [number, step] : steps) most = std::max(most, step.samples);
  FullSteps full{{}, static_cast<std::int64_t>(most)};
  for (const auto& [number, step] : steps)
    if (step.samples == most) full.seconds.push_back(step.seconds);
  return full;
}

base::Result<void> measure(SweepVariant& variant, const Sweep& sweep,
                           const fs::path& run_directory) {
  const auto result = base::read_json(run_directory / "result.json");
  if (!result) return base::fail(result.error());
  if (auto ok = check_ended_well(*result, sweep.steps, run_directory); !ok) return ok;
  const auto resolved =
      base::read_json(run_directory / "resolved.json").and_then(experiment::resolved_from_json);
  if (!resolved) return base::fail(resolved.error());
  const auto history = telemetry::History::load(run_directory);
  if (!history) return base::fail(history.error());
  take_bytes(variant, result->value("ranks", Json::array()));
  take_formula(variant, *resolved);
  variant.used = resolved->document.strategy.algorithm;
  variant.shared_cores_caveat =
      experiment::shared_cores_caveat(resolved->document.topology, resolved->document.run,
                                      base::usable_cores())
          .value_or("");
  if (const auto simulated = result->find("simulated_step_seconds");
      simulated != result->end() && simulated->is_number())
    variant.simulated_step_seconds = simulated->get<double>();
  return take_steps(variant, *history, sweep.warm_up_steps, run_directory);
}

std::string failure_reason(const fs::path& run_directory, const std::string& how) {
  const Json last =
      last_json(base::read_file(run_directory / "console.log", kMaxPrinted).value_or(""));
  if (last.contains("problem")) return problem_text(last["problem"]);
  const auto problems = last.is_object() ? last.find("problems") : last.end();
  if (problems != last.end() && problems->is_array() && !problems->empty())
    return problem_text(problems->front());
  return fmt::format("the coordinator ended with {} without reporting a result", how);
}

}  // namespace trainyard::session
