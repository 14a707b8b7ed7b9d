// SPDX-License-Identifier: GPL-3.0-or-later
// Local SGD: every rank trains a replica with parameters of its own, without communication. Each
// program also has a variant that ends with synchronization. This variant all-reduces the
// parameters to their mean, bucket by bucket as they are updated. It then combines the mean with
// the local parameters, as strategy.local_sgd.rule says.
//
// There is one group, of all ranks, for the mean.
#include "core/experiment/local_sgd.h"

#include "core/strategy/lanes.h"
#include "core/strategy/local_parameters.h"
#include "core/strategy/strategy.h"

namespace trainyard::strategy {
namespace {

using plan::Access;
using plan::Dependency;
using plan::Op;
using plan::OpKind;

struct LocalSgd {
  experiment::Resolved experiment;
  std::vector<Bucket> buckets;
  // elasticity alpha of the elastic rule; not set for the rule average, by which every rank
  // replaces its parameters by the mean
  std::optional<experiment::Elasticity> elasticity;
};

class RoundWriter {
 public:
  RoundWriter(const LocalSgd& local, std::int32_t rank)
      : l_(local),
        plan_(replica(local.experiment, rank, local.buckets, -1)),
        mean_(plan_, local.experiment, local.buckets, 0,
              experiment::averages_by_samples(local.experiment) ? Weighting::by_samples
                                                                : Weighting::uniform) {
    parameters_ = whole(plan_, "params");
    kept_ = local.elasticity
                ? add_buffer(plan_, "centre", plan_.buffers[parameters_.buffer.index()].dtype,
                             parameters_.count)
                : mean_.buffer();
  }

  plan::RankPlan make() {
    std::vector<plan::Program> programs;
    for (plan::Program& program : plan_.programs) {
      programs.push_back(std::move(program));
      if (!is_training(programs.back())) mean_.evaluate_with(programs.back(), kept_);
      else programs.push_back(averaging(programs.back()));
    }
    programs.push_back({"average", 0, 0, 1, mean_.average(whole(plan_, "grads")), {}});
    if (l_.elasticity) programs.push_back({"start", 0, 0, 1, mean_.copy(parameters_, kept_), {}});
    programs.push_back({"end", 0, 0, 1, mean_.end(kept_), {}});
    plan_.programs = std::move(programs);
    return std::move(plan_);
  }

 private:
  // Returns the variant of a program that ends with synchronization. Each bucket is all-reduced as
  // soon as it is updated.
  plan::Program averaging(const plan::Program& step) const {
    plan::Program program{plan::Schedule::averaging(step.name),
                          step.samples,
                          step.global_samples,
                          step.repeats,
                          {},
                          step.wanted};
    std::int32_t computed = 0, added = 0;
    const auto add_up_to = [&](std::int32_t bucket) {
      for (; added < bucket; ++added) {
        program.ops.push_back(mean_.addend(added));
        program.ops.push_back(mean_.all_reduce(added, ++computed));
      }
    };
    for (const Op& op : step.ops) {
      if (op.kind == OpKind::update) add_up_to(mean_.bucket_of(op.segment));
      computed += op.lane == kCompute ? 1 : 0;
      program.ops.push_back(op);
    }
    add_up_to(mean_.bucket_count());
    l_.elasticity ? pull(program.ops) : take_mean(program.ops);
    return program;
  }

  void take_mean(std::vector<Op>& ops) const {
    mean_.for_each_segment([&](int s, bool first_of_bucket) {
      ops.push_back(
          mix({mean_.in_segment(mean_.buffer(), s)}, {1}, 1, mean_.in_segment(parameters_, s)));
      ops.back().segment = s;
      if (first_of_bucket) ops.back().after = {after_mean_of(mean_.bucket_of(s))};
    });
  }

  // Moves the rank's parameters toward the center, and the center toward the mean, both computed
  // from the old center. The rank's parameters do not wait for the mean.
  void pull(std::vector<Op>& ops) const {
    const experiment::Elasticity& beta = *l_.elasticity;
    mean_.for_each_segment([&](int s, bool) {
      const Access own = mean_.in_segment(parameters_, s);
      ops.push_back(mix({own, mean_.in_segment(kept_, s)},
                        {beta.ranks * beta.of - beta.moves, beta.moves}, beta.ranks * beta.of,
                        own));
      ops.back().segment = s;
    });
    for (std::int32_t b = 0; b < mean_.bucket_count(); ++b) {
      const Access center = mean_.in_bucket(kept_, b);
      ops.push_back(mix({center, mean_.in_bucket(mean_.buffer(), b)},
                        {beta.of - beta.moves, beta.moves}, beta.of, center));
      ops.back().bucket = b;
      ops.back().after = {after_mean_of(b)};
    }
  }

  Dependency after_mean_of(std::int32_t bucket) const { return {mean_.lane(), bucket + 1, 0}; }

  const LocalSgd& l_;
  plan::RankPlan plan_;
  MeanOfRanks mean_;
  Access parameters_, kept_;  // `kept_`: parameters with which ranks evaluate and end
};

}  // namespace

base::Result<plan::Plan> local_sgd(const experiment::Resolved& experiment) {
  if (experiment.world() < 2) return mirrored(experiment);  // a single rank has no peers
  plan::Schedule steps = schedule(experiment);
  steps.local_steps = experiment.document.strategy.local_sgd.average_every_steps;
  return plan::Plan{
      experiment.world(),
      {world_group(experiment)},
      steps,
      [local = LocalSgd{experiment, buckets(experiment), experiment::elasticity(experiment)}](
          std::int32_t rank) { return RoundWriter(local, rank).make(); }};
}

}  // namespace trainyard::strategy
