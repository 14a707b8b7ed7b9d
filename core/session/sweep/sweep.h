// SPDX-License-Identifier: GPL-3.0-or-later
// Manifest of a sweep: one experiment, run on several numbers of ranks with several algorithms, one
// run after another. The manifest grows while the sweep runs. This file also computes speed-up and
// other figures from it. Pure functions.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/base/field_table.h"
#include "core/base/result.h"
#include "core/experiment/variant.h"

namespace trainyard::session {

enum class VariantState { waiting, running, done, failed, canceled, left_out };
enum class SweepState { running, completed, failed, canceled };

struct SweepVariant {
  std::int64_t ranks = 1;
  // Requested all-reduce algorithm; unused on one rank.
  collective::Algorithm algorithm = collective::Algorithm::ring;
  VariantState state = VariantState::waiting;
  std::string reason;     // Reason why the variant failed or was left out.
  std::string directory;  // Run directory, relative to the sweep's directory; empty: not started.
  double began_unix_seconds = 0;  // Start time; 0: not started.
  double seconds = 0;             // Duration, including start and end of the run's processes.

  // The following values are measured, and valid if `state` is done. `used`: algorithm that ran if
  // `auto` was requested.
  collective::Algorithm used = collective::Algorithm::ring;
  std::int64_t measured_steps = 0;  // Full steps after the warm-up.
  std::int64_t step_samples = 0;    // Samples of one full step, over all ranks.
  double median_step_seconds = 0, p95_step_seconds = 0;  // Step time of the slowest rank.
  // Payload bytes sent in the full run: by all ranks, and by the rank that sent the most.
  std::int64_t sent_bytes = 0, busiest_sent_bytes = 0;
  // Payload bytes according to the algorithm's formula: of all ranks, and of the rank that sends
  // the most; -1: no formula is known.
  std::int64_t formula_sent_bytes = -1, formula_busiest_sent_bytes = -1;
  // Step time simulated with the drawn speeds; 0: not simulated.
  double simulated_step_seconds = 0;
  std::int64_t emulated_ranks = 0;
  std::string shared_cores_caveat;  // Shown beside the times; empty: each rank had its own cores.

  experiment::Variant wanted(experiment::Scaling scaling, std::int64_t steps) const {
    return {ranks, algorithm, scaling, steps};
  }
};

struct Sweep {
  std::string format = "trainyard sweep";
  std::int64_t version = 1;
  std::string name;     // Name of the experiment.
  std::string started;  // Local time, "2026-11-21 14:03:12".
  SweepState state = SweepState::running;
  experiment::Scaling scaling = experiment::Scaling::weak;
  std::int64_t steps = 50;          // Steps of each run.
  std::int64_t warm_up_steps = 10;  // Steps at the start that are not measured.
  std::int64_t drawn_ranks = 1;
  // Line that tells which drawn speeds the runs were limited to (`experiment::speeds_line`).
  std::string speeds;
  // Caveats of the experiment on all drawn ranks (`experiment::equivalence_caveats`); empty:
  // training is equivalent to one device.
  std::string equivalence_caveat;
  // For gossip: text that explains what algorithm and simulated time mean; empty for other
  // strategies.
  std::string gossip;
  std::vector<SweepVariant> variants;
  std::string xxh64;  // Checksum of this document's text with this field empty.
};

// Request of the user for a sweep. If the list of ranks is empty, it is 1, 2, 4, ... and all drawn
// ranks. If the list of algorithms is empty, it is the experiment's algorithm.
struct SweepRequest {
  std::vector<std::int64_t> ranks = {};
  std::vector<collective::Algorithm> algorithms = {};
  experiment::Scaling scaling = experiment::Scaling::weak;
  std::int64_t steps = 50;
};

// Parses "1,2,4" (ranks) or "ring,direct" (algorithms); "all" means all algorithms except auto.
// Results are sorted and unique; algorithms are in the order of their table.
base::Result<std::vector<std::int64_t>> read_ranks(const std::string& text);
base::Result<std::vector<collective::Algorithm>> read_algorithms(const std::string& text);

// Returns the default rank counts of a sweep: all powers of two below `drawn`, then `drawn`.
// `drawn`: number of ranks in the drawing.
std::vector<std::int64_t> default_ranks(std::int64_t drawn);
// Returns the default number of warm-up steps: a fifth of `steps`, but at most ten.
std::int64_t warm_up_steps(std::int64_t steps);

// Returns why no sweep is possible: more ranks than drawn, no worker, an invalid drawing, or
// one_device. Fast for any drawing.
std::optional<base::Problem> sweep_problem(const experiment::Experiment& whole,
                                           const SweepRequest& request);

// Returns all variants in the order in which they run, by ranks and then algorithm. There is only
// one variant with one rank, because a single rank reduces nothing. Variants that the drawing or
// the batch does not allow are marked as left out, with the reason. Fails if `sweep_problem`
// returns a Problem.
base::Result<Sweep> make_sweep(const experiment::Experiment& whole, const SweepRequest& request);

// Figures of a finished variant, such as speed-up and efficiency. They use the median step time,
// because a mean would include other load of this machine.
struct Scaled {
  double samples_per_second = 0;
  double speed_up = 0;    // samples/s relative to the baseline.
  double efficiency = 0;  // Speed-up / (ranks / ranks of the baseline).
  // Mean payload bytes per step: sent by all ranks, and by the rank that sends the most.
  double step_bytes = 0, busiest_step_bytes = 0;
  std::optional<double> formula_step_bytes, formula_busiest_step_bytes;
  bool equals_formula = false;  // True if total and busiest rank equal the formula exactly.
};

// Returns the baseline of speed-ups: the fastest of the finished variants with the fewest ranks.
// Nothing while none has finished.
std::optional<std::size_t> baseline(const Sweep& sweep);
std::vector<std::optional<Scaled>> scaled(const Sweep& sweep);  // Figures by variant.

struct SweepProgress {
  // Number of runs of the sweep, and number of runs that have ended. Variants that were left out do
  // not count.
  std::int64_t runs = 0, over = 0;
  std::optional<std::size_t> running;  // Index of the variant.
  // Remaining time, estimated from the duration of finished runs; nothing while no run has
  // finished.
  std::optional<double> seconds_left;
};
SweepProgress progress(const Sweep& sweep, double now_unix_seconds);

}  // namespace trainyard::session

template <>
struct trainyard::base::Names<trainyard::session::VariantState> {
  using S = trainyard::session::VariantState;
  static constexpr std::pair<S, std::string_view> table[] = {
      {S::waiting, "waiting"}, {S::running, "running"},    {S::done, "done"},
      {S::failed, "failed"},   {S::canceled, "cancelled"}, {S::left_out, "left_out"}};
};
template <>
struct trainyard::base::Names<trainyard::session::SweepState> {
  using S = trainyard::session::SweepState;
  static constexpr std::pair<S, std::string_view> table[] = {{S::running, "running"},
                                                             {S::completed, "completed"},
                                                             {S::failed, "failed"},
                                                             {S::canceled, "cancelled"}};
};
template <>
struct trainyard::base::Fields<trainyard::session::SweepVariant> {
  using V = trainyard::session::SweepVariant;
  static constexpr std::string_view title = "Sweep variant";
  static auto table() {
    return std::tuple{
        base::field("ranks", &V::ranks, "ranks", {1, 1e6}, "Number of ranks that train"),
        base::field("algorithm", &V::algorithm, "", {}, "Requested all-reduce algorithm"),
        base::field("state", &V::state, "", {}, "State of the variant"),
        base::field("reason", &V::reason, "", {0, 10000},
                    "Reason why the variant failed or was left out"),
        base::field("directory", &V::directory, "", {0, 255},
                    "Run directory, relative to the sweep directory; empty: not started"),
        base::field("began_unix_seconds", &V::began_unix_seconds, "s", {0, 1e12},
                    "Start time of the run; 0: not started"),
        base::field("seconds", &V::seconds, "s", {0, 1e12},
                    "Duration of the run, including the start and the end of its processes"),
        base::field("used", &V::used, "", {}, "All-reduce algorithm that the run used"),
        base::field("measured_steps", &V::measured_steps, "steps", {0, 1e12},
                    "Number of full steps after the warm-up"),
        base::field("step_samples", &V::step_samples, "samples", {0, 1e12},
                    "Number of samples of a full step, over all ranks"),
        base::field("median_step_seconds", &V::median_step_seconds, "s", {0, 1e12},
                    "Median of the measured step times"),
        base::field("p95_step_seconds", &V::p95_step_seconds, "s", {0, 1e12},
                    "95th percentile of the measured step times"),
        base::field("sent_bytes", &V::sent_bytes, "B", {0, 9e15},
                    "Payload sent by all ranks during the run"),
        base::field("busiest_sent_bytes", &V::busiest_sent_bytes, "B", {0, 9e15},
                    "Payload sent by the rank that sent the most"),
        base::field("formula_sent_bytes", &V::formula_sent_bytes, "B", {-1, 9e15},
                    "Payload sent by all ranks, by formula; -1: no formula is known"),
        base::field(
            "formula_busiest_sent_bytes", &V::formula_busiest_sent_bytes, "B", {-1, 9e15},
            "Payload sent by the rank that sends the most, by formula; -1: no formula is known"),
        base::field("simulated_step_seconds", &V::simulated_step_seconds, "s", {0, 1e12},
                    "Step time simulated from the drawn speeds; 0: not simulated"),
        base::field("emulated_ranks", &V::emulated_ranks, "ranks", {0, 1e6},
                    "Number of ranks that ran on another device than the drawn one"),
        base::field(
            "shared_cores", &V::shared_cores_caveat, "", {0, 1000},
            "Caveat on the step times if ranks shared cores; empty: each rank had its own cores")};
  }
};
template <>
struct trainyard::base::Fields<trainyard::session::Sweep> {
  using S = trainyard::session::Sweep;
  static constexpr std::string_view title = "Sweep";
  static auto table() {
    return std::tuple{
        base::field("format", &S::format, "", {}, "File format"),
        base::field("version", &S::version, "", {1, 1}, "Version of the file format"),
        base::field("name", &S::name, "", {0, 200}, "Name of the experiment"),
        base::field("started", &S::started, "", {0, 100}, "Start of the sweep, local time"),
        base::field("state", &S::state, "", {}, "State of the sweep"),
        base::field("scaling", &S::scaling, "", {},
                    "Scaling; weak: constant batch per rank; strong: constant global batch"),
        base::field("steps", &S::steps, "steps", {1, 1e9}, "Number of steps of each run"),
        base::field("warm_up_steps", &S::warm_up_steps, "steps", {0, 1e9},
                    "Number of warm-up steps at the start of each run, which are not measured"),
        base::field("drawn_ranks", &S::drawn_ranks, "ranks", {1, 1e6},
                    "Number of ranks in the drawing"),
        base::field("speeds", &S::speeds, "", {0, 1000},
                    "Drawn speeds to which the runs were limited"),
        base::field(
            "unlike", &S::equivalence_caveat, "", {0, 1000},
            "Reason why the training is not equivalent to one device; empty: it is equivalent"),
        base::field(
            "gossip", &S::gossip, "", {0, 1000},
            "Meaning of algorithm and simulated time for gossip; empty for other strategies"),
        base::field("variants", &S::variants, "", {1, 10000}, "Variants, in execution order"),
        base::field("xxh64", &S::xxh64, "", {16, 16},
                    "Checksum of this document with this field empty, hexadecimal")};
  }
};
