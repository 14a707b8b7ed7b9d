// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/run/bind/loss_scale.h"

#include <fmt/core.h>

namespace trainyard::run {
namespace {

base::Problem underflow(double scale, double least) {
  return {"loss_scale_underflow",
          base::ProblemCode::failed,
          "",
          fmt::format(
              "loss scale underflow: gradients are not finite with loss scale {:g}, and half of it "
              "would be below training.loss_scale.least, which is {:g}",
              scale, least),
          "gradients within the range of fp16, at most 65504",
          "Set training.precision to bf16, lower the learning rate, clip gradients, or lower "
          "training.loss_scale.least."};
}

}  // namespace

LossScale after_step(LossScale now, bool finite, const LossScaling& rule) {
  if (!finite) return {now.scale / 2, 0};
  if (++now.finite_steps < static_cast<double>(rule.double_every_steps)) return now;
  return {now.scale * 2, 0};
}

void begin_loss_scale(const BoundPlan& bound, const LossScaling& rule) {
  if (bound.loss_scale.empty()) return;
  bound.loss_scale.as<double>()[0] = rule.initial;
  bound.loss_scale.as<double>()[1] = 0;
}

base::Result<void> adjust_loss_scale(const BoundPlan& bound, const LossScaling& rule) {
  double* const held = bound.loss_scale.as<double>();
  const LossScale next = after_step({held[0], held[1]}, *bound.factor.as<double>() != 0, rule);
  if (next.scale < rule.least) return base::fail(underflow(held[0], rule.least));
  held[0] = next.scale;
  held[1] = next.finite_steps;
  return {};
}

}  // namespace trainyard::run
