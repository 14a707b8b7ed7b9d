// SPDX-License-Identifier: GPL-3.0-or-later
// A sweep: one experiment, run for real on several numbers of ranks by several algorithms, one
// after the other. This is its manifest, which grows while it runs, and the figures that follow
// from it. Pure.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/base/field_table.h"
#include "core/base/result.h"
#include "core/experiment/variant.h"

namespace trainyard::session {

enum class VariantState { waiting, running, done, failed, cancelled, left_out };
enum class SweepState { running, completed, failed, cancelled };

struct SweepVariant {
  std::int64_t ranks = 1;
  collective::Algorithm algorithm =
      collective::Algorithm::ring;  // as asked for; of no matter for one rank
  VariantState state = VariantState::waiting;
  std::string reason;             // why it failed or was left out
  std::string directory;          // of its run, in that of the sweep; empty: none began
  double began_unix_seconds = 0;  // 0: it has not begun
  double seconds = 0;             // that it took, start and end of its processes included

  // Measured, where it is done.
  collective::Algorithm used = collective::Algorithm::ring;  // what `auto` became
  std::int64_t measured_steps = 0;                           // full ones after the warm-up
  std::int64_t step_samples = 0;                             // of one of them, over all ranks
  double median_step_seconds = 0, p95_step_seconds = 0;      // of a step's slowest rank
  std::int64_t sent_bytes = 0,
               busiest_sent_bytes =
                   0;  // payload of the whole run: of all ranks, and of the one that sent most
  std::int64_t formula_sent_bytes = -1,
               formula_busiest_sent_bytes = -1;  // the same by formula; -1: none is known
  double simulated_step_seconds = 0;             // from the drawn speeds; 0: not simulated
  std::int64_t emulated_ranks = 0;
  std::string shared_cores;  // what to say beside its times; empty: each rank had its own

  experiment::Variant wanted(experiment::Scaling scaling, std::int64_t steps) const {
    return {ranks, algorithm, scaling, steps};
  }
};

struct Sweep {
  std::string format = "trainyard sweep";
  std::int64_t version = 1;
  std::string name;     // of the experiment
  std::string started;  // local time, "2026-11-21 14:03:12"
  SweepState state = SweepState::running;
  experiment::Scaling scaling = experiment::Scaling::weak;
  std::int64_t steps = 50;          // of each run
  std::int64_t warm_up_steps = 10;  // the first, which no figure counts
  std::int64_t drawn_ranks = 1;
  std::string speeds;  // what of the drawn speeds held: experiment::speeds_said
  std::string unlike;  // experiment::unlike_one_device of the whole drawing; empty: nothing to say
  std::string gossip;  // what algorithm and simulated time mean where neighbours average; empty:
                       // they do not
  std::vector<SweepVariant> variants;
  std::string xxh64;  // of this document's text with this field empty
};

// What a person asks for. Empty lists: 1, 2, 4, ... and all drawn ranks; the experiment's own
// algorithm.
struct SweepWish {
  std::vector<std::int64_t> ranks = {};
  std::vector<collective::Algorithm> algorithms = {};
  experiment::Scaling scaling = experiment::Scaling::weak;
  std::int64_t steps = 50;
};

// "1,2,4" and "ring,direct"; "all" are all algorithms but auto. Ascending, each once; algorithms in
// the order of their table.
base::Result<std::vector<std::int64_t>> read_ranks(const std::string& text);
base::Result<std::vector<collective::Algorithm>> read_algorithms(const std::string& text);

std::vector<std::int64_t> usual_ranks(std::int64_t drawn);  // 1, 2, 4, ... and all that are drawn
std::int64_t warm_up_steps(std::int64_t steps);             // a fifth of them, ten at most

// Why no sweep can be made: more ranks than are drawn, no worker, a bad drawing, or one_device.
// Quick, whatever the drawing.
std::optional<base::Problem> unsweepable(const experiment::Experiment& whole,
                                         const SweepWish& wish);

// All variants in the order in which they run, by ranks and then algorithm; one rank is run once,
// for it reduces nothing. Those that no drawing or batch allows are left out, with the reason.
// Fails where it is unsweepable.
base::Result<Sweep> make_sweep(const experiment::Experiment& whole, const SweepWish& wish);

// Of a variant that is done. By the median step: a mean would count whatever else this machine did.
struct Scaled {
  double samples_per_second = 0;
  double speed_up = 0;                            // samples/s over those of the baseline
  double efficiency = 0;                          // speed-up over (ranks / ranks of the baseline)
  double step_bytes = 0, busiest_step_bytes = 0;  // payload sent in a step, the mean over the run
  std::optional<double> formula_step_bytes, formula_busiest_step_bytes;
  bool as_formula = false;  // both are those of the formula, to the byte
};

// Speed-up is measured against the done variant of fewest ranks - one, where that was run - and the
// fastest of those. Nothing while none is done.
std::optional<std::size_t> baseline(const Sweep& sweep);
std::vector<std::optional<Scaled>> scaled(const Sweep& sweep);  // by variant

struct SweepProgress {
  std::int64_t runs = 0, over = 0;     // those left out are no runs
  std::optional<std::size_t> running;  // the variant
  std::optional<double> seconds_left;  // by how long the others took; nothing while none is over
};
SweepProgress progress(const Sweep& sweep, double now_unix_seconds);

}  // namespace trainyard::session

template <>
struct trainyard::base::Names<trainyard::session::VariantState> {
  using S = trainyard::session::VariantState;
  static constexpr std::pair<S, std::string_view> table[] = {
      {S::waiting, "waiting"}, {S::running, "running"},     {S::done, "done"},
      {S::failed, "failed"},   {S::cancelled, "cancelled"}, {S::left_out, "left_out"}};
};
template <>
struct trainyard::base::Names<trainyard::session::SweepState> {
  using S = trainyard::session::SweepState;
  static constexpr std::pair<S, std::string_view> table[] = {{S::running, "running"},
                                                             {S::completed, "completed"},
                                                             {S::failed, "failed"},
                                                             {S::cancelled, "cancelled"}};
};
template <>
struct trainyard::base::Fields<trainyard::session::SweepVariant> {
  using V = trainyard::session::SweepVariant;
  static constexpr std::string_view title = "Variant of a sweep";
  static auto table() {
    return std::tuple{
        base::field("ranks", &V::ranks, "ranks", {1, 1e6}, "Ranks that train"),
        base::field("algorithm", &V::algorithm, "", {}, "All-reduce algorithm that was asked for"),
        base::field("state", &V::state, "", {}, "What became of it"),
        base::field("reason", &V::reason, "", {0, 10000}, "Why it failed or was left out"),
        base::field("directory", &V::directory, "", {0, 255}, "Of its run, in that of the sweep"),
        base::field("began_unix_seconds", &V::began_unix_seconds, "s", {0, 1e12},
                    "When its run began; 0: it has not"),
        base::field("seconds", &V::seconds, "s", {0, 1e12}, "That its run took"),
        base::field("used", &V::used, "", {}, "Algorithm that it used"),
        base::field("measured_steps", &V::measured_steps, "steps", {0, 1e12},
                    "Full steps after the warm-up"),
        base::field("step_samples", &V::step_samples, "samples", {0, 1e12},
                    "Of a full step, over all ranks"),
        base::field("median_step_seconds", &V::median_step_seconds, "s", {0, 1e12},
                    "Median over the measured steps"),
        base::field("p95_step_seconds", &V::p95_step_seconds, "s", {0, 1e12},
                    "95 % of the measured steps took no longer"),
        base::field("sent_bytes", &V::sent_bytes, "B", {0, 9e15},
                    "Payload that all ranks sent in the whole run"),
        base::field("busiest_sent_bytes", &V::busiest_sent_bytes, "B", {0, 9e15},
                    "Of the rank that sent most"),
        base::field("formula_sent_bytes", &V::formula_sent_bytes, "B", {-1, 9e15},
                    "The same by formula; -1: none is known"),
        base::field("formula_busiest_sent_bytes", &V::formula_busiest_sent_bytes, "B", {-1, 9e15},
                    "Of the rank that sends most by formula"),
        base::field("simulated_step_seconds", &V::simulated_step_seconds, "s", {0, 1e12},
                    "From the drawn speeds; 0: not simulated"),
        base::field("emulated_ranks", &V::emulated_ranks, "ranks", {0, 1e6},
                    "That ran on another device than the drawn one"),
        base::field("shared_cores", &V::shared_cores, "", {0, 1000},
                    "What belongs beside its times")};
  }
};
template <>
struct trainyard::base::Fields<trainyard::session::Sweep> {
  using S = trainyard::session::Sweep;
  static constexpr std::string_view title = "Sweep";
  static auto table() {
    return std::tuple{
        base::field("format", &S::format, "", {}, "What this file is"),
        base::field("version", &S::version, "", {1, 1}, "Of this format"),
        base::field("name", &S::name, "", {0, 200}, "Of the experiment"),
        base::field("started", &S::started, "", {0, 100}, "Local time"),
        base::field("state", &S::state, "", {}, "What became of it"),
        base::field("scaling", &S::scaling, "", {},
                    "weak: a batch per rank that stays; strong: a global batch that stays"),
        base::field("steps", &S::steps, "steps", {1, 1e9}, "Of each run"),
        base::field("warm_up_steps", &S::warm_up_steps, "steps", {0, 1e9},
                    "The first, which no figure counts"),
        base::field("drawn_ranks", &S::drawn_ranks, "ranks", {1, 1e6}, "Of the drawing"),
        base::field("speeds", &S::speeds, "", {0, 1000}, "What of the drawn speeds held"),
        base::field("unlike", &S::unlike, "", {0, 1000},
                    "Why it is not the training of one device"),
        base::field("gossip", &S::gossip, "", {0, 1000},
                    "What is of another meaning where neighbours average"),
        base::field("variants", &S::variants, "", {1, 10000}, "In the order in which they run"),
        base::field("xxh64", &S::xxh64, "", {16, 16},
                    "Checksum of this document with this field empty, hexadecimal")};
  }
};
