// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/session/coordinator/segment_times.h"

#include <algorithm>

#include "core/base/clock.h"
#include "core/experiment/stages.h"
#include "core/run/bind/private_memory.h"
#include "core/run/input/round_input.h"
#include "core/session/rank/recipe.h"
#include "core/strategy/strategy.h"

namespace trainyard::session {
namespace {

using base::Result;
using experiment::Resolved;
using plan::OpKind;

constexpr int kRounds = 7;
// Time limit of the measurement in nanoseconds. No further round starts after this time, even if
// fewer than kRounds are complete.
constexpr std::int64_t kLongEnough = 3'000'000'000;

// Returns the experiment with a single micro-batch on one device, without recomputation and
// offload.
Resolved alone(Resolved e) {
  e.global_batch = e.document.training.batch_per_rank;
  e.document.training.recompute_segments = 0;
  e.document.training.swap = {};
  return experiment::on_one_device(std::move(e));
}

bool is_timed(OpKind kind) {
  return kind == OpKind::forward || kind == OpKind::loss || kind == OpKind::backward_input ||
         kind == OpKind::backward_weight;
}

class Measuring {
 public:
  Measuring(Resolved e, std::unique_ptr<compute::Compute> compute)
      : e_(std::move(e)), compute_(std::move(compute)), recipe_(recipe(e_)) {}

  Result<std::vector<experiment::SegmentTime>> run() {
    return prepare().and_then([&] { return load(); }).and_then([&] { return measure(); });
  }

 private:
  Result<void> prepare() {
    const auto plan = strategy::make_plan(e_);
    if (!plan) return base::fail(plan.error());
    plan_ = plan->rank_plan(0);
    program_ = plan_.program(plan->schedule.program(0));
    const run::Layout layout = run::layout(plan_);
    const char* const where = "layers are measured";
    auto own = run::PrivateMemory::make(layout, *compute_, where);
    auto shared = compute_->allocate(layout.shared_bytes, where);
    if (!own || !shared) return base::fail((own ? shared.error() : own.error()));
    own_ = std::move(*own), shared_ = std::move(*shared);
    auto bound = run::bind(plan_, plan->groups, e_.model, recipe_, *compute_, own_->arena(),
                           std::span(shared_.get(), static_cast<std::size_t>(layout.shared_bytes)));
    if (!bound) return base::fail(bound.error());
    bound_ = std::move(*bound);
    initialize(e_, plan_, bound_);
    return {};
  }

  Result<void> load() {
    auto dataset = data::open(e_.document.data, "");
    if (!dataset) return base::fail(data::at_field(dataset.error(), e_.document.data, ""));
    const auto sampler = experiment::sampler(e_);
    if (!sampler) return base::fail(sampler.error());
    const run::BoundLoad& into = program().loads.front();
    run::RoundInput input(std::move(*dataset), *sampler, 0, into.samples);
    run::load(*compute_, input.take(0, 0), into);
    return {};
  }

  const run::BoundProgram& program() const {
    return bound_.programs[static_cast<std::size_t>(program_)];
  }

  Result<std::vector<experiment::SegmentTime>> measure() {
    run::write_rate(bound_, recipe_, 0);
    round();  // Warm-up: lazy initialization happens here.
    std::vector<std::vector<double>> seconds(e_.model.segments.size());
    const std::int64_t begun = base::now_nanoseconds();
    for (int i = 0; i < kRounds && (i == 0 || base::now_nanoseconds() - begun < kLongEnough); ++i) {
      const std::vector<double> once = round();
      for (std::size_t s = 0; s < once.size(); ++s) seconds[s].push_back(once[s]);
    }
    std::vector<experiment::SegmentTime> times;
    for (std::size_t s = 0; s < seconds.size(); ++s)
      times.push_back({experiment::place_name(e_.model.segments[s]),
                       median(seconds[s]) / static_cast<double>(program().samples)});
    return queue_->state().map([&] { return times; });
  }

  // Runs the step once, and returns the seconds of each segment.
  std::vector<double> round() {
    std::vector<double> seconds(e_.model.segments.size());
    for (const run::BoundOp& op : program().ops) {
      // Updates are skipped, so that all rounds use the same weights.
      if (op.kind == OpKind::update) continue;
      const std::int64_t begin = base::now_nanoseconds();
      for (const auto& kernel : op.kernels) kernel->enqueue(*queue_);
      static_cast<void>(compute::finish(*queue_));  // Errors are checked at the end.
      if (is_timed(op.kind))
        (op.segment < 0 ? seconds.back() : seconds[static_cast<std::size_t>(op.segment)]) +=
            base::seconds(base::now_nanoseconds() - begin);
    }
    return seconds;
  }

  static double median(std::vector<double> values) {
    const auto middle = values.begin() + std::ssize(values) / 2;
    std::nth_element(values.begin(), middle, values.end());
    return *middle;
  }

  Resolved e_;
  std::unique_ptr<compute::Compute> compute_;
  run::Recipe recipe_;
  plan::RankPlan plan_;
  int program_ = -1;  // Program of the first step.
  std::optional<run::PrivateMemory> own_;
  compute::Memory shared_;
  run::BoundPlan bound_;
  std::unique_ptr<compute::Queue> queue_ = compute_->make_queue();
};

}  // namespace

Result<std::vector<experiment::SegmentTime>> measure_segments(
    const Resolved& experiment,
    const std::function<Result<std::unique_ptr<compute::Compute>>(const topology::Device& device)>&
        make_compute) {
  Resolved e = alone(experiment);
  const topology::Network network(e.document.topology);
  return make_compute(network.device(e.ranks.front()))
      .and_then([&](std::unique_ptr<compute::Compute> compute) {
        return Measuring(std::move(e), std::move(compute)).run();
      });
}

}  // namespace trainyard::session
