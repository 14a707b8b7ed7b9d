// SPDX-License-Identifier: GPL-3.0-or-later
// Real training with offloading: bit-identical results with less memory, as much as the formulas
// say.
#include <gmock/gmock.h>

#include "core/check/check.h"
#include "core/compute/ops.h"
#include "core/run/bind/memory_use.h"
#include "core/session/advice/memory_problems.h"
#include "core/strategy/swap.h"
#include "tests/conformance/layer_chain.h"
#include "tests/conformance/offloaded_training.h"
#include "tests/core/run/bind/file_limit.h"
#include "tests/problem_matchers.h"

namespace trainyard::tests::offloaded {
namespace {

using model::LayerKind;
using run::MemoryPurpose;

TEST(Offloading, is_bit_identical_to_training_without) {
  expect_the_same_bits_in_every_strategy(compute::reference::make);
}

TEST(Offloading, in_workers_of_servers_is_bit_identical) {
  Experiment e = strategy::small_rows(3);
  e.topology.hosts[0].devices[2].role = topology::Role::parameter_server;
  e.strategy.kind = StrategyKind::parameter_server;
  e.strategy.servers.mode = experiment::ServerMode::synchronous;
  e.training.steps = 9;
  e = with_offload(e, OffloadTarget::disk, OffloadTarget::nowhere);
  EXPECT_TRUE(offloads(e).first);
  expect_the_same_bits(e, compute::reference::make);
}

// No file may grow, or be written beyond its start, from before the first step on.
TEST(Offloading, that_fails_ends_the_run_with_rank_step_and_op) {
  Experiment e = strategy::small_gpt(1);
  e.strategy.kind = StrategyKind::one_device;
  const run::FileLimit everything(RLIM_INFINITY);
  const auto full = [](int, const compute::Tensor&) {
    rlimit none{};
    ::getrlimit(RLIMIT_FSIZE, &none);
    none.rlim_cur = 0;
    ::setrlimit(RLIMIT_FSIZE, &none);
  };
  const auto outcomes =
      train(experiment::resolve(with_offload(e, OffloadTarget::disk, OffloadTarget::nowhere), ".")
                .value(),
            compute::reference::make, nullptr, {}, full);
  EXPECT_THAT(outcomes[0].problem,
              testing::AllOf(base::IsProblem("file_size_limit",
                                             testing::StartsWith("rank 0, step 0, op OUT.s")),
                             base::Advises("training.swap.directory")));
}

constexpr std::int64_t kSamples = kOutput + 4 * 4;

plan::RankPlan plan_of(const Experiment& e, std::int32_t rank = 0) {
  return strategy::make_plan(experiment::resolve(e, ".").value()).value().rank_plan(rank);
}

// A device that gives every copy the time for an op to begin meanwhile, where one may.
class Meanwhile final : public compute::Compute {
 public:
  explicit Meanwhile(std::unique_ptr<compute::Compute> inner) : inner_(std::move(inner)) {}
  std::string name() const override { return "meanwhile"; }
  std::unique_ptr<compute::Queue> make_queue() override { return inner_->make_queue(); }
  base::Result<std::unique_ptr<compute::Kernel>> prepare(const compute::Op& op) override {
    return inner_->prepare(op).map(
        [this](std::unique_ptr<compute::Kernel>&& kernel) -> std::unique_ptr<compute::Kernel> {
          return std::make_unique<Counted>(std::move(kernel), begun_);
        });
  }
  void sum(base::DType dtype, std::byte* destination, std::span<const std::byte* const> sources,
           std::int64_t elements) override {
    inner_->sum(dtype, destination, sources, elements);
  }
  void copy(std::byte* destination, const std::byte* source, std::int64_t bytes) override {
    await_another();
    inner_->copy(destination, source, bytes);
  }
  void load(const compute::Tensor& destination, std::span<const float> source) override {
    inner_->load(destination, source);
  }

 private:
  class Counted final : public compute::Kernel {
   public:
    Counted(std::unique_ptr<compute::Kernel> inner, std::atomic<int>& begun)
        : inner_(std::move(inner)), begun_(begun) {}
    void enqueue(compute::Queue& queue) override {
      ++begun_;
      inner_->enqueue(queue);
    }

   private:
    std::unique_ptr<compute::Kernel> inner_;
    std::atomic<int>& begun_;
  };

  void await_another() {
    const std::int64_t give_up =
        base::now_nanoseconds() + 100'000'000;  // it may be what the next op waits for
    for (const int before = begun_; begun_ == before && base::now_nanoseconds() < give_up;)
      std::this_thread::yield();
  }

  std::unique_ptr<compute::Compute> inner_;
  std::atomic<int> begun_{0};
};

// Bytes as in the recording.
TEST(Offloading, copies_while_the_rank_computes) {
  Experiment e = strategy::small_gpt(1);
  e.strategy.kind = StrategyKind::one_device;
  e.training.steps = 4;
  e = with_offload(e, OffloadTarget::host, OffloadTarget::nowhere);
  const auto outcomes = train(
      experiment::resolve(e, ".").value(),
      [] { return std::make_unique<Meanwhile>(compute::reference::make()); }, nullptr);
  ASSERT_EQ(outcomes[0].problem, base::Problem{});
  const plan::RankPlan plan = plan_of(e);
  const auto op_of = [&](const telemetry::Event& event) -> const plan::Op& {
    return plan.programs[event.index].ops[event.subject];
  };
  std::vector<telemetry::Event> copies, computed;
  for (const telemetry::Event& event : outcomes[0].events) {
    if (event.kind != telemetry::EventKind::op) continue;
    if (op_of(event).kind == plan::OpKind::offload) copies.push_back(event);
    else if (plan.lanes[op_of(event).lane.index()].kind == plan::LaneKind::compute)
      computed.push_back(event);
  }
  ASSERT_FALSE(copies.empty());
  const auto beside_compute = [&](const telemetry::Event& copy) {
    return std::any_of(computed.begin(), computed.end(), [&](const telemetry::Event& op) {
      return std::max(op.begin_ns, copy.begin_ns) < std::min(op.end_ns, copy.end_ns);
    });
  };
  // Not all: on a busy machine the copying thread may come to the first when the next op waits for
  // it already.
  EXPECT_TRUE(std::any_of(copies.begin(), copies.end(), beside_compute))
      << "nothing was computed between begin and end of any of " << copies.size();
}

// With L equal layers, the device holds the outputs for the next kAhead segments of the backward
// pass, for the current one, and what it reads and writes; L without offloading.
TEST(OffloadedMemory, of_a_chain_is_that_of_a_few_layers_at_any_depth) {
  for (const int layers : {12, 24, 36}) {
    SCOPED_TRACE(std::to_string(layers) + " layers");
    Experiment e = chain(2, layers, kWidth);
    EXPECT_EQ(use_of(e).of(MemoryPurpose::activations), kSamples + (layers + 1) * kOutput);
    for (const OffloadTarget to : {OffloadTarget::host, OffloadTarget::disk}) {
      const run::MemoryUse use = use_of(with_offload(e, to, OffloadTarget::nowhere));
      EXPECT_EQ(use.of(MemoryPurpose::activations), kSamples + (strategy::kAhead + 4) * kOutput);
      EXPECT_EQ(use.of(to == OffloadTarget::host ? MemoryPurpose::host : MemoryPurpose::disk),
                (layers - 3) * kOutput)
          << "all but those that are restarted immediately";
      EXPECT_EQ(use.of(to == OffloadTarget::host ? MemoryPurpose::disk : MemoryPurpose::host), 0);
    }
  }
}

TEST(OffloadedMemory, of_moments_is_that_of_two_layers) {
  for (const int layers : {4, 12}) {
    Experiment e = chain(2, layers, kWidth);
    e.training.optimizer.kind = experiment::OptimizerKind::adam;
    EXPECT_EQ(use_of(e).of(MemoryPurpose::moments), 2 * layers * kLayer);
    const run::MemoryUse use = use_of(with_offload(e, OffloadTarget::nowhere, OffloadTarget::host));
    EXPECT_EQ(use.of(MemoryPurpose::moments), 2 * 2 * kLayer);
    EXPECT_EQ(use.of(MemoryPurpose::host), 2 * layers * kLayer);
    EXPECT_EQ(use.total(), use_of(e).total() - 2 * (layers - 2) * kLayer);
  }
}

TEST(OffloadedMemory, of_moments_is_that_of_the_two_largest_neighbors) {
  Experiment e = chain(1, 3, kWidth);
  e.model.layers[0].units = 40;
  e.model.layers[2].units = 8;
  e.training.optimizer.momentum = 0.9;
  constexpr std::int64_t kFirst = (kWidth + 1) * 40 * 4, kSecond = (40 + 1) * 8 * 4,
                         kThird = (8 + 1) * kWidth * 4;
  EXPECT_EQ(use_of(e).of(MemoryPurpose::moments), kFirst + kSecond + kThird);
  EXPECT_EQ(use_of(with_offload(e, OffloadTarget::nowhere, OffloadTarget::disk))
                .of(MemoryPurpose::moments),
            kFirst + kSecond);
}

// A pipeline stage holds the outputs of several micro-batches at once.
TEST(OffloadedMemory, is_lower_in_every_strategy_that_keeps_activations) {
  using enum experiment::PipelineSchedule;
  Experiment deep = strategy::small_gpt(2);
  deep.model.layers[1].blocks = 4;
  const std::pair<const char*, Experiment> all[] = {
      {"mirrored", recomputed::trained_as(deep, StrategyKind::mirrored)},
      {"ddp", recomputed::trained_as(deep, StrategyKind::ddp)},
      {"fsdp full", recomputed::sharded(deep, experiment::Shard::full)},
      {"fsdp optimizer", recomputed::sharded(deep, experiment::Shard::optimizer)},
      {"tensor_parallel", recomputed::trained_as(deep, StrategyKind::tensor_parallel)},
      {"gpipe", recomputed::in_stages(deep, gpipe)},
      {"1f1b", recomputed::in_stages(deep, one_forward_one_backward)},
      {"interleaved 1f1b", recomputed::in_stages(deep, interleaved_1f1b)},
      {"zb_h1", recomputed::in_stages(deep, zb_h1)},
  };
  for (const auto& [name, kept] : all) {
    SCOPED_TRACE(name);
    const run::MemoryUse before = use_of(kept),
                         after = use_of(
                             with_offload(kept, OffloadTarget::host, OffloadTarget::nowhere));
    EXPECT_LT(after.of(MemoryPurpose::activations), before.of(MemoryPurpose::activations));
    EXPECT_GT(after.of(MemoryPurpose::host), 0);
    for (const auto part :
         {MemoryPurpose::parameters, MemoryPurpose::gradients, MemoryPurpose::moments})
      EXPECT_EQ(after.of(part), before.of(part));
  }
}

std::int64_t bytes_of(const std::vector<plan::Op>& ops) {
  std::int64_t bytes = 0;
  for (const plan::Op& op : ops)
    for (const plan::Access& read : op.reads) bytes += read.count;
  return bytes;
}

TEST(Offloading, fetches_as_many_bytes_as_it_offloads) {
  for (const StrategyKind kind :
       {StrategyKind::mirrored, StrategyKind::fsdp, StrategyKind::pipeline}) {
    Experiment e = recomputed::trained_as(strategy::small_gpt(2), kind, 4);
    e.training.optimizer.kind = experiment::OptimizerKind::adam;
    const plan::RankPlan plan = plan_of(with_offload(e, OffloadTarget::host, OffloadTarget::host));
    EXPECT_GT(bytes_of(ops_of(plan, plan::OpKind::offload)), 0);
    EXPECT_EQ(bytes_of(ops_of(plan, plan::OpKind::fetch)),
              bytes_of(ops_of(plan, plan::OpKind::offload)));
  }
}

// Addresses in the place of buffers, all in bytes: what shares a place by the layout races if the
// plan does not order it.
plan::RankPlan by_address(plan::RankPlan rank) {
  const run::Layout layout = run::layout(rank);
  const plan::BufferId arena(rank.buffers.size());
  for (plan::Program& program : rank.programs)
    for (plan::Op& op : program.ops)
      for (auto* accesses : {&op.reads, &op.writes})
        for (plan::Access& access : *accesses) {
          const run::Placement& place = layout.buffers[access.buffer.index()];
          const std::int64_t size = base::size_of(rank.buffers[access.buffer.index()].dtype);
          const bool in_arena = !place.shared && place.place == plan::MemoryKind::device;
          access = {in_arena ? arena : access.buffer,
                    (in_arena ? place.offset : 0) + access.first * size, access.count * size};
        }
  for (plan::Buffer& buffer : rank.buffers)
    buffer = {buffer.name, base::DType::byte, buffer.bytes(), buffer.shared, buffer.place};
  rank.buffers.push_back({"arena", base::DType::byte, layout.private_bytes});
  return rank;
}

// Returns races, provided that no other finding prevents the search for races.
std::vector<check::Finding> races_of(const plan::Plan& plan) {
  std::vector<check::Finding> races = check::examine(plan).findings;
  for (const check::Finding& finding : races)
    EXPECT_TRUE(finding.proof != check::Proof::structure &&
                finding.proof != check::Proof::matching && finding.proof != check::Proof::deadlock)
        << base::to_string(finding.problem);
  std::erase_if(races,
                [](const check::Finding& finding) { return finding.proof != check::Proof::races; });
  return races;
}

plan::Plan changed(const plan::Plan& plan, const ChangePlan& change) {
  std::vector<plan::RankPlan> ranks;
  for (std::int32_t r = 0; r < plan.ranks; ++r) change(ranks.emplace_back(plan.rank_plan(r)));
  return plan::from_ranks(plan.groups, plan.schedule, std::move(ranks));
}

TEST(Offloading, shares_no_memory_without_an_order_in_the_plan) {
  for (recomputed::Case one : cases()) {
    SCOPED_TRACE(one.name);
    one.experiment.training.optimizer.kind = experiment::OptimizerKind::adam;
    const plan::Plan plan =
        strategy::coarse_plan(
            experiment::resolve(
                with_offload(one.experiment, OffloadTarget::host, OffloadTarget::host), ".")
                .value())
            .value();
    EXPECT_EQ(base::to_string(check::check(plan)), "");
    const auto races =
        races_of(changed(plan, [](plan::RankPlan& rank) { rank = by_address(rank); }));
    EXPECT_EQ(races.size(), 0U) << base::to_string(races.front().problem);
  }
}

// An op that reuses the memory of offloaded data waits for the copy.
TEST(Offloading, without_waits_for_memory_would_need_as_much_as_before) {
  const Experiment e = chain(1, 12, kWidth);
  const auto forward_waits_no_more = [](plan::RankPlan& rank) {
    for (plan::Program& program : rank.programs)
      for (plan::Op& op : program.ops)
        if (op.kind == plan::OpKind::forward)
          std::erase_if(op.after, [&](const plan::Dependency& d) {
            return rank.lanes[d.lane.index()].kind == plan::LaneKind::copy;
          });
  };
  plan::RankPlan rank = plan_of(with_offload(e, OffloadTarget::host, OffloadTarget::nowhere));
  const std::int64_t bounded = run::layout(rank).private_bytes;
  forward_waits_no_more(rank);
  const run::Layout unbounded = run::layout(rank);
  EXPECT_GE(unbounded.private_bytes, bounded + 5 * kOutput);
  const plan::Plan broken = changed(
      strategy::make_plan(
          experiment::resolve(with_offload(e, OffloadTarget::host, OffloadTarget::nowhere), ".")
              .value())
          .value(),
      [&](plan::RankPlan& one) { one = by_address(one), forward_waits_no_more(one); });
  EXPECT_FALSE(races_of(broken).empty()) << "laid out as if it waited";
}

// Advised where a plan does not fit, and taken at its word.
TEST(OffloadedMemory, is_advised_if_a_plan_does_not_fit) {
  Experiment e = recomputed::trained_as(chain(2, 36, 64), StrategyKind::mirrored, 1);
  e.training.batch_per_rank = 1024;
  e.data.train_samples = 8192;
  const std::int64_t kept = use_of(e).total();
  const auto problems_with = [&](const Experiment& tried) {
    Experiment drawn = tried;
    for (topology::Device& device : drawn.topology.hosts[0].devices) device.memory_bytes = kept / 2;
    const experiment::Resolved resolved = experiment::resolve(drawn, ".").value();
    return session::find_memory_problems(resolved, strategy::make_plan(resolved).value());
  };
  const base::Problems refused = problems_with(e);
  ASSERT_FALSE(refused.empty());
  EXPECT_THAT(refused.front().advice, testing::HasSubstr("training.swap.activations=host ("));
  EXPECT_THAT(refused.front().advice, testing::ContainsRegex("activations=host \\([^;)]* [kM]B"));
  EXPECT_TRUE(problems_with(with_offload(e, OffloadTarget::host, OffloadTarget::nowhere)).empty());
}

}  // namespace
}  // namespace trainyard::tests::offloaded
