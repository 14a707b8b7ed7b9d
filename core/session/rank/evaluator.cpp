// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/session/rank/evaluator.h"

#include "core/compute/host_copy.h"
#include "core/session/checkpoint/checkpoint.h"

namespace trainyard::session {
namespace {

using base::Result;
using compute::Tensor;

// Time limit of a wait for a checkpoint. After it, the evaluator checks whether the run has ended.
constexpr std::chrono::milliseconds kPatience{100};

class Evaluator {
 public:
  explicit Evaluator(const EvaluatorParts& parts) : p_(parts) {}

  Result<std::int64_t> run() {
    for (;;) {
      // An idle evaluator reports the horizon as its step, because ranks at the horizon are not
      // expected to make progress.
      p_.rank_progress->step.store(p_.gate->horizon().step, std::memory_order_relaxed);
      const auto news = p_.committed->wait(handled_, kPatience);
      if (p_.gate->closed())
        return base::fail({"stopped", base::ProblemCode::canceled, "evaluator",
                           "the evaluator was stopped", "", ""});
      if (!news) continue;
      if (news->step > handled_)
        if (const auto ok = measure(news->step); !ok) return base::fail(ok.error());
      handled_ = std::max(handled_, news->step);
      if (news->last) return std::max<std::int64_t>(0, measured_);
    }
  }

 private:
  // Evaluates the newest complete checkpoint. This checkpoint may be newer than `committed`, whose
  // files may have been deleted by now. Ignores newer directories that are still being written.
  Result<void> measure(std::int64_t committed) {
    const run::BoundPlan& bound = *p_.bound;
    const Tensor parameters = compute::on_host(bound.device, bound.parameters, parameters_),
                 state = compute::on_host(bound.device, bound.state, state_);
    const auto read = read_checkpoint(p_.checkpoints, *p_.model, {parameters, state});
    if (!read) return p_.warn(read.error()), Result<void>{};
    if (parameters.data != bound.parameters.data)
      compute::host_copy(bound.device, bound.parameters.data, parameters.data, parameters.bytes());
    if (state.data != bound.state.data)
      compute::host_copy(bound.device, bound.state.data, state.data, state.bytes());
    for (const base::Problem& problem :
         read->info.step < committed ? read->skipped : base::Problems())
      p_.warn(problem);
    if (read->info.step <= measured_) return {};
    measured_ = read->info.step;
    handled_ = std::max(handled_, measured_);
    return p_.interpreter->evaluate(measured_ - 1);
  }

  const EvaluatorParts& p_;
  std::vector<std::byte> parameters_, state_;  // Host copies, if the device has its own memory.
  std::int64_t handled_ = -1, measured_ = -1;
};

}  // namespace

Result<std::int64_t> evaluate_checkpoints(const EvaluatorParts& parts) {
  return Evaluator(parts).run();
}

}  // namespace trainyard::session
