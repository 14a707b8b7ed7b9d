// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/sim/verdict.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <optional>
#include <vector>

#include "core/base/units.h"

namespace trainyard::sim {
namespace {

constexpr double kAsFast = 1.05;  // smaller factors are within the error of a prediction

std::string times(double factor) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), factor < 9.95 ? "%.1fx" : "%.0fx", factor);
  return text.data();
}

// Returns the first rank that does not fit its device's memory.
std::optional<std::size_t> too_small(const Outcome& outcome) {
  const auto found =
      std::find_if(outcome.ranks.begin(), outcome.ranks.end(),
                   [](const RankUse& use) { return use.peak_memory_bytes > use.memory_bytes; });
  if (found == outcome.ranks.end()) return std::nullopt;
  return static_cast<std::size_t>(found - outcome.ranks.begin());
}

std::string of_memory(const RankUse& use) {
  return base::format_bytes(static_cast<double>(use.peak_memory_bytes)) + " of the " +
         base::format_bytes(static_cast<double>(use.memory_bytes)) + " that its device has";
}

// Returns compute seconds of the model, without encoding, which is a cost of communication.
double computing(const RankUse& use) {
  return use.compute_seconds + use.input_seconds - use.encoding_seconds;
}

double slowest_compute(const Outcome& outcome) {
  return computing(*std::ranges::max_element(outcome.ranks, {}, computing));
}

double most(const Outcome& outcome, double RankUse::*seconds) {
  return (*std::ranges::max_element(outcome.ranks, {}, seconds)).*seconds;
}

// One cost of distributing, in two grammatical forms: "moves 610 kB over 1 Gbit/s links" and
// "moving ...".
struct Cost {
  double seconds;
  std::string does, doing;
};

Cost wire_part(const Bound& wire) {
  if (wire.kind == BoundKind::latency) {
    const std::string what = base::format_count(wire.rounds) + " messages one after another";
    return {wire.seconds, "sends " + what, "sending " + what};
  }
  if (wire.kind == BoundKind::engine)
    return {wire.seconds, "waits for the engine", "waiting for the engine"};
  const std::string bandwidth = base::with_unit(wire.bandwidth_bits_per_second, "bit/s");
  const std::string what =
      base::format_bytes(static_cast<double>(wire.bytes)) +
      (wire.bus ? " over the bus of " + bandwidth : " over " + bandwidth + " links");
  return {wire.seconds, "moves " + what, "moving " + what};
}

// Transfer, latency, summing and encoding may be sequential, so a single cost may be less than what
// was saved.
Cost largest_part(const Outcome& plan) {
  std::vector<Cost> parts{
      {most(plan, &RankUse::adding_seconds), "adds up what arrives", "adding up what arrives"},
      {most(plan, &RankUse::encoding_seconds), "encodes what it sends and decodes what arrives",
       "encoding what is sent and decoding what arrives"}};
  const auto wire = std::find_if(plan.bounds.begin(), plan.bounds.end(), [](const Bound& bound) {
    return bound.kind != BoundKind::device;
  });
  if (wire != plan.bounds.end()) parts.push_back(wire_part(*wire));
  return *std::ranges::max_element(parts, {}, &Cost::seconds);
}

// A reason why a plan is not faster, and its cost per global batch.
struct Reason {
  double seconds;
  std::string because;
};

// Some ranks run out of samples before the epoch ends.
Reason runs_out(const Outcome& plan) {
  return {plan.full_batch_seconds - plan.median_step_seconds,
          "ranks run out of samples: a global batch takes " +
              base::format_seconds(plan.median_step_seconds) + " while all have some, " +
              base::format_seconds(plan.full_batch_seconds) + " over an epoch"};
}

// All ranks wait for the slowest: a straggler, a slower device, or one with more samples.
Reason waits_for_one(const Outcome& plan) {
  const auto [fastest, slowest] = std::ranges::minmax_element(plan.ranks, {}, computing);
  return {computing(*slowest) - computing(*fastest),
          "all wait for rank " + std::to_string(slowest - plan.ranks.begin()) +
              ", which computes for " + base::format_seconds(computing(*slowest)) +
              " of each step; the fastest rank for " + base::format_seconds(computing(*fastest))};
}

Reason exchanges(const Outcome& plan, const Outcome& one_device) {
  const double saved = slowest_compute(one_device) - slowest_compute(plan),
               spent = plan.median_step_seconds - slowest_compute(plan);
  const Cost part = largest_part(plan);
  const std::string takes = base::format_seconds(part.seconds);
  const std::string cost = part.seconds * kAsFast > saved
                               ? "each step " + part.does + ", " + takes
                               : "each step spends " + base::format_seconds(spent) +
                                     " on more than computing, " + takes + " of it " + part.doing;
  return {part.seconds, cost + ", against " +
                            (saved > 0 ? base::format_seconds(saved) : std::string("no time")) +
                            " of compute saved"};
}

// Returns the most expensive reason.
std::string because(const Outcome& plan, const Outcome& one_device) {
  const std::array reasons{exchanges(plan, one_device), runs_out(plan), waits_for_one(plan)};
  return ", because " + std::ranges::max_element(reasons, {}, &Reason::seconds)->because;
}

std::string comparison(const Verdict& verdict, const Outcome& plan, const Outcome& one_device) {
  if (const auto rank = too_small(plan))
    return "this does not fit: rank " + std::to_string(*rank) + " needs " +
           of_memory(plan.ranks[*rank]);
  if (verdict.ranks == 1)
    return "one device takes " + base::format_seconds(plan.median_step_seconds) + " a step";
  const std::string devices = std::to_string(verdict.ranks) + " devices";
  if (too_small(one_device))
    return devices + " are needed: one would need " + of_memory(one_device.ranks.front());
  if (verdict.speedup >= kAsFast)
    return devices + " are " + times(verdict.speedup) + " faster than one";
  if (verdict.speedup > 1 / kAsFast)
    return devices + " are no faster than one" + because(plan, one_device);
  return "one device would be " + times(1 / verdict.speedup) + " faster here" +
         because(plan, one_device);
}

std::string sentence(const Verdict& verdict, const Outcome& plan, const Outcome& one_device) {
  return comparison(verdict, plan, one_device) +
         (plan.engine.empty() ? "" : " (what " + plan.engine + " takes is an estimate)");
}

}  // namespace

Verdict judge(const Outcome& plan, const Outcome& one_device) {
  const double one = one_device.full_batch_seconds, together = plan.full_batch_seconds;
  Verdict verdict{static_cast<int>(plan.ranks.size()), one, together, one / together, ""};
  verdict.sentence = sentence(verdict, plan, one_device);
  return verdict;
}

base::Result<Verdict> judge(const plan::Plan& expanded_plan, const topology::Network& network,
                            const plan::Plan& one_device, const topology::Network& of_one_device,
                            const Options& options) {
  const auto outcome = simulate(expanded_plan, network, options);
  if (!outcome) return base::fail(outcome.error());
  Options quiet = options;
  quiet.on_event = nullptr;
  const auto alone = simulate(one_device, of_one_device, quiet);
  if (!alone) return base::fail(alone.error());
  return judge(*outcome, *alone);
}

}  // namespace trainyard::sim
