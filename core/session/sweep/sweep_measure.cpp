// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/session/sweep/sweep_measure.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>

#include "core/base/fields.h"
#include "core/base/file.h"
#include "core/base/machine.h"
#include "core/base/units.h"
#include "core/experiment/placement.h"
#include "core/experiment/sent_bytes.h"
#include "core/telemetry/recorded_documents.h"
#include "core/telemetry/summary.h"

namespace trainyard::session {
namespace {

namespace fs = std::filesystem;
using base::Json;
using base::ProblemCode;
using telemetry::Metric;
using telemetry::RecordedResult;

constexpr std::size_t kMaxPrinted = 16u << 20;

base::Problem not_done(const fs::path& directory, const std::string& why) {
  return {"sweep_run_failed", ProblemCode::failed, directory.string(), why, "", "See its run.log."};
}

// Returns the text of a problem: its place and its description.
std::string problem_text(const base::Problem& problem) {
  return problem.where.empty() ? problem.what : fmt::format("{}: {}", problem.where, problem.what);
}

base::Result<RecordedResult> result_of(const fs::path& run_directory) {
  const fs::path path = run_directory / "result.json";
  const auto json = base::read_json(path);
  if (!json) return base::fail(json.error());
  base::Problems problems;
  RecordedResult result = telemetry::read_result(*json, problems);
  if (problems.empty()) return result;
  base::Problem problem = std::move(problems.front());
  problem.where = fmt::format("{}: {}", path.string(), problem.where);
  problem.advice = "The file is damaged. Repeat the sweep.";
  return base::fail(std::move(problem));
}

base::Result<void> check_ended_well(const RecordedResult& result, std::int64_t steps,
                                    const fs::path& directory) {
  if (result.problem) return base::fail(not_done(directory, problem_text(*result.problem)));
  if (result.status == "completed") return {};
  return base::fail(not_done(
      directory, fmt::format("{} after {} of {} steps", result.status,
                             base::format_count(result.steps), base::format_count(steps))));
}

void take_bytes(SweepVariant& variant, const std::vector<telemetry::RecordedRank>& ranks) {
  variant.sent_bytes = variant.busiest_sent_bytes = variant.emulated_ranks = 0;
  for (const telemetry::RecordedRank& rank : ranks) {
    variant.sent_bytes += rank.sent_bytes;
    variant.busiest_sent_bytes = std::max(variant.busiest_sent_bytes, rank.sent_bytes);
    variant.emulated_ranks += rank.emulated ? 1 : 0;
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
      if (auto line = base::parse_json(std::string_view(printed).substr(begin, end - begin), "");
          line && line->is_object())
        last = std::move(*line);
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
  // The recording has mainly the fastest and the slowest of thinned steps.
  const auto is_thinned = [&](std::int32_t step) {
    return step >= history.thinning().from_step && step <= history.recording_thinned_until();
  };
  const auto read = [&](Metric metric, const auto& take) {
    for (int rank = 0; rank < history.ranks(); ++rank)
      if (const telemetry::Series* series = history.find({metric, rank, 0}))
        for (std::size_t i = 0; i < series->values.size(); ++i)
          if (series->steps[i] >= from_step && !is_thinned(series->steps[i]))
            take(steps[series->steps[i]], series->values[i]);
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
  const auto result = result_of(run_directory);
  if (!result) return base::fail(result.error());
  if (auto ok = check_ended_well(*result, sweep.steps, run_directory); !ok) return ok;
  const auto resolved =
      base::read_json(run_directory / "resolved.json").and_then(experiment::resolved_from_json);
  if (!resolved) return base::fail(resolved.error());
  const auto history = telemetry::History::load(run_directory);
  if (!history) return base::fail(history.error());
  take_bytes(variant, result->ranks);
  take_formula(variant, *resolved);
  variant.used = resolved->document.strategy.algorithm;
  variant.shared_cores_caveat =
      experiment::shared_cores_caveat(resolved->document.topology, resolved->document.run,
                                      base::usable_cores())
          .value_or("");
  if (const double simulated = result->simulated_step_seconds; simulated >= 0)
    variant.simulated_step_seconds = simulated;
  return take_steps(variant, *history, sweep.warm_up_steps, run_directory);
}

std::string failure_reason(const fs::path& run_directory, const std::string& how) {
  const Json last =
      last_json(base::read_file(run_directory / "console.log", kMaxPrinted).value_or(""));
  base::Problems ignored;
  if (const auto result = telemetry::read_result(last, ignored); result.problem)
    return problem_text(*result.problem);
  if (const auto first = base::value_at(last, "problems[0]"); first && first->is_object())
    return problem_text(*telemetry::read_result(Json{{"problem", *first}}, ignored).problem);
  return fmt::format("the coordinator ended with {} without reporting a result", how);
}

}  // namespace trainyard::session
