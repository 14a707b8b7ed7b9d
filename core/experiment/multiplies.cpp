// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/experiment/multiplies.h"

#include "core/experiment/fields.h"
#include "core/experiment/precision.h"

namespace trainyard::experiment {
namespace {

using base::Problem;
using base::ProblemCode;

Problem beside_fp64() {
  return {ProblemCode::bad_input, "training.multiplies", "bfloat16 is summed in fp32, and training.precision is fp64", "full or auto with fp64",
          "Set training.precision to fp32, or training.multiplies to full."};
}

Problem in_mixed(Precision precision) {
  return {ProblemCode::bad_input, "training.multiplies", "with " + std::string(base::name_of(precision)) + " what is multiplied has 16 bits anyway",
          "full, auto", "Leave it on auto; or set training.precision to fp32, where bfloat16 rounds factors alone."};
}

Problem tpu_in_fp64() {
  return {ProblemCode::bad_input, "training.precision", "fp64 is nothing that a tpu has: it multiplies in bfloat16 and sums in fp32", "fp32",
          "Set it to fp32, or strategy.kind to mirrored."};
}

Problem tpu_in_full() {
  return {ProblemCode::bad_input, "training.multiplies", "a tpu rounds what it multiplies to bfloat16, and this asks for full", "bfloat16, auto",
          "Set it to bfloat16, or strategy.kind to mirrored."};
}

}  // namespace

Multiplies multiplies_of(const Experiment& experiment) {
  if (experiment.training.multiplies != Multiplies::automatic) return experiment.training.multiplies;
  return experiment.strategy.kind == StrategyKind::tpu ? Multiplies::bfloat16 : Multiplies::full;
}

base::Problems multiplies_problems(const Experiment& experiment) {
  const bool tpu = experiment.strategy.kind == StrategyKind::tpu, fp64 = experiment.training.precision == Precision::fp64;
  base::Problems problems;
  if (tpu && experiment.training.multiplies == Multiplies::full) problems.push_back(tpu_in_full());
  if (is_mixed(experiment.training.precision) && experiment.training.multiplies == Multiplies::bfloat16)
    problems.push_back(in_mixed(experiment.training.precision));
  if (tpu && fp64) problems.push_back(tpu_in_fp64());
  if (!tpu && fp64 && experiment.training.multiplies == Multiplies::bfloat16) problems.push_back(beside_fp64());
  return problems;
}

}  // namespace trainyard::experiment
