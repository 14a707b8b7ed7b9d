// SPDX-License-Identifier: GPL-3.0-or-later
// Pipelines whose stages update after every micro-batch learn just what the published formula says
// (Narayanan et al. 2019): stage s of p, from 0, has w(i+1) = w(i) - step of the gradient of
// micro-batch i, taken where every stage has the weights that the micro-batch went forward by,
// max(0, i - (p-1-s)) updates of the step old; of replicas, the mean over the samples that all of
// them have in their i-th. Beside it that formula alone, on one device, with an optimizer of its
// own.
#include <cmath>

#include "core/experiment/cells.h"
#include "core/experiment/servers.h"
#include "core/run/input/round_input.h"
#include "core/telemetry/staleness_counts.h"
#include "tests/conformance/mesh_training.h"
#include "tests/conformance/stage_training.h"

namespace trainyard::tests {
namespace {

using experiment::Experiment;
using experiment::OptimizerKind;
using experiment::OptimizerSpec;
using experiment::PipelineSchedule;
using experiment::StagePlace;
using experiment::StrategyKind;
using Values = std::vector<double>;

// Gradients of one sample, each at whatever weights.
class Gradients {
 public:
  explicit Gradients(const Experiment& e)
      : resolved_(experiment::resolve(e, ".").value()),
        recipe_(session::recipe(resolved_)),
        compute_(compute::reference::make()),
        queue_(compute_->make_queue()) {
    const plan::Plan plan = strategy::make_plan(resolved_).value();
    schedule_ = plan.schedule;
    plan_ = plan.rank_plan(0);
    const run::Layout layout = run::layout(plan_);
    memory_ = compute_->allocate(layout.private_bytes, "test").value();
    bound_ = run::bind(plan_, plan.groups, resolved_.model, recipe_, *compute_,
                       std::span(memory_.get(), static_cast<std::size_t>(layout.private_bytes)), {})
                 .value();
    session::initialize(resolved_, plan_, bound_);
    gradients_ = memory_.get() + layout.buffers[plan_.buffer("grads").index()].offset;
    input_.emplace(data::open(resolved_.document.data, "").value(),
                   experiment::sampler(resolved_).value(), 0,
                   resolved_.document.training.batch_per_rank);
  }

  const experiment::Resolved& resolved() const { return resolved_; }
  Values parameters() const { return values_of(bound_.parameters); }

  Values of(std::int64_t sample, const Values& weights) {
    std::copy(weights.begin(), weights.end(), bound_.parameters.as<double>());
    const run::BoundProgram& program =
        bound_.programs[static_cast<std::size_t>(plan_.program(schedule_.program(sample)))];
    run::load(*compute_, input_->take(sample, 0), program.loads.front());
    for (const run::BoundOp& op : program.ops)
      for (std::size_t k = 0; k < op.kernels.size() && op.kind != plan::OpKind::update; ++k)
        op.kernels[k]->enqueue(*queue_);
    return values_of({base::DType::fp64, {resolved_.model.elements}, gradients_});
  }

 private:
  experiment::Resolved resolved_;
  run::Recipe recipe_;
  std::unique_ptr<compute::Compute> compute_;
  std::unique_ptr<compute::Queue> queue_;
  plan::Schedule schedule_;
  plan::RankPlan plan_;
  compute::Memory memory_;
  run::BoundPlan bound_;
  std::byte* gradients_ = nullptr;
  std::optional<run::RoundInput> input_;
};

// The textbook formula; updates are counted from 1.
class Optimizer {
 public:
  Optimizer(const OptimizerSpec& spec, std::size_t size) : o_(spec), m_(size), v_(size) {}

  void step(Values& w, const Values& g) {
    ++updates_;
    for (std::size_t i = 0; i < w.size(); ++i)
      o_.kind == OptimizerKind::sgd ? sgd(w[i], g[i] + o_.weight_decay * w[i], m_[i])
                                    : adam(w[i], g[i], m_[i], v_[i]);
  }

 private:
  void sgd(double& w, double g, double& m) const {
    w -= o_.learning_rate * (m = o_.momentum * m + g);
  }
  void adam(double& w, double g, double& m, double& v) const {
    m = o_.beta1 * m + (1 - o_.beta1) * g;
    v = o_.beta2 * v + (1 - o_.beta2) * g * g;
    const double m_hat = m / (1 - std::pow(o_.beta1, updates_)),
                 v_hat = v / (1 - std::pow(o_.beta2, updates_));
    w -= o_.learning_rate * m_hat / (std::sqrt(v_hat) + o_.epsilon);
  }

  OptimizerSpec o_;
  Values m_, v_;
  int updates_ = 0;
};

struct PipeDreamCase {
  int ranks;
  OptimizerSpec optimizer = {.learning_rate = 0.02};
  std::vector<StagePlace> places = {};
  std::int64_t recompute = 0;

  // Six micro-batches of 4 samples a step; an epoch of 250 ends with 10 in three.
  Experiment training() const {
    Experiment e =
        split(strategy::small_rows(ranks), StrategyKind::pipeline, PipelineSchedule::pipedream);
    e.training.optimizer = optimizer;
    e.training.steps = 25;
    e.training.recompute_segments = recompute;
    if (places.empty()) return e;
    e.strategy.stages.partition = experiment::Partition::by_hand;
    e.strategy.stages.places = places;
    return e;
  }
};

void PrintTo(const PipeDreamCase& c, std::ostream* out) {
  *out << c.ranks << " ranks, optimizer " << static_cast<int>(c.optimizer.kind) << ", "
       << c.places.size() << " places";
}

// Number of micro-batches of the first replica, which has the most.
int micro_batches_of(const experiment::Resolved& e, std::int64_t step) {
  const std::int64_t batch = e.document.training.batch_per_rank;
  return static_cast<int>((e.shares().samples(step, 0) + batch - 1) / batch);
}

// Samples of the i-th micro-batches of all replicas in a step, from its first one on.
std::vector<std::int64_t> samples_of_update(const experiment::Resolved& e, std::int64_t step,
                                            int i) {
  const std::int64_t batch = e.document.training.batch_per_rank;
  std::vector<std::int64_t> list;
  std::int64_t first = 0;
  for (int replica = 0; replica < experiment::mesh_of(e).data; ++replica) {
    const std::int64_t own = e.shares().samples(step, replica);
    for (std::int64_t sample = i * batch; sample < std::min(own, (i + 1) * batch); ++sample)
      list.push_back(first + sample);
    first += own;
  }
  return list;
}

// All by the formula.
Values by_formula(const Experiment& e) {
  Experiment one = alone(e);
  one.training.batch_per_rank = 1;
  one.training.accumulation_steps = 1;
  one.training.recompute_segments = 0;
  one.training.steps = 1'000'000;
  Gradients gradients(one);
  const experiment::Resolved piped = experiment::resolve(e, ".").value();
  const std::vector<int> owners = experiment::owners_of(piped);
  Values newest = gradients.parameters();
  Optimizer optimizer(e.training.optimizer, newest.size());
  const int stages = experiment::mesh_of(piped).pipeline;
  std::int64_t taken = 0;  // samples of earlier steps
  for (std::int64_t step = 0; step < e.training.steps; ++step) {
    std::vector<Values> versions{newest};
    const int m = micro_batches_of(piped, step);
    for (int i = 0; i < m; ++i) {
      Values went_by(newest.size());
      for (std::size_t s = 0; s < owners.size(); ++s) {
        const model::Segment& segment = piped.model.segments[s];
        const Values& version =
            versions[static_cast<std::size_t>(std::max(0, i - (stages - 1 - owners[s])))];
        std::copy_n(version.begin() + segment.first, segment.elements,
                    went_by.begin() + segment.first);
      }
      Values mean(newest.size());
      const std::vector<std::int64_t> samples = samples_of_update(piped, step, i);
      for (const std::int64_t sample : samples) {
        const Values of_sample = gradients.of(taken + sample, went_by);
        for (std::size_t k = 0; k < mean.size(); ++k)
          mean[k] += of_sample[k] / static_cast<double>(samples.size());
      }
      optimizer.step(newest, mean);
      versions.push_back(newest);
    }
    taken += piped.shares().global_samples(step);
  }
  return newest;
}

class PipeDream : public testing::TestWithParam<PipeDreamCase> {};

TEST_P(PipeDream, follows_the_update_formula) {
  const Experiment e = GetParam().training();
  EXPECT_LE(distance(gathered(e, trained(e)).parameters, by_formula(e)), 1e-10);
}

TEST_P(PipeDream, reports_the_staleness_of_every_gradient) {
  const Experiment e = GetParam().training();
  const experiment::Resolved resolved = experiment::resolve(e, ".").value();
  const auto ranks = trained(e);
  double sum = 0, count = 0;
  for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
    std::map<std::int32_t, std::vector<double>> reported;  // by step
    for (const telemetry::Event& event : ranks[rank].events)
      if (event.kind == telemetry::EventKind::metric &&
          event.subject == static_cast<std::uint16_t>(telemetry::Metric::staleness)) {
        EXPECT_EQ(event.index, rank);
        reported[event.step].push_back(event.value);
        sum += event.value, count += 1;
      }
    for (std::int64_t step = 0; step < e.training.steps; ++step) {
      Values wanted;
      for (int i = 0; i < micro_batches_of(resolved, step); ++i)
        wanted.push_back(std::min(i, static_cast<int>(ranks.size() - 1 - rank)));
      EXPECT_EQ(reported[static_cast<std::int32_t>(step)], wanted)
          << "rank " << rank << ", step " << step;
    }
  }
  const auto theory = experiment::staleness_theory(resolved);
  ASSERT_TRUE(theory && theory->mean && theory->most);
  EXPECT_EQ(*theory->most, std::min<std::int64_t>(GetParam().ranks, 6) - 1);
  EXPECT_NEAR(sum / count, *theory->mean, 0.05);  // that of whole epochs
}

constexpr OptimizerSpec kAdamSpec = {
    .kind = OptimizerKind::adam, .learning_rate = 0.01, .epsilon = 1e-4};
INSTANTIATE_TEST_SUITE_P(
    Training, PipeDream,
    testing::Values(PipeDreamCase{1}, PipeDreamCase{2}, PipeDreamCase{3, kAdamSpec},
                    PipeDreamCase{4, {.learning_rate = 0.02, .weight_decay = 0.01}},
                    PipeDreamCase{4, kAdamSpec},
                    PipeDreamCase{
                        3, {.learning_rate = 0.05, .momentum = 0}, {{"0", 0}, {"2", 1}, {"3", 2}}},
                    PipeDreamCase{2, kAdamSpec, {{"0", 0}, {"7", 1}}}, PipeDreamCase{8},
                    PipeDreamCase{3, {.learning_rate = 0.02}, {}, 2}));

// Replicas of pipelines, and parts of their stages: an update takes the gradients of all of them
// from their i-th micro-batches.
Experiment hybrid(experiment::Mesh mesh, int micro_batches, OptimizerSpec optimizer,
                  std::int64_t samples = 250) {
  Experiment e =
      meshed(strategy::small_rows(mesh.ranks()), mesh, micro_batches, PipelineSchedule::pipedream);
  e.training.optimizer = optimizer;
  e.training.steps = 25;
  e.data.train_samples = samples;
  return e;
}

class PipeDreamMesh : public testing::TestWithParam<MeshCase> {};

TEST_P(PipeDreamMesh, follows_the_update_formula) {
  const Experiment& e = GetParam().experiment;
  expect_valid(e);
  EXPECT_LE(distance(assemble(e, trained(e), &RankOutcome::parameters), by_formula(e)), 1e-10);
}

TEST_P(PipeDreamMesh, sends_the_bytes_of_its_formula_and_is_proved) {
  expect_sent_bytes(GetParam().experiment);
  expect_proved(GetParam().experiment);
}

// With 241 samples and 24 per step, only replica 0 has the last one; with 245, one replica has an
// additional micro-batch.
INSTANTIATE_TEST_SUITE_P(
    Meshes, PipeDreamMesh,
    testing::Values(MeshCase{"two_by_two", hybrid({2, 2, 1}, 3, kAdamSpec)},
                    MeshCase{"three_by_two", hybrid({3, 2, 1}, 4, {.learning_rate = 0.02})},
                    MeshCase{"two_by_three_by_two", hybrid({2, 3, 2}, 3, kAdamSpec)},
                    MeshCase{"one_by_two_by_two", hybrid({1, 2, 2}, 6, kAdamSpec)},
                    MeshCase{"with_one_sample_left", hybrid({2, 2, 1}, 3, kAdamSpec, 241)},
                    MeshCase{"with_a_micro_batch_more", hybrid({2, 2, 2}, 3, kAdamSpec, 245)}),
    name_of);

TEST(PipeDreamMesh, with_overweighted_losses_is_found_by_check) {
  const experiment::Resolved resolved =
      experiment::resolve(hybrid({2, 2, 1}, 3, kAdamSpec), ".").value();
  const plan::Plan plan = strategy::coarse_plan(resolved).value();
  std::vector<plan::RankPlan> ranks;
  for (std::int32_t r = 0; r < plan.ranks; ++r) ranks.push_back(plan.rank_plan(r));
  for (plan::Program& program : ranks[3].programs)
    for (plan::Op& op : program.ops)
      if (op.kind == plan::OpKind::loss && !op.weights.numerators.empty())
        op.weights.denominator = op.weights.numerators.front();
  const base::Problems found =
      check::check(plan::from_ranks(plan.groups, plan.schedule, std::move(ranks)));
  ASSERT_FALSE(found.empty());
  EXPECT_EQ(found.front().id, "proof_versions") << base::to_string(found.front());
  EXPECT_NE(found.front().where.find("LOSS.m"), std::string::npos)
      << base::to_string(found.front());
}

// Stage s of p stores at most p - s weight versions for backward: the newest and the stashed ones.
TEST(PipeDreamMemory, has_one_version_per_following_stage) {
  const Experiment e = PipeDreamCase{4}.training();
  const experiment::Resolved all = experiment::resolve(e, ".").value();
  const plan::Plan plan = strategy::make_plan(all).value();
  for (int rank = 0; rank < 4; ++rank) {
    const plan::RankPlan own = plan.rank_plan(rank);
    const model::Model model = experiment::of_rank(all, rank).model;
    std::int64_t innermost_verb =
        0;  // by who goes back: all but the first layer, which hands no gradient on
    for (std::size_t s = 1; s < model.segments.size(); ++s)
      if (model.segments[s].kind != model::LayerKind::add)
        innermost_verb += model.segments[s].elements;
    const plan::BufferId stash = own.buffer("stash");
    EXPECT_EQ(stash.valid() ? own.buffers[stash.index()].elements : 0, (3 - rank) * innermost_verb)
        << rank;
    EXPECT_GE(run::layout(own).private_bytes + run::layout(own).shared_bytes,
              (3 * model.elements + (3 - rank) * innermost_verb) * 8);  // gradients, a moment
  }
}

}  // namespace
}  // namespace trainyard::tests
