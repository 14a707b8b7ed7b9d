// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/session/sweep/sweep_text.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "core/base/json.h"
#include "core/base/units.h"

namespace trainyard::session {
namespace {

using base::format_count;
using base::Json;

std::string number(double value, const char* format) {
  char text[64];
  std::snprintf(text, sizeof text, format, value);
  return text;
}

std::string counted_ranks(std::int64_t ranks) {
  return format_count(ranks) + (ranks == 1 ? " rank" : " ranks");
}

std::string seconds_or_dash(double seconds) {
  return seconds > 0 ? base::format_seconds(seconds) : "-";
}

// Compares sent bytes with the formula: returns "equal", or the difference.
std::string against_formula(const SweepVariant& variant, const Scaled& figures) {
  if (!figures.formula_step_bytes) return "-";
  if (figures.equals_formula) return "equal";
  const std::int64_t off = variant.sent_bytes - variant.formula_sent_bytes;
  if (off != 0)
    return (off > 0 ? "+" : "-") + base::format_bytes(static_cast<double>(off > 0 ? off : -off)) +
           " in the run";
  return fmt::format("other busiest rank: {}",
                     base::format_bytes(*figures.formula_busiest_step_bytes));
}

std::string state_text(const SweepVariant& variant) {
  std::string text = variant.state == VariantState::left_out
                         ? "left out"
                         : std::string(base::name_of(variant.state));
  if (variant.state == VariantState::canceled && variant.directory.empty()) text = "not run";
  if (!variant.reason.empty()) text += ": " + variant.reason;
  if (variant.state != VariantState::done) return text;
  if (variant.emulated_ranks > 0) text += ", EMULATED";
  if (!variant.shared_cores_caveat.empty()) text += ", cores shared";
  return text;
}

std::string quoted(const std::string& text) {
  std::string inside;
  for (const char c : text) inside += c == '"' ? "\"\"" : std::string(1, c);
  return '"' + inside + '"';
}

std::string exact(double value) { return number(value, "%.17g"); }

Json or_null(const std::optional<double>& value) { return value ? Json(*value) : Json(); }

}  // namespace

std::string heading(SweepColumn column) {
  switch (column) {
    case SweepColumn::ranks: return "ranks";
    case SweepColumn::algorithm: return "algorithm";
    case SweepColumn::step: return "step";
    case SweepColumn::simulated: return "simulated";
    case SweepColumn::samples: return "samples/s";
    case SweepColumn::speed_up: return "speed-up";
    case SweepColumn::efficiency: return "efficiency";
    case SweepColumn::step_bytes: return "bytes/step";
    case SweepColumn::busiest_bytes: return "busiest rank";
    case SweepColumn::formula: return "formula";
    case SweepColumn::state: return "state";
  }
  return "";
}

std::string explanation(SweepColumn column) {
  switch (column) {
    case SweepColumn::ranks: return "Number of training ranks: the first workers of the drawing";
    case SweepColumn::algorithm:
      return "Algorithm that all-reduces the gradients; a single rank needs none";
    case SweepColumn::step:
      return "Measured median time of a full step after the warm-up, on the slowest rank of each "
             "step";
    case SweepColumn::simulated: return "Step time simulated with the drawn speeds";
    case SweepColumn::samples:
      return "Samples of a full step over all ranks, divided by the median step time";
    case SweepColumn::speed_up:
      return "Samples per second, divided by the samples per second of the baseline";
    case SweepColumn::efficiency:
      return "Speed-up divided by (ranks of the variant / ranks of the baseline)";
    case SweepColumn::step_bytes:
      return "Mean payload per step sent by all ranks together, counted by the transport";
    case SweepColumn::busiest_bytes:
      return "Mean payload per step sent by the rank that sends the most";
    case SweepColumn::formula:
      return "Comparison of the bytes sent, in total and by the busiest rank, with the algorithm's "
             "formula";
    case SweepColumn::state: return "State of the run, such as done or failed";
  }
  return "";
}

std::string series_name(const SweepVariant& variant) {
  if (variant.ranks == 1) return "";
  const std::string name(base::name_of(variant.algorithm));
  const bool chosen =
      variant.algorithm == collective::Algorithm::automatic && variant.state == VariantState::done;
  return chosen ? name + " (" + std::string(base::name_of(variant.used)) + ")" : name;
}

std::vector<std::string> row(const SweepVariant& variant, const std::optional<Scaled>& figures) {
  std::vector<std::string> cells(kSweepColumns, "-");
  const auto at = [&](SweepColumn column) -> std::string& {
    return cells[static_cast<std::size_t>(column)];
  };
  at(SweepColumn::ranks) = format_count(variant.ranks);
  if (variant.ranks > 1) at(SweepColumn::algorithm) = series_name(variant);
  at(SweepColumn::state) = state_text(variant);
  if (!figures) return cells;
  at(SweepColumn::step) = base::format_seconds(variant.median_step_seconds);
  at(SweepColumn::simulated) = seconds_or_dash(variant.simulated_step_seconds);
  at(SweepColumn::samples) = format_count(std::llround(figures->samples_per_second));
  at(SweepColumn::speed_up) = number(figures->speed_up, "%.2f");
  at(SweepColumn::efficiency) = number(100 * figures->efficiency, "%.0f %%");
  at(SweepColumn::step_bytes) = base::format_bytes(figures->step_bytes);
  at(SweepColumn::busiest_bytes) = base::format_bytes(figures->busiest_step_bytes);
  at(SweepColumn::formula) = against_formula(variant, *figures);
  return cells;
}

std::string scaling_text(const Sweep& sweep) {
  return sweep.scaling == experiment::Scaling::weak
             ? "weak scaling: constant batch per rank; the global batch grows with the number of "
               "ranks"
             : "strong scaling: the global batch of the full drawing, divided among ranks";
}

std::string baseline_text(const Sweep& sweep) {
  const auto against = baseline(sweep);
  if (!against) return "";
  const SweepVariant& one = sweep.variants[*against];
  if (one.ranks == 1) return "speed-up against 1 rank";
  return fmt::format(
      "speed-up against {} on {} (1 rank was not measured; this is the fastest variant with the "
      "fewest ranks)",
      series_name(one), counted_ranks(one.ranks));
}

std::string measurement_text(const Sweep& sweep) {
  return fmt::format("median of full steps, {} steps with {} of warm-up; evaluation off",
                     format_count(sweep.steps), format_count(sweep.warm_up_steps));
}

std::vector<std::string> caveats(const Sweep& sweep) {
  std::vector<std::string> notes;
  std::int64_t emulated = 0;
  for (const SweepVariant& one : sweep.variants) {
    emulated = std::max(emulated, one.emulated_ranks);
    if (!one.shared_cores_caveat.empty() &&
        std::ranges::find(notes, one.shared_cores_caveat) == notes.end())
      notes.push_back(one.shared_cores_caveat);
  }
  if (emulated > 0)
    notes.insert(
        notes.begin(),
        fmt::format("EMULATED: up to {} ran on the CPU, whose speed says nothing about the "
                    "drawn device",
                    counted_ranks(emulated)));
  if (!sweep.speeds.empty()) notes.push_back(sweep.speeds);
  if (!sweep.equivalence_caveat.empty()) notes.push_back(sweep.equivalence_caveat);
  if (!sweep.gossip.empty()) notes.push_back(sweep.gossip);
  return notes;
}

std::string to_csv(const Sweep& sweep) {
  std::string csv =
      "ranks,algorithm,used_algorithm,state,reason,measured_steps,step_samples,median_step_seconds,"
      "p95_step_seconds,simulated_step_seconds,samples_per_second,"
      "speed_up,efficiency,step_bytes,formula_step_bytes,busiest_rank_step_bytes,formula_busiest_"
      "rank_step_bytes,shared_cores,emulated_ranks,scaling\n";
  const auto figures = scaled(sweep);
  for (std::size_t i = 0; i < sweep.variants.size(); ++i) {
    const SweepVariant& one = sweep.variants[i];
    const auto cell = [&](const auto& value) {
      csv += "," + (figures[i] ? value(*figures[i]) : std::string());
    };
    const auto formula = [](const std::optional<double>& bytes) {
      return bytes ? exact(*bytes) : std::string();
    };
    csv += std::to_string(one.ranks) + "," +
           (one.ranks == 1 ? "" : std::string(base::name_of(one.algorithm)));
    cell([&](const Scaled&) {
      return one.ranks == 1 ? std::string() : std::string(base::name_of(one.used));
    });
    csv += "," + std::string(base::name_of(one.state)) + "," + quoted(one.reason);
    cell([&](const Scaled&) { return std::to_string(one.measured_steps); });
    cell([&](const Scaled&) { return std::to_string(one.step_samples); });
    cell([&](const Scaled&) { return exact(one.median_step_seconds); });
    cell([&](const Scaled&) { return exact(one.p95_step_seconds); });
    cell([&](const Scaled&) {
      return one.simulated_step_seconds > 0 ? exact(one.simulated_step_seconds) : std::string();
    });
    cell([](const Scaled& s) { return exact(s.samples_per_second); });
    cell([](const Scaled& s) { return exact(s.speed_up); });
    cell([](const Scaled& s) { return exact(s.efficiency); });
    cell([](const Scaled& s) { return exact(s.step_bytes); });
    cell([&](const Scaled& s) { return formula(s.formula_step_bytes); });
    cell([](const Scaled& s) { return exact(s.busiest_step_bytes); });
    cell([&](const Scaled& s) { return formula(s.formula_busiest_step_bytes); });
    csv += "," + quoted(one.shared_cores_caveat);
    cell([&](const Scaled&) { return std::to_string(one.emulated_ranks); });
    csv += "," + std::string(base::name_of(sweep.scaling)) + "\n";
  }
  return csv;
}

Json to_json(const SweepVariant& variant, const std::optional<Scaled>& figures) {
  Json json{{"ranks", variant.ranks},
            {"algorithm", variant.ranks == 1 ? Json() : Json(base::name_of(variant.algorithm))},
            {"status", base::name_of(variant.state)}};
  if (!variant.reason.empty()) json["reason"] = variant.reason;
  if (!variant.directory.empty()) json["directory"] = variant.directory;
  if (!figures) return json;
  json["used_algorithm"] = variant.ranks == 1 ? Json() : Json(base::name_of(variant.used));
  json["measured_steps"] = variant.measured_steps;
  json["step_samples"] = variant.step_samples;
  json["step_seconds"] = {{"median", variant.median_step_seconds},
                          {"p95", variant.p95_step_seconds}};
  json["simulated_step_seconds"] =
      variant.simulated_step_seconds > 0 ? Json(variant.simulated_step_seconds) : Json();
  json["samples_per_second"] = figures->samples_per_second;
  json["speed_up"] = figures->speed_up;
  json["efficiency"] = figures->efficiency;
  json["step_bytes"] = {{"all", figures->step_bytes},
                        {"busiest_rank", figures->busiest_step_bytes}};
  json["formula_step_bytes"] = {{"all", or_null(figures->formula_step_bytes)},
                                {"busiest_rank", or_null(figures->formula_busiest_step_bytes)}};
  json["bytes_as_formula"] = figures->formula_step_bytes ? Json(figures->equals_formula) : Json();
  json["emulated_ranks"] = variant.emulated_ranks;
  json["shared_cores"] =
      variant.shared_cores_caveat.empty() ? Json() : Json(variant.shared_cores_caveat);
  return json;
}

}  // namespace trainyard::session
