// SPDX-License-Identifier: GPL-3.0-or-later
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>
#include <unistd.h>

#include <limits>

#include "core/base/json.h"
#include "core/experiment/document.h"
#include "core/experiment/engine.h"
#include "core/experiment/fields.h"
#include "core/experiment/placement.h"
#include "tests/core/experiment/problems.h"
#include "tests/core/experiment/samples.h"

namespace trainyard::experiment {
namespace {

using base::IsProblem;
using base::Problem;
using base::ProblemCode;
using base::Problems;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

Problems validated(const Experiment& experiment) { return validate(experiment, "/nowhere"); }

// Expects that the change causes exactly this problem.
template <class Change>
void expect_problem(Change change, const std::string& where, const std::string& id, int hosts = 2,
                    int devices = 2) {
  Experiment experiment = small(hosts, devices);
  change(experiment);
  const Problems problems = validated(experiment);
  ASSERT_THAT(problems, ElementsAre(IsProblem(id, where)));
  EXPECT_FALSE(problems[0].accepted.empty());
}

RC_GTEST_PROP(Validate, finds_no_problem_in_valid_experiments, ()) {
  const Problems problems = validated(any_experiment());
  RC_LOG(base::to_string(problems));
  RC_ASSERT(problems.empty());
}

TEST(Validate, drawing_requires_a_worker) {
  expect_problem(
      [](Experiment& e) {
        for (auto& host : e.topology.hosts) host.devices.clear();
      },
      "topology.hosts", "no_worker");
  expect_problem(
      [](Experiment& e) {
        for (auto& host : e.topology.hosts)
          for (auto& device : host.devices) device.role = topology::Role::idle;
      },
      "topology.hosts", "no_worker");
  expect_problem([](Experiment& e) { e.topology = {}; }, "topology.hosts", "no_worker");
}

TEST(Validate, names_must_be_unique_in_the_drawing) {
  expect_problem([](Experiment& e) { e.topology.hosts[1].devices[1].name = "host0.cpu0"; },
                 "topology.hosts[1].devices[1].name", "duplicate_name");
  expect_problem(
      [](Experiment& e) {
        e.topology.switches.push_back({"switch", 1, 1});
      },
      "topology.switches[1].name", "duplicate_name");
}

TEST(Validate, empty_name_is_reported_once) {
  expect_problem([](Experiment& e) { e.topology.hosts[0].devices[0].name = ""; },
                 "topology.hosts[0].devices[0].name", "wrong_length");
}

TEST(Validate, link_ends_must_exist_and_be_valid) {
  expect_problem([](Experiment& e) { e.topology.links[0].to = "gone"; }, "topology.links[0].to",
                 "unknown_link_end");
  expect_problem([](Experiment& e) { e.topology.links[0].to = "host0"; }, "topology.links[0]",
                 "link_to_itself");
  expect_problem(
      [](Experiment& e) {
        e.topology.links.push_back({"host0.cpu0", "host1.cpu0", 1e9, 0});
      },
      "topology.links[2]", "link_leaves_host");
}

TEST(Validate, accepts_cycles_and_parallel_links) {
  Experiment experiment = small(3, 1);
  for (const auto& [from, to] :
       {std::pair{"host0", "host1"}, {"host1", "host2"}, {"host2", "host0"}, {"host0", "host1"}})
    experiment.topology.links.push_back({from, to, 1e9, 1e-6});
  EXPECT_THAT(validated(experiment), IsEmpty());
}

TEST(Validate, worker_without_a_route_is_reported_at_its_host) {
  expect_problem([](Experiment& e) { e.topology.links.pop_back(); }, "topology.hosts[2]",
                 "no_route", 3, 2);
}

TEST(Validate, idle_device_may_be_disconnected) {
  Experiment experiment = small(2, 1);
  experiment.topology.links.clear();
  experiment.topology.hosts[1].devices[0].role = topology::Role::idle;
  EXPECT_THAT(validated(experiment), IsEmpty());
}

TEST(Validate, one_device_requires_one_worker) {
  const auto one_device = [](Experiment& e) { e.strategy.kind = StrategyKind::one_device; };
  expect_problem(one_device, "strategy.kind", "too_many_workers");
  Experiment fits = small(1, 1);
  one_device(fits);
  EXPECT_THAT(validated(fits), IsEmpty());
}

TEST(Validate, mirrored_supports_any_number_of_workers) {
  for (const int devices : {1, 2, 16})
    EXPECT_THAT(validated(small(1, devices)), IsEmpty()) << devices;
}

TEST(Validate, multi_worker_mirrored_requires_several_hosts) {
  const auto multi_worker = [](Experiment& e) {
    e.strategy.kind = StrategyKind::multi_worker_mirrored;
  };
  Experiment one_host = small(1, 4), two_hosts = small(2, 2);
  multi_worker(one_host);
  multi_worker(two_hosts);
  EXPECT_THAT(validated(one_host), ElementsAre(IsProblem("one_host", "strategy.kind")));
  EXPECT_THAT(validated(two_hosts), IsEmpty());
}

TEST(Validate, sharded_hierarchical_requires_equal_numbers_of_workers_per_host) {
  Experiment e = small(2, 2);
  e.strategy.algorithm = collective::Algorithm::sharded_hierarchical;
  EXPECT_THAT(validated(e), IsEmpty());
  e.topology.hosts[1].devices[0].role = topology::Role::idle;
  EXPECT_THAT(validated(e), ElementsAre(IsProblem("hosts_not_even", "strategy.algorithm")));
  e.strategy.algorithm = collective::Algorithm::automatic;
  EXPECT_THAT(validated(e), IsEmpty());
}

TEST(Validate, other_machines_support_all_strategies_but_no_emulated_links) {
  Experiment experiment = small(2, 1);
  for (topology::Host& host : experiment.topology.hosts) host.address = "me@node7.example.org";
  for (const StrategyKind kind : {StrategyKind::fsdp, StrategyKind::mirrored}) {
    experiment.strategy.kind = kind;
    EXPECT_THAT(validated(experiment), IsEmpty());
  }
  for (const auto& [edit, where] :
       std::initializer_list<std::pair<void (*)(Experiment&), const char*>>{
           {[](Experiment& e) { e.run.transport = TransportKind::shm; }, "run.transport"},
           {[](Experiment& e) { e.run.links = LinkSpeed::imposed; }, "run.links"}}) {
    Experiment changed = experiment;
    edit(changed);
    EXPECT_THAT(validated(changed), ElementsAre(IsProblem("not_on_other_machines", where)));
  }
}

// An evaluator reads checkpoints from the disk, and one process has all virtual ranks.
TEST(Validate, evaluators_and_virtual_clocks_are_on_this_machine) {
  Experiment experiment = small(2, 2);
  experiment.strategy.kind = StrategyKind::parameter_server;
  experiment.run.checkpoint_every_steps = 5;
  experiment.topology.hosts[0].devices[1].role = topology::Role::parameter_server;
  experiment.topology.hosts[1].devices[1].role = topology::Role::evaluator;
  EXPECT_THAT(validated(experiment), IsEmpty());
  experiment.topology.hosts[1].address = "node7";
  EXPECT_THAT(validated(experiment),
              ElementsAre(IsProblem("not_on_other_machines", "topology.hosts[1].devices[1].role")));
  experiment.topology.hosts[1].devices[1].role = topology::Role::worker;
  experiment.run.checkpoint_every_steps = 0;
  experiment.run.clock = RunClock::virtual_time;
  EXPECT_THAT(validated(experiment), ElementsAre(IsProblem("not_on_other_machines", "run.clock")));
}

TEST(Validate, refuses_addresses_that_are_no_single_word) {
  Experiment experiment = small(2, 1);
  for (const char* address : {"a b", "-oProxyCommand=x", "node\n", "\t"}) {
    experiment.topology.hosts[1].address = address;
    EXPECT_THAT(validated(experiment),
                ElementsAre(IsProblem("bad_address", "topology.hosts[1].address")))
        << address;
  }
  experiment.network.encryption = Encryption::none;
  experiment.topology.hosts[1].address = "me@node1";
  EXPECT_THAT(validated(experiment),
              ElementsAre(IsProblem("no_trusted_network", "network.encryption")));
  experiment.network.trusted = {"10.0.0.0/8", "10.0.0.0"};
  EXPECT_THAT(validated(experiment), ElementsAre(IsProblem("bad_network", "network.trusted[1]")));
}

TEST(Validate, accepts_all_names_of_this_machine) {
  char name[256] = {};
  ASSERT_EQ(::gethostname(name, sizeof name - 1), 0);
  for (const std::string address :
       {"", "localhost", "127.0.0.1", "::1", static_cast<const char*>(name)}) {
    Experiment experiment = small();
    experiment.topology.hosts[0].address = address;
    EXPECT_THAT(validated(experiment), IsEmpty()) << address;
  }
}

TEST(Validate, accelerator_requires_emulation) {
  expect_problem(
      [](Experiment& e) {
        e.topology.hosts[0].devices[1].kind = topology::DeviceKind::gpu, e.run.emulate = false;
      },
      "topology.hosts[0].devices[1].kind", "emulation_is_off");
  Experiment idle = small(2, 2);
  idle.run.emulate = false;
  idle.topology.hosts[0].devices[1].kind = topology::DeviceKind::tpu;
  idle.topology.hosts[0].devices[1].role = topology::Role::idle;
  EXPECT_THAT(validated(idle), IsEmpty());
}

TEST(Validate, global_batch_must_not_exceed_the_samples) {
  expect_problem([](Experiment& e) { e.data.train_samples = 3; }, "data.train_samples",
                 "too_few_samples");
  expect_problem(
      [](Experiment& e) {
        e.data.train_samples = 100;
        e.training.batch_per_rank = 26;
      },
      "training.batch_per_rank", "batch_exceeds_data");
  Experiment just_fits = small(2, 2);
  just_fits.data.train_samples = 100;
  just_fits.training.batch_per_rank = 25;
  EXPECT_THAT(validated(just_fits), IsEmpty());
}

TEST(Validate, every_rank_requires_a_sample) {
  expect_problem(
      [](Experiment& e) {
        e.data.sharding.kind = data::ShardingKind::label_skew;
        e.data.sharding.alpha = 0.001;
      },
      "data.sharding.alpha", "rank_without_samples", 4, 4);
  expect_problem(
      [](Experiment& e) {
        e.data.sharding.kind = data::ShardingKind::size_skew;
        e.data.sharding.size_ratio = 1e6;
      },
      "data.sharding.size_ratio", "rank_without_samples");
}

TEST(Validate, sharding_parameters_must_be_in_range) {
  const auto with = [](double alpha, double size_ratio) {
    return [=](Experiment& e) {
      e.data.sharding.kind = data::ShardingKind::label_skew;
      e.data.sharding.alpha = alpha;
      e.data.sharding.size_ratio = size_ratio;
    };
  };
  expect_problem(with(0, 2), "data.sharding.alpha", "out_of_range");
  expect_problem(with(-1, 2), "data.sharding.alpha", "out_of_range");
  expect_problem(with(std::numeric_limits<double>::quiet_NaN(), 2), "data.sharding.alpha",
                 "out_of_range");
  expect_problem(with(1, 0.5), "data.sharding.size_ratio", "out_of_range");
}

TEST(Validate, label_skew_requires_labels) {
  Experiment experiment = small(2, 2);
  experiment.data.sharding.kind = data::ShardingKind::label_skew;
  experiment.data.kind = data::DataKind::idx;
  experiment.data.images = "images";
  EXPECT_THAT(validated(experiment), ElementsAre(IsProblem("file_not_set", "data.labels")));
}

TEST(Validate, averaged_weights_have_a_caveat_if_the_update_is_not_linear) {
  Experiment experiment = small(2, 2);
  experiment.strategy.average = AveragedQuantity::weights;
  experiment.training.optimizer.momentum = 0;
  EXPECT_EQ(equivalence_caveats(experiment), std::nullopt);
  experiment.training.clip_norm = 1;
  EXPECT_THAT(equivalence_caveats(experiment).value_or(""), HasSubstr("local norm"));
  experiment.training.clip_norm = 0;
  experiment.training.optimizer.momentum = 0.9;
  EXPECT_THAT(equivalence_caveats(experiment).value_or(""), HasSubstr("local momentum"));
  experiment.training.optimizer.kind = OptimizerKind::adam;
  EXPECT_THAT(equivalence_caveats(experiment).value_or(""), HasSubstr("local moments"));
  experiment.topology = star(1, 1);
  EXPECT_EQ(equivalence_caveats(experiment), std::nullopt) << "one rank averages nothing";
}

TEST(Validate, batch_norm_has_a_caveat_with_micro_steps) {
  Experiment experiment = small();
  experiment.topology = star(1, 1);
  experiment.model.layers.insert(experiment.model.layers.begin() + 1,
                                 {model::LayerKind::batch_norm, 0});
  EXPECT_EQ(equivalence_caveats(experiment), std::nullopt);
  experiment.training.accumulation_steps = 2;
  EXPECT_THAT(equivalence_caveats(experiment).value_or(""), HasSubstr("each micro-step"));
}

TEST(Validate, only_mirrored_averages_weights) {
  for (const StrategyKind kind : {StrategyKind::ddp, StrategyKind::multi_worker_mirrored}) {
    const auto with = [kind](Experiment& e) {
      e.topology = star(2, 2);
      e.strategy.kind = kind;
      e.strategy.average = AveragedQuantity::weights;
    };
    expect_problem(with, "strategy.average", "average_not_supported");
  }
}

TEST(Validate, samples_of_a_step_must_not_exceed_the_data) {
  const auto with = [](std::int64_t micro_steps) {
    return [micro_steps](Experiment& e) { e.training.accumulation_steps = micro_steps; };
  };
  expect_problem(with(4096), "training.accumulation_steps", "batch_exceeds_data");
  expect_problem(with(0), "training.accumulation_steps", "out_of_range");
  expect_problem(with(4097), "training.accumulation_steps", "out_of_range");
}

// A pipeline takes the samples of a step once, and a mesh once per replica.
TEST(Validate, only_replicas_multiply_the_samples_of_a_step) {
  const auto with = [](StrategyKind kind) {
    return [kind](Experiment& e) {
      e.topology = star(2, 2);
      e.model.layers.insert(e.model.layers.end() - 1, 3, {model::LayerKind::linear, 8});
      e.strategy.kind = kind;
      e.strategy.mesh = {2, 1, 2, false};
      e.training.accumulation_steps = 4096;
    };
  };
  expect_problem(with(StrategyKind::pipeline), "training.accumulation_steps", "batch_exceeds_data");
  expect_problem(with(StrategyKind::tensor_parallel), "training.accumulation_steps",
                 "batch_exceeds_data");
  expect_problem(with(StrategyKind::hybrid), "training.accumulation_steps", "batch_exceeds_data");
  expect_problem(with(StrategyKind::ddp), "training.accumulation_steps", "batch_exceeds_data");
}

TEST(Validate, shards_of_ranks_have_a_caveat) {
  Experiment experiment = small(2, 2);
  EXPECT_EQ(equivalence_caveats(experiment), std::nullopt);
  for (const auto kind : {data::ShardingKind::contiguous, data::ShardingKind::label_skew,
                          data::ShardingKind::size_skew}) {
    experiment.data.sharding.kind = kind;
    experiment.topology = star(2, 2);
    EXPECT_THAT(equivalence_caveats(experiment).value_or(""),
                HasSubstr(std::string(base::name_of(kind))));
    experiment.topology = star(1, 1);
    EXPECT_EQ(equivalence_caveats(experiment), std::nullopt) << "one rank owns all samples";
  }
}

TEST(Validate, compressed_gradients_have_a_caveat) {
  Experiment experiment = small(2, 2);
  experiment.strategy.compression.kind = compute::compression::Scheme::top_k;
  EXPECT_THAT(equivalence_caveats(experiment).value_or(""), HasSubstr("top_k"));
  experiment.topology = star(1, 1);
  EXPECT_EQ(equivalence_caveats(experiment), std::nullopt);
}

TEST(Validate, compression_requires_fp32) {
  expect_problem(
      [](Experiment& e) {
        e.strategy.compression.kind = compute::compression::Scheme::fp16;
        e.training.precision = Precision::fp64;
      },
      "strategy.compression.kind", "compression_needs_fp32");
}

TEST(Validate, gathered_encodings_require_an_algorithm_that_gathers) {
  using compute::compression::Scheme;
  for (const Scheme kind : {Scheme::int8, Scheme::sign, Scheme::top_k})
    expect_problem(
        [kind](Experiment& e) {
          e.strategy.compression.kind = kind;
          e.strategy.algorithm = collective::Algorithm::star;
        },
        "strategy.algorithm", "algorithm_cannot_gather");
  for (const auto algorithm : {collective::Algorithm::ring, collective::Algorithm::direct,
                               collective::Algorithm::automatic}) {
    Experiment experiment = small(2, 2);
    experiment.strategy.compression.kind = Scheme::top_k;
    experiment.strategy.algorithm = algorithm;
    EXPECT_THAT(validated(experiment), IsEmpty());
  }
  Experiment experiment = small(2, 2);
  experiment.strategy.compression.kind = Scheme::power_sgd;
  experiment.strategy.algorithm = collective::Algorithm::star;
  EXPECT_THAT(validated(experiment), IsEmpty()) << "its encodings can be all-reduced";
}

TEST(Validate, compression_fraction_must_be_in_range) {
  for (const double fraction : {0.0, -0.1, 1.01, 100.0}) {
    const auto written = base::parse_json(
        R"({"version": 1, "strategy": {"compression": {"kind": "top_k", "fraction": )" +
            std::to_string(fraction) + "}}}",
        "out_of_range");
    const auto read = from_json(written.value());
    ASSERT_FALSE(read.has_value()) << fraction;
    EXPECT_THAT(read.error(),
                ElementsAre(IsProblem("out_of_range", "strategy.compression.fraction")))
        << fraction;
  }
}

TEST(Validate, model_must_fit_the_data) {
  expect_problem([](Experiment& e) { e.model.layers.back().units = 7; }, "model.layers[2]",
                 "units_differ_from_classes");
  expect_problem([](Experiment& e) { e.model.layers[0].units = 0; }, "model.layers[0].units",
                 "units_not_set");
  expect_problem([](Experiment& e) { e.model.layers.pop_back(); }, "model.layers[1]",
                 "output_not_linear");
  expect_problem([](Experiment& e) { e.model.layers.clear(); }, "model.layers", "wrong_length");
}

TEST(Validate, missing_data_file_is_reported_at_its_field) {
  Experiment experiment = small();
  experiment.data.kind = data::DataKind::idx;
  experiment.data.images = "images.gz";
  experiment.data.labels = "labels.gz";
  const Problems problems = validated(experiment);
  EXPECT_THAT(problems, ElementsAre(AllOf(IsProblem("missing_file", "data.images"),
                                          Field(&Problem::code, ProblemCode::unavailable),
                                          Mentions("/nowhere/images.gz"))));
  experiment.data.kind = data::DataKind::csv;
  experiment.data.file = "table.csv";
  EXPECT_THAT(validated(experiment), ElementsAre(IsProblem("missing_file", "data.file")));
}

TEST(Validate, values_that_no_file_can_contain_are_reported) {
  expect_problem([](Experiment& e) { e.training.batch_per_rank = -5; }, "training.batch_per_rank",
                 "out_of_range");
  expect_problem(
      [](Experiment& e) { e.training.batch_per_rank = std::numeric_limits<std::int64_t>::max(); },
      "training.batch_per_rank", "out_of_range");
  expect_problem(
      [](Experiment& e) {
        e.training.optimizer.learning_rate = std::numeric_limits<double>::quiet_NaN();
      },
      "training.optimizer.learning_rate", "out_of_range");
}

TEST(Validate, reports_problems_of_all_sections_together) {
  Experiment experiment = small(2, 2);
  experiment.topology.links[0].to = "gone";
  experiment.strategy.kind = StrategyKind::one_device;
  experiment.model.layers.pop_back();
  experiment.training.epochs = 0;
  experiment.data.train_samples = 1;
  EXPECT_THAT(validated(experiment),
              UnorderedElementsAre(IsProblem("unknown_link_end", "topology.links[0].to"),
                                   IsProblem("too_many_workers", "strategy.kind"),
                                   IsProblem("output_not_linear", "model.layers[1]"),
                                   IsProblem("out_of_range", "training.epochs"),
                                   IsProblem("too_few_samples", "data.train_samples")));
}

TEST(Validate, incompatible_settings_are_reported_at_their_field) {
  using compute::compression::Scheme;
  expect_problem(
      [](Experiment& e) {
        e.strategy.kind = StrategyKind::data_parallel, e.training.accumulation_steps = 2;
      },
      "training.accumulation_steps", "accumulation_not_supported", 1);
  expect_problem(
      [](Experiment& e) {
        e.strategy.average = AveragedQuantity::weights, e.strategy.compression.kind = Scheme::fp16;
      },
      "strategy.compression.kind", "strategy_without_compression", 1);
  expect_problem(
      [](Experiment& e) {
        e.strategy.average = AveragedQuantity::weights, e.training.non_finite = NonFinite::skip;
      },
      "training.non_finite", "no_global_gradient", 1);
  expect_problem(
      [](Experiment& e) {
        e.strategy.kind = StrategyKind::data_parallel, e.strategy.compression.kind = Scheme::fp16;
      },
      "strategy.compression.kind", "strategy_without_compression", 1);
}

TEST(Validate, unsupported_operations_of_an_engine_are_reported_at_their_field) {
  if (built_engines().size() < 2) GTEST_SKIP() << "no other engine in this build";
  const auto by_gloo = [](StrategyKind kind, compute::compression::Scheme scheme) {
    return [=](Experiment& e) {
      e.strategy.kind = kind, e.strategy.compression.kind = scheme,
      e.strategy.engine = Engine::gloo;
    };
  };
  expect_problem(by_gloo(StrategyKind::mirrored, compute::compression::Scheme::fp16),
                 "strategy.compression.kind", "engine_without_compression", 1);
  expect_problem(by_gloo(StrategyKind::data_parallel, compute::compression::Scheme::none),
                 "strategy.engine", "engine_lacks_operation", 1);
}

}  // namespace
}  // namespace trainyard::experiment
