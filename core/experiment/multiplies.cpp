// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/experiment/multiplies.h"

#include <fmt/core.h>

#include "core/experiment/fields.h"
#include "core/experiment/precision.h"

namespace trainyard::experiment {
namespace {

using base::Problem;
using base::ProblemCode;

std::string text(Multiplies multiplies) { return std::string(base::name_of(multiplies)); }

Problem fp64_problem(Multiplies asked) {
  return {"multiplies_with_fp64",
          ProblemCode::bad_input,
          "training.multiplies",
          fmt::format("{} sums in fp32, but training.precision is fp64", text(asked)),
          "full or auto with fp64",
          "Set training.precision to fp32, or training.multiplies to full."};
}

Problem in_mixed(Multiplies asked, Precision precision) {
  return {"multiplies_with_mixed_precision",
          ProblemCode::bad_input,
          "training.multiplies",
          fmt::format("with {} the inputs of matrix multiplications already have 16 bits",
                      base::name_of(precision)),
          "full, auto",
          fmt::format("Set training.multiplies to auto; or set training.precision to fp32; {} then "
                      "rounds only the inputs of matrix multiplications.",
                      text(asked))};
}

Problem tpu_in_fp64() {
  return {"tpu_without_fp64",
          ProblemCode::bad_input,
          "training.precision",
          "tpu does not support fp64: it multiplies in bfloat16 and sums in fp32",
          "fp32",
          "Set training.precision to fp32, or strategy.kind to mirrored."};
}

Problem tpu_problem(Multiplies asked) {
  return {"tpu_multiplies_in_bfloat16",
          ProblemCode::bad_input,
          "training.multiplies",
          fmt::format("a TPU rounds the inputs of matrix multiplications to bfloat16, but "
                      "training.multiplies is set to {}",
                      text(asked)),
          "bfloat16, auto",
          "Set training.multiplies to bfloat16, or strategy.kind to mirrored."};
}

// Kinds of devices that ranks compute on: real GPUs, anything else, or both.
struct Placed {
  bool on_gpus = false, elsewhere = false;
};

Placed placed_by(const Experiment& experiment) {
  Placed placed;
  for (const topology::Host& host : experiment.topology.hosts)
    for (const topology::Device& device : host.devices)
      if (topology::runs(device))
        (topology::is_on_gpu(device) ? placed.on_gpus : placed.elsewhere) = true;
  return placed;
}

}  // namespace

Multiplies factor_format_of(const Experiment& experiment) {
  const Multiplies asked = experiment.training.multiplies;
  if (asked == Multiplies::tf32 && !placed_by(experiment).on_gpus) return Multiplies::full;
  if (asked != Multiplies::automatic) return asked;
  return experiment.strategy.kind == StrategyKind::tpu ? Multiplies::bfloat16 : Multiplies::full;
}

base::Problems multiplies_problems(const Experiment& experiment) {
  const bool tpu = experiment.strategy.kind == StrategyKind::tpu,
             fp64 = experiment.training.precision == Precision::fp64;
  const Multiplies asked = experiment.training.multiplies;
  const bool rounds = asked == Multiplies::bfloat16 || asked == Multiplies::tf32;
  base::Problems problems;
  if (tpu && (asked == Multiplies::full || asked == Multiplies::tf32))
    problems.push_back(tpu_problem(asked));
  if (is_mixed(experiment.training.precision) && rounds)
    problems.push_back(in_mixed(asked, experiment.training.precision));
  if (tpu && fp64) problems.push_back(tpu_in_fp64());
  if (!tpu && fp64 && rounds) problems.push_back(fp64_problem(asked));
  return problems;
}

std::optional<std::string> tf32_note(const Experiment& experiment) {
  if (experiment.training.multiplies != Multiplies::tf32) return std::nullopt;
  const Placed placed = placed_by(experiment);
  if (!placed.on_gpus)
    return "training.multiplies is set to tf32, but has no effect here: it applies only to ranks "
           "on GPUs, and no rank is on a GPU";
  if (placed.elsewhere) return "tf32 applies to ranks on GPUs only; ranks on CPUs multiply in fp32";
  return std::nullopt;
}

}  // namespace trainyard::experiment
