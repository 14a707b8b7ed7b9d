// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/experiment/resolve.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <numeric>

#include "core/base/fields.h"
#include "tests/core/experiment/problems.h"
#include "tests/core/experiment/resolved.h"
#include "tests/core/experiment/samples.h"

namespace trainyard::experiment {
namespace {

using base::IsProblem;
using base::Json;
using ::testing::ElementsAre;

base::Problem error_of(const Json& json) {
  const auto read = resolved_from_json(json);
  return read ? base::Problem{} : read.error();
}

RC_GTEST_PROP(Resolve, sent_experiment_is_received_unchanged, ()) {
  const Resolved sent = resolved(any_experiment());
  const auto received = resolved_from_json(base::parse_json(to_json(sent).dump(), "").value());
  RC_ASSERT(received.has_value());
  RC_ASSERT(received->document == sent.document);
  RC_ASSERT(to_json(*received).dump() == to_json(sent).dump());
  RC_ASSERT(received->ranks == sent.ranks);
  RC_ASSERT(received->hosts == sent.hosts);
  RC_ASSERT(received->model.elements == sent.model.elements);
  RC_ASSERT(received->steps == sent.steps);
  RC_ASSERT(received->tail_samples == sent.tail_samples);
  RC_ASSERT(received->global_batch == sent.global_batch);
}

RC_GTEST_PROP(Resolve, is_idempotent, ()) {
  const Resolved once = resolved(any_experiment());
  RC_ASSERT(resolved(once.document).document == once.document);
}

RC_GTEST_PROP(Resolve, steps_of_an_epoch_contain_every_sample_once, ()) {
  const Resolved r = resolved(any_experiment());
  RC_ASSERT(r.full_steps_per_epoch * r.global_batch + r.tail_samples == r.data.train_samples);
  if (!data::owns_samples(r.document.data.sharding)) {
    RC_ASSERT(r.tail_samples < r.global_batch);
    RC_ASSERT(r.steps_per_epoch == r.full_steps_per_epoch + (r.tail_samples > 0 ? 1 : 0));
  }
  RC_ASSERT(r.full_steps_per_epoch >= 1);
}

RC_GTEST_PROP(Resolve, counts_every_sample_for_one_rank_and_class, ()) {
  const Resolved r = resolved(any_experiment());
  RC_ASSERT(std::ssize(r.shards) == r.world());
  const auto sizes = data::samples_by_rank(r.shards);
  RC_ASSERT(std::accumulate(sizes.begin(), sizes.end(), std::int64_t{0}) == r.data.train_samples);
  for (const auto& of_rank : r.shards) RC_ASSERT(std::ssize(of_rank) == r.data.classes);
}

TEST(Resolve, counts_batches_and_steps) {
  Experiment experiment = small(1, 4);
  experiment.data.train_samples = 1000;
  experiment.training.batch_per_rank = 32;
  experiment.training.epochs = 3;
  const Resolved r = resolved(experiment);
  EXPECT_EQ(r.world(), 4);
  EXPECT_EQ(r.global_batch, 128);
  EXPECT_EQ(r.full_steps_per_epoch, 7);
  EXPECT_EQ(r.tail_samples, 104);
  EXPECT_EQ(r.steps_per_epoch, 8);
  EXPECT_EQ(r.steps, 24);
}

TEST(Resolve, steps_take_precedence_over_epochs) {
  Experiment experiment = small();
  experiment.training.steps = 5;
  EXPECT_EQ(resolved(experiment).steps, 5);
}

TEST(Resolve, ranks_are_the_workers_in_drawing_order) {
  Experiment experiment = small(2, 2);
  experiment.topology.hosts[0].devices[1].role = topology::Role::idle;
  const Resolved r = resolved(experiment);
  EXPECT_THAT(r.ranks,
              ElementsAre(topology::DeviceId(0), topology::DeviceId(2), topology::DeviceId(3)));
  EXPECT_THAT(r.hosts, ElementsAre(0, 1, 1));
}

TEST(Resolve, one_device_has_the_same_global_batch) {
  const Resolved drawn = resolved(small(2, 2)), alone = on_one_device(drawn);
  ASSERT_GT(drawn.world(), 1);
  EXPECT_EQ(alone.world(), 1);
  EXPECT_EQ(alone.ranks.front(), drawn.ranks.front());
  EXPECT_EQ(alone.document.training.batch_per_rank,
            drawn.document.training.batch_per_rank * drawn.world());
  EXPECT_EQ(alone.global_batch, drawn.global_batch);
  EXPECT_EQ(alone.steps, drawn.steps);
}

TEST(Resolve, one_device_is_the_fastest_worker) {
  Experiment e = small(2, 2);
  e.topology.hosts[0].devices[0].slow_down = 5;
  EXPECT_EQ(on_one_device(resolved(e)).ranks.front(), topology::DeviceId(1));
  e.topology.hosts[1].devices[1].peak_flops *= 2;
  EXPECT_EQ(on_one_device(resolved(e)).ranks.front(), topology::DeviceId(3));
  e.topology.hosts[1].devices[1].jitter = 3;  // 2.5 times longer in the mean
  EXPECT_EQ(on_one_device(resolved(e)).ranks.front(), topology::DeviceId(1));
  e = small(1, 3);
  e.topology.hosts[0].devices[2].role = topology::Role::chief;
  EXPECT_EQ(on_one_device(resolved(e)).ranks.front(), topology::DeviceId(2))
      << "the chief precedes equal workers";
}

TEST(Resolve, largest_shard_determines_the_steps_of_an_epoch) {
  Experiment experiment = small(1, 4);
  experiment.data.train_samples = 1500;
  experiment.data.sharding.kind = data::ShardingKind::size_skew;
  experiment.data.sharding.size_ratio = 8;  // 800, 400, 200 and 100
  experiment.training.batch_per_rank = 25;
  const Resolved r = resolved(experiment);
  EXPECT_EQ(r.global_batch, 100);
  EXPECT_EQ(r.full_steps_per_epoch, 4);
  EXPECT_EQ(r.tail_samples, 1100);
  EXPECT_EQ(r.steps_per_epoch, 32);
  EXPECT_EQ(r.steps, 5 * 32);
  const Resolved alone = on_one_device(r);
  EXPECT_EQ(alone.global_batch, 100);
  EXPECT_EQ(alone.steps_per_epoch, 15);
  EXPECT_FALSE(data::owns_samples(alone.document.data.sharding));
}

// Each rank reads the data files again; they must be unchanged.
TEST(Resolve, sampler_draws_the_counted_samples) {
  Experiment experiment = small(1, 3);
  experiment.data.train_samples = 300;
  experiment.data.sharding.kind = data::ShardingKind::label_skew;
  Resolved r = resolved(experiment);
  data::Sampler known = sampler(r).value();
  for (std::int64_t rank = 0; rank < 3; ++rank) {
    std::vector<std::int64_t> classes(10);
    for (std::int64_t step = 0; step < r.steps_per_epoch; ++step)
      for (const std::int64_t index : known.indices(step, rank))
        ++classes[static_cast<std::size_t>(index % 10)];
    EXPECT_EQ(classes, r.shards[static_cast<std::size_t>(rank)]);
  }
  --r.shards[0][4], ++r.shards[0][5];
  EXPECT_EQ(sampler(r).error().code, base::ProblemCode::refused);
}

TEST(Resolve, resolves_all_automatic_settings) {
  Experiment experiment = small();
  experiment.data.kind = data::DataKind::blobs;
  experiment.data.classes = 4;
  const Experiment document = resolved(experiment).document;
  EXPECT_EQ(document.model.layers.back().units, 4);
  EXPECT_EQ(document.training.steps, 5 * 125);
  EXPECT_EQ(document.run.evaluate_every_steps, 125);
}

TEST(Resolve, transport_depends_on_the_hosts) {
  const auto transport = [](int hosts, int devices) {
    return resolved(small(hosts, devices)).document.run.transport;
  };
  EXPECT_EQ(transport(1, 1), TransportKind::shm);
  EXPECT_EQ(transport(1, 4), TransportKind::shm);
  EXPECT_EQ(transport(4, 1), TransportKind::zmq);
  EXPECT_EQ(transport(2, 2), TransportKind::automatic);
  Experiment asked = small(1, 2);
  asked.run.transport = TransportKind::zmq;
  EXPECT_EQ(resolved(asked).document.run.transport, TransportKind::zmq);
}

TEST(Resolve, fails_with_the_first_problem_of_validate) {
  Experiment experiment = small();
  experiment.training.epochs = 0;
  const auto result = resolve(experiment, "/nowhere");
  ASSERT_FALSE(result.has_value());
  EXPECT_EQ(result.error(), validate(experiment, "/nowhere").front());
}

TEST(Resolve, refuses_more_steps_than_the_document_allows) {
  Experiment experiment = small(1, 1);
  experiment.training.epochs = 1'000'000;
  experiment.training.batch_per_rank = 1;
  experiment.data.train_samples = 100'000'000;
  const auto result = resolve(experiment, "/nowhere");
  ASSERT_FALSE(result.has_value());
  EXPECT_EQ(result.error().where, "training.steps");
}

TEST(Received, damage_is_reported_without_a_crash) {
  const Json good = to_json(resolved(small()));
  const auto broken = [&](const std::string& path, Json value) {
    Json json = good;
    EXPECT_TRUE(base::set_value_at(json, path, std::move(value)).has_value());
    return error_of(json);
  };
  EXPECT_EQ(error_of(good), base::Problem{});
  EXPECT_THAT(error_of(Json::array()), IsProblem("not_a_resolved_experiment", ""));
  EXPECT_THAT(error_of({{"document", good["document"]}}),
              IsProblem("not_a_resolved_experiment", ""));
  EXPECT_THAT(broken("document.version", 3), IsProblem("newer_version", "version"));
  EXPECT_THAT(broken("document.topology.hosts[0].devices", Json::array()),
              IsProblem("no_worker", "topology.hosts"));
  EXPECT_THAT(broken("document.training.batch_per_rank", 5000),
              IsProblem("batch_exceeds_data", "training.batch_per_rank"));
  EXPECT_THAT(broken("document.model.layers[2].units", 9),
              IsProblem("units_differ_from_classes", "model.layers[2]"));
  EXPECT_THAT(broken("data.classes", -1), IsProblem("out_of_range", "data.classes"));
  EXPECT_THAT(broken("data.sample_shape", {28, 0}),
              IsProblem("bad_data_summary", "data.sample_shape"));
  EXPECT_THAT(broken("data.sample_shape", {1'000'000'000'000, 1'000'000'000'000}),
              IsProblem("bad_data_summary", "data.sample_shape"));
  EXPECT_THAT(broken("data.sample_shape", "x"), IsProblem("wrong_type", "data.sample_shape"));
}

TEST(Received, shards_must_match_ranks_and_classes) {
  Experiment experiment = small(1, 2);
  experiment.data.sharding.kind = data::ShardingKind::size_skew;
  const Json good = to_json(resolved(experiment));
  const auto with = [&](Json shards) {
    Json json = good;
    json["shards"] = std::move(shards);
    return error_of(json);
  };
  EXPECT_EQ(error_of(good), base::Problem{});
  Json counts = good["shards"];
  EXPECT_THAT(with(Json::array()), IsProblem("bad_shards", "shards"));
  EXPECT_THAT(with({counts[0]}),
              testing::AllOf(IsProblem("bad_shards", "shards"), Mentions("8,000")));
  EXPECT_THAT(with({counts[0], "x"}), IsProblem("bad_shards", "shards"));
  EXPECT_THAT(with({counts[0], counts[0]}), IsProblem("bad_shards", "shards"));
  counts[1][3] = -5;
  EXPECT_THAT(with(counts), IsProblem("bad_shards", "shards"));
  counts[1][3] = 1e9;
  EXPECT_THAT(with(counts), IsProblem("bad_shards", "shards"));
  Json without = good;
  without.erase("shards");
  EXPECT_THAT(error_of(without), IsProblem("bad_shards", "shards"));
  const Json one_class(std::vector<std::int64_t>{4000, 4000, 0, 0, 0, 0, 0, 0, 0, 0}),
      nothing(std::vector<std::int64_t>(10));
  EXPECT_THAT(with({one_class, nothing}),
              testing::AllOf(IsProblem("rank_without_samples"), Mentions("rank 1")));
}

TEST(Received, experiment_does_not_access_data_files) {
  Experiment experiment = small();
  experiment.data.kind = data::DataKind::idx;
  experiment.data.images = "/nowhere/images";
  experiment.data.labels = "/nowhere/labels";
  const Json sent{{"document", to_json(experiment)},
                  {"data",
                   {{"sample_shape", {28, 28}},
                    {"classes", 10},
                    {"train_samples", 6000},
                    {"held_out_samples", 1000}}}};
  const auto received = resolved_from_json(sent);
  ASSERT_TRUE(received.has_value()) << base::to_string(received.error());
  EXPECT_EQ(received->document.data.train_samples, 6000);
  EXPECT_EQ(received->model.features, 784);
}

TEST(Received, experiment_must_state_what_is_divided_by) {
  Json sent = to_json(resolved(small()));
  for (const char* key : {"sample_shape", "classes", "train_samples"}) {
    Json damaged = sent;
    damaged["data"].erase(key);
    EXPECT_THAT(error_of(damaged), IsProblem("missing_field", std::string("data.") + key));
  }
  sent["start"] = {{"step", "five"}};
  EXPECT_THAT(error_of(sent), IsProblem("wrong_type", "start.step"));
}

}  // namespace
}  // namespace trainyard::experiment
