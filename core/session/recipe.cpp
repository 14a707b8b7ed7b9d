// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/session/recipe.h"

#include <algorithm>

namespace trainyard::session {
namespace {

using compute::Tensor;
using Moments = std::span<const Tensor>;

compute::Op sgd(const experiment::OptimizerSpec& o, const compute::UpdateInputs& common, Moments moments) {
  return compute::SgdUpdate{common, moments.empty() ? Tensor{} : moments[0], o.momentum, o.weight_decay};
}

compute::Op adam(const experiment::OptimizerSpec& o, const compute::UpdateInputs& common, Moments moments, const Tensor& step) {
  return compute::AdamUpdate{common, moments[0], moments[1], step, o.beta1, o.beta2, o.epsilon, o.weight_decay, o.kind == experiment::OptimizerKind::adamw};
}

}  // namespace

run::Recipe recipe(const experiment::Resolved& experiment) {
  const experiment::TrainingSpec training = experiment.document.training;
  const experiment::OptimizerSpec optimizer = training.optimizer;
  run::Recipe recipe;
  recipe.clip_norm = training.clip_norm;
  recipe.seed = training.seed;
  recipe.learning_rate = [training, steps = experiment.steps](std::int64_t step) { return experiment::learning_rate(training, step, steps); };
  recipe.update = [optimizer](const compute::UpdateInputs& common, Moments moments, const Tensor& step) {
    return optimizer.kind == experiment::OptimizerKind::sgd ? sgd(optimizer, common, moments) : adam(optimizer, common, moments, step);
  };
  return recipe;
}

bool initialises(const plan::RankPlan& rank) {
  const int start = rank.program("start");
  if (start < 0) return true;
  const plan::Program& program = rank.programs[static_cast<std::size_t>(start)];
  if (std::any_of(program.ops.begin(), program.ops.end(), [&](const plan::Op& op) { return op.kind == plan::OpKind::broadcast && op.peer != rank.rank; }))
    return false;
  return std::none_of(program.wanted.begin(), program.wanted.end(),
                      [&](const plan::Wanted& w) { return w.kind == plan::OpKind::broadcast && w.root != rank.rank; });
}

}  // namespace trainyard::session
