// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/run/loss_scale.h"

#include <cstdlib>
#include <functional>
#include <map>
#include <sstream>
#include <utility>

#include "core/base/log.h"

namespace trainyard::run {
namespace {

base::Problem underflow(double scale, double least) {
  std::ostringstream what;
  what << "loss scale underflow: gradients are not finite even where the loss is multiplied by " << scale
       << ", and half of that would be less than training.loss_scale.least, which is " << least;
  return {base::ProblemCode::failed, "", what.str(), "gradients that fp16 can hold, whose largest number is 65504",
          "Set training.precision to bf16, lower the learning rate, clip gradients, or lower training.loss_scale.least."};
}

using compute::Kernel;
using Prepared = base::Result<std::unique_ptr<Kernel>>;

// A kernel that is prepared for one scale, and for another when that comes. All are kept: a device may wait for all that it is at when memory is given back.
class Scaled final : public Kernel {
 public:
  Scaled(std::function<Prepared(double scale)> prepare, const double* scale, double* divided)
      : prepare_(std::move(prepare)), scale_(scale), divided_(divided) {}

  base::Result<void> prepare() {
    auto kernel = prepare_(*scale_);
    if (!kernel) return base::fail(kernel.error());
    by_scale_[*scale_] = std::move(*kernel);
    return {};
  }

  void enqueue(compute::Queue& queue) override {
    if (!by_scale_.contains(*scale_)) prepare_again();
    by_scale_[*scale_]->enqueue(queue);
    if (divided_ == nullptr) return;
    static_cast<void>(compute::finish(queue));  // what failed there is found by whoever waits for this
    *divided_ /= *scale_;
  }

 private:
  // What could be prepared once can be again.
  void prepare_again() {
    const auto ready = prepare();
    if (ready) return;
    base::log_error("an op that was prepared cannot be so for another loss scale: " + base::to_string(ready.error()));
    std::abort();
  }

  std::function<Prepared(double scale)> prepare_;
  const double* scale_;
  double* divided_;
  std::map<double, std::unique_ptr<Kernel>> by_scale_;
};

// The op as it is where the scale is so large.
compute::Op scaled(compute::Op op, double scale) {
  std::visit(
      [&](auto& one) {
        if constexpr (requires {
                        one.logits;
                        one.scale;
                      })
          one.scale *= scale;
        if constexpr (requires { one.squared_norms; }) one.maximum *= scale;
      },
      op);
  return op;
}

}  // namespace

base::Result<std::unique_ptr<Kernel>> prepare_scaled(const compute::Op& op, const compute::Tensor& scale, compute::Compute& compute) {
  const auto* const clip = std::get_if<compute::ClipFactor>(&op);
  auto kernel = std::make_unique<Scaled>([op, &compute](double by) { return compute.prepare(scaled(op, by)); }, scale.as<double>(),
                                         clip != nullptr ? clip->factor.as<double>() : nullptr);
  if (const auto ready = kernel->prepare(); !ready) return base::fail(ready.error());
  return kernel;
}

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
