// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/sim/verdict.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <optional>
#include <vector>

#include "core/base/units.h"

namespace trainyard::sim {
namespace {

constexpr double kSpeedTolerance = 1.05;  // smaller speedups are within the error of a prediction

std::string times(double factor) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), factor < 9.95 ? "%.1fx" : "%.0fx", factor);
  return text.data();
}

// Returns the first rank that needs more memory than its device has.
std::optional<std::size_t> too_small(const Outcome& outcome) {
  const auto found =
      std::find_if(outcome.ranks.begin(), outcome.ranks.end(),
                   [](const RankUse& use) { return use.peak_memory_bytes > use.memory_bytes; });
  if (found == outcome.ranks.end()) return std::nullopt;
  return static_cast<std::size_t>(found - outcome.ranks.begin());
}

std::string of_memory(const RankUse& use) {
  std::string needs = base::format_bytes(static_cast<double>(use.peak_memory_bytes)),
              has = base::format_bytes(static_cast<double>(use.memory_bytes));
  if (needs == has) {  // the difference is too small for rounded numbers
    needs = base::format_count(use.peak_memory_bytes) + " B";
    has = base::format_count(use.memory_bytes) + " B";
  }
  return fmt::format("{}, but the device of the rank has {}", needs, has);
}

// Returns the time that a rank spends per step on computing the model and loading input. Excludes
// encoding, which counts as communication.
double computing(const RankUse& use) {
  return use.compute_seconds + use.input_seconds - use.encoding_seconds;
}

double slowest_compute(const Outcome& outcome) {
  return computing(*std::ranges::max_element(outcome.ranks, {}, computing));
}

double most(const Outcome& outcome, double RankUse::*seconds) {
  return (*std::ranges::max_element(outcome.ranks, {}, seconds)).*seconds;
}

// A part of the step time that the plan has and one device has not, such as communication. `does`
// and `doing` name it in a sentence: "encodes gradients", "encoding gradients".
struct Cost {
  VerdictCause cause;
  double seconds;
  std::string does, doing;
};

Cost wire_part(const Bound& wire) {
  if (wire.kind == BoundKind::latency) {
    const std::string what = fmt::format("{} in sequence", base::counted(wire.rounds, "message"));
    return {VerdictCause::latency, wire.seconds, fmt::format("sends {}", what),
            fmt::format("sending {}", what)};
  }
  if (wire.kind == BoundKind::engine)
    return {VerdictCause::engine, wire.seconds, "waits for the engine", "waiting for the engine"};
  const std::string bandwidth = base::with_unit(wire.bandwidth_bits_per_second, "bit/s");
  const std::string what =
      wire.bus ? fmt::format("{} over the bus of {}",
                             base::format_bytes(static_cast<double>(wire.bytes)), bandwidth)
               : fmt::format("{} over {} links",
                             base::format_bytes(static_cast<double>(wire.bytes)), bandwidth);
  return {VerdictCause::transfer, wire.seconds, fmt::format("moves {}", what),
          fmt::format("moving {}", what)};
}

// Returns the part of the step that costs most: reducing, encoding or communication. Several parts
// may add up, so the largest one may cost less than the plan saves.
Cost largest_part(const Outcome& plan) {
  std::vector<Cost> parts{{VerdictCause::reduction, most(plan, &RankUse::adding_seconds),
                           "reduces received data", "reducing received data"},
                          {VerdictCause::encoding, most(plan, &RankUse::encoding_seconds),
                           "encodes and decodes gradients", "encoding and decoding gradients"}};
  const auto wire = std::find_if(plan.bounds.begin(), plan.bounds.end(), [](const Bound& bound) {
    return bound.kind != BoundKind::device;
  });
  if (wire != plan.bounds.end()) parts.push_back(wire_part(*wire));
  return *std::ranges::max_element(parts, {}, &Cost::seconds);
}

// A reason why a plan is not faster, and its cost per global batch.
struct SlowdownReason {
  VerdictCause cause;
  double seconds;
  std::string because;
};

// Returns the reason that some ranks run out of samples before the epoch ends, with its cost.
SlowdownReason uneven_samples_reason(const Outcome& plan) {
  return {VerdictCause::samples, plan.full_batch_seconds - plan.median_step_seconds,
          fmt::format("some ranks run out of samples before the others: a global batch takes {} "
                      "while all ranks have samples, but {} on average over an epoch",
                      base::format_seconds(plan.median_step_seconds),
                      base::format_seconds(plan.full_batch_seconds))};
}

// Returns the reason that all ranks wait for the slowest rank, with its cost. The slowest rank may
// be a straggler, have a slower device, or have more samples.
SlowdownReason straggler_reason(const Outcome& plan) {
  const auto [fastest, slowest] = std::ranges::minmax_element(plan.ranks, {}, computing);
  return {VerdictCause::straggler, computing(*slowest) - computing(*fastest),
          fmt::format("all ranks wait for rank {}, which computes for {} per step; the fastest "
                      "rank computes for {}",
                      slowest - plan.ranks.begin(), base::format_seconds(computing(*slowest)),
                      base::format_seconds(computing(*fastest)))};
}

SlowdownReason exchanges(const Outcome& plan, const Outcome& one_device) {
  const double saved = slowest_compute(one_device) - slowest_compute(plan),
               spent = plan.median_step_seconds - slowest_compute(plan);
  const Cost part = largest_part(plan);
  const std::string takes = base::format_seconds(part.seconds);
  const std::string cost =
      part.seconds * kSpeedTolerance > saved
          ? fmt::format("each step {}, which takes {}", part.does, takes)
          : fmt::format("each step spends {} on communication and waiting, {} of it {}",
                        base::format_seconds(spent), takes, part.doing);
  return {part.cause, part.seconds,
          fmt::format("{}, but saves {} of compute", cost,
                      saved > 0 ? base::format_seconds(saved) : std::string("no time"))};
}

// Returns the main reason why the plan is not faster than one device: the one that costs the most
// time.
SlowdownReason main_reason(const Outcome& plan, const Outcome& one_device) {
  const std::array reasons{exchanges(plan, one_device), uneven_samples_reason(plan),
                           straggler_reason(plan)};
  return *std::ranges::max_element(reasons, {}, &SlowdownReason::seconds);
}

// Compares the speeds of the plan and of one device, if both fit in memory. Returns the sentence of
// the verdict.
std::string compare_speed(Verdict& verdict, const Outcome& plan, const Outcome& one_device) {
  if (verdict.speedup >= kSpeedTolerance)
    return fmt::format("{} devices are {} faster than one", verdict.ranks, times(verdict.speedup));
  const SlowdownReason reason = main_reason(plan, one_device);
  verdict.cause = reason.cause;
  return verdict.speedup > 1 / kSpeedTolerance
             ? fmt::format("{} devices are no faster than one, because {}", verdict.ranks,
                           reason.because)
             : fmt::format("one device would be {} faster here, because {}",
                           times(1 / verdict.speedup), reason.because);
}

std::string comparison(Verdict& verdict, const Outcome& plan, const Outcome& one_device) {
  const auto rank = too_small(plan);
  if (rank || (verdict.ranks > 1 && too_small(one_device))) verdict.cause = VerdictCause::memory;
  if (rank)
    return fmt::format("the plan does not fit in memory: rank {} needs {}", *rank,
                       of_memory(plan.ranks[*rank]));
  if (verdict.ranks == 1)
    return fmt::format("one device takes {} per step",
                       base::format_seconds(plan.median_step_seconds));
  if (verdict.cause == VerdictCause::memory)
    return fmt::format("{} devices are needed: one device would need {}", verdict.ranks,
                       of_memory(one_device.ranks.front()));
  return compare_speed(verdict, plan, one_device);
}

}  // namespace

Verdict judge(const Outcome& plan, const Outcome& one_device) {
  const double one = one_device.full_batch_seconds, together = plan.full_batch_seconds;
  Verdict verdict;
  verdict.ranks = static_cast<int>(plan.ranks.size());
  verdict.one_device_seconds = one, verdict.step_seconds = together;
  verdict.speedup = one / together;
  verdict.sentence = comparison(verdict, plan, one_device);
  if (!plan.engine.empty())
    verdict.sentence += fmt::format(" (the time of {} is an estimate by formula)", plan.engine);
  return verdict;
}

base::Result<Verdict> judge(const plan::Plan& expanded_plan, const topology::Network& network,
                            const plan::Plan& one_device, const topology::Network& of_one_device,
                            const Options& options) {
  const auto outcome = simulate(expanded_plan, network, options);
  if (!outcome) return base::fail(outcome.error());
  Options without_events = options;
  without_events.on_event = nullptr;
  const auto alone = simulate(one_device, of_one_device, without_events);
  if (!alone) return base::fail(alone.error());
  return judge(*outcome, *alone);
}

}  // namespace trainyard::sim
