// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/experiment/document.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>
#include <unistd.h>

#include "core/base/json.h"
#include "tests/core/experiment/golden.h"
#include "tests/core/experiment/problems.h"
#include "tests/core/experiment/samples.h"

namespace trainyard::experiment {
namespace {

using base::IsProblem;
using base::Problem;
using base::ProblemCode;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::Field;
using ::testing::HasSubstr;
using ::testing::Not;

class Document : public ::testing::Test {
 protected:
  void SetUp() override {
    file_ = std::filesystem::temp_directory_path() /
            ("trainyard-document-" + std::to_string(::getpid()) + ".json");
    ASSERT_TRUE(save(small(), file_).has_value());
  }
  void TearDown() override { std::filesystem::remove(file_); }

  void write(const std::string& text) {
    ASSERT_TRUE(base::write_file_atomically(file_, text).has_value());
  }

  std::filesystem::path file_;
};

RC_GTEST_PROP(Documents, load_a_saved_random_experiment_unchanged, ()) {
  Experiment experiment = any_experiment();
  reset_foreign_fields(experiment);
  const auto file = std::filesystem::temp_directory_path() /
                    ("trainyard-saved-" + std::to_string(::getpid()) + ".json");
  RC_ASSERT(save(experiment, file).has_value());
  const auto loaded = load(file);
  std::filesystem::remove(file);
  RC_ASSERT(loaded.has_value());
  RC_ASSERT(*loaded == experiment);
  RC_ASSERT(to_document(*loaded) == to_document(experiment));
}

RC_GTEST_PROP(Documents, read_a_random_experiment_from_its_text_unchanged, ()) {
  const Experiment experiment = any_experiment();
  const auto read = from_json(base::parse_json(to_json(experiment).dump(), "").value());
  RC_ASSERT(read.has_value());
  RC_ASSERT(*read == experiment);
}

TEST_F(Document, loads_a_saved_file_unchanged) {
  const auto loaded = load(file_);
  ASSERT_TRUE(loaded.has_value()) << base::to_string(loaded.error());
  EXPECT_EQ(*loaded, small());
}

TEST_F(Document, missing_fields_have_their_defaults) {
  write(R"({"version": 1, "training": {"epochs": 3}})");
  const auto loaded = load(file_);
  ASSERT_TRUE(loaded.has_value());
  Experiment expected;
  expected.training.epochs = 3;
  EXPECT_EQ(*loaded, expected);
}

TEST_F(Document, problems_have_file_and_path) {
  write(R"({"version": 1, "training": {"batch_per_rank": 0}, "colour": 3})");
  const auto loaded = load(file_);
  ASSERT_FALSE(loaded.has_value());
  EXPECT_THAT(loaded.error(),
              ElementsAre(IsProblem("out_of_range", file_.string() + ": training.batch_per_rank"),
                          IsProblem("unknown_key", file_.string() + ": colour")));
}

TEST_F(Document, syntax_error_has_file_line_and_column) {
  write("{\n  \"version\": 1,\n  oops\n}");
  const auto loaded = load(file_);
  ASSERT_FALSE(loaded.has_value());
  EXPECT_THAT(loaded.error().front(),
              AllOf(IsProblem("bad_json", file_.string()), Mentions("line 3, column 3")));
}

TEST_F(Document, missing_file_is_bad_input) {
  const auto loaded = load(file_.string() + ".gone");
  ASSERT_FALSE(loaded.has_value());
  EXPECT_EQ(loaded.error().front().code, ProblemCode::bad_input);
  EXPECT_THAT(loaded.error(), ElementsAre(IsProblem("missing_file", file_.string() + ".gone")));
}

TEST_F(Document, newer_version_is_the_only_problem) {
  write(R"({"version": 3, "what_version_three_brings": true})");
  const auto loaded = load(file_);
  ASSERT_FALSE(loaded.has_value());
  ASSERT_EQ(loaded.error().size(), 1u) << base::to_string(loaded.error());
  EXPECT_EQ(loaded.error().front().code, ProblemCode::refused);
  EXPECT_EQ(loaded.error().front().id, "newer_version");
}

TEST_F(Document, saving_to_a_read_only_directory_fails) {
  const auto saved = save(small(), "/proc/trainyard.json");
  ASSERT_FALSE(saved.has_value());
  EXPECT_THAT(saved.error(), IsProblem("missing_file", "/proc/trainyard.json"));
}

TEST_F(Document, overrides_accept_json_and_plain_text) {
  const auto loaded =
      load(file_, {"training.batch_per_rank=64", "strategy.kind=one_device", "run.emulate=false",
                   "topology.hosts[0].name=2024", "name=\"quoted\"",
                   "model.layers=[{\"kind\": \"linear\", \"units\": 0}]", "notes=a = b",
                   "training.optimizer.learning_rate=1e-3"});
  ASSERT_TRUE(loaded.has_value()) << base::to_string(loaded.error());
  EXPECT_EQ(loaded->training.batch_per_rank, 64);
  EXPECT_EQ(loaded->strategy.kind, StrategyKind::one_device);
  EXPECT_FALSE(loaded->run.emulate);
  EXPECT_EQ(loaded->topology.hosts[0].name, "2024");
  EXPECT_EQ(loaded->name, "quoted");
  EXPECT_EQ(loaded->model.layers.size(), 1u);
  EXPECT_EQ(loaded->notes, "a = b");
  EXPECT_DOUBLE_EQ(loaded->training.optimizer.learning_rate, 1e-3);
}

TEST_F(Document, override_sets_a_field_that_the_file_lacks) {
  write(R"({"version": 1})");
  const auto loaded = load(file_, {"training.schedule.kind=cosine"});
  ASSERT_TRUE(loaded.has_value()) << base::to_string(loaded.error());
  EXPECT_EQ(loaded->training.schedule.kind, ScheduleKind::cosine);
}

TEST_F(Document, override_of_an_unknown_key_suggests_a_similar_key) {
  const auto loaded = load(file_, {"training.bach_per_rank=64"});
  ASSERT_FALSE(loaded.has_value());
  EXPECT_THAT(loaded.error().front(),
              AllOf(IsProblem("unknown_key", "--set: training.bach_per_rank"),
                    Mentions("\"batch_per_rank\"")));
}

TEST_F(Document, unknown_key_lists_only_keys_of_the_kind_and_of_the_file_format) {
  write(R"({"version": 2, "topology": {"hosts": [{"name": "h", "devices": [
            {"name": "d", "cuont": 2}]}]},
            "model": {"layers": [{"kind": "relu", "colour": 4}, {"kind": "linear"}]}})");
  const auto loaded = load(file_);
  ASSERT_FALSE(loaded);
  EXPECT_THAT(loaded.error(),
              ElementsAre(AllOf(IsProblem("unknown_key", EndsWith("devices[0].cuont")),
                                Mentions("Did you mean \"count\"?")),
                          AllOf(IsProblem("unknown_key", EndsWith("layers[0].colour")),
                                Field(&Problem::accepted, Not(HasSubstr("heads"))))));
}

TEST_F(Document, override_of_a_list_of_texts_accepts_numbers) {
  const auto loaded = load(file_, {"data.kind=csv", "data.csv.ignored=[3, \"id\"]"});
  ASSERT_TRUE(loaded) << base::to_string(loaded.error());
  EXPECT_THAT(loaded->data.csv.ignored, ElementsAre("3", "id"));
}

TEST_F(Document, override_with_broken_json_is_reported) {
  const auto loaded = load(file_, {"model.layers=[{kind: linear}]"});
  ASSERT_FALSE(loaded);
  EXPECT_THAT(loaded.error(),
              ElementsAre(AllOf(IsProblem("bad_json", "--set: model.layers"), Mentions("column 3"),
                                base::Advises("single quotes"))));
}

TEST_F(Document, all_invalid_overrides_are_reported) {
  const auto loaded = load(file_, {"training", "=3", "topology.hosts[7].name=x", "name[0]=x"});
  ASSERT_FALSE(loaded.has_value());
  EXPECT_THAT(loaded.error(), ElementsAre(IsProblem("not_an_override", "--set training"),
                                          IsProblem("not_an_override", "--set =3"),
                                          IsProblem("bad_path", "--set: topology.hosts[7].name"),
                                          IsProblem("bad_path", "--set: name[0]")));
  EXPECT_EQ(loaded.error().front().code, ProblemCode::bad_usage);
}

// Text of the saved file, without its name.
TEST_F(Document, saved_file_contains_only_fields_in_use) {
  Experiment experiment;
  experiment.name = "least";
  topology::Host& host = experiment.topology.hosts.emplace_back();
  host.name = "host0";
  for (const char* name : {"cpu0", "cpu1", "cpu2"})
    host.devices.push_back({.name = name, .cores = 2});
  experiment.model.layers = {{model::LayerKind::linear, 4}, {model::LayerKind::relu}};
  experiment.training.optimizer = {.kind = OptimizerKind::adam, .beta1 = 0.8};
  EXPECT_EQ(to_document(experiment), R"({
  "version": 2,
  "name": "least",
  "topology": {
    "hosts": [
      {
        "name": "host0",
        "devices": [
          {"name": "cpu", "count": 3, "kind": "cpu", "cores": 2}
        ]
      }
    ]
  },
  "model": {
    "layers": [
      {"kind": "linear", "units": 4},
      {"kind": "relu"}
    ]
  },
  "training": {
    "optimizer": {"kind": "adam", "beta1": 0.8}
  }
}
)");
}

TEST_F(Document, saved_file_omits_the_algorithm_that_its_strategy_requires) {
  Experiment experiment = small();
  experiment.strategy.kind = StrategyKind::tpu;
  experiment.strategy.algorithm = collective::Algorithm::automatic;
  EXPECT_THAT(to_document(experiment), Not(HasSubstr("algorithm")));
  experiment.strategy.algorithm = collective::Algorithm::ring;
  ASSERT_TRUE(save(experiment, file_));
  EXPECT_EQ(load(file_)->strategy.algorithm, collective::Algorithm::ring);
}

TEST_F(Document, key_of_another_kind_is_refused_and_its_kinds_are_listed) {
  write(R"({"version": 2, "topology": {"hosts": [{"name": "h", "devices": [{"name": "d"}]}]},
            "model": {"layers": [{"kind": "relu", "heads": 4}, {"kind": "linear"}]},
            "strategy": {"kind": "mirrored", "gossip": {"graph": "torus"}}})");
  const auto loaded = load(file_);
  ASSERT_FALSE(loaded);
  EXPECT_THAT(loaded.error(),
              ElementsAre(AllOf(IsProblem("foreign_key", EndsWith(": model.layers[0].heads")),
                                Field(&Problem::accepted, HasSubstr("attention, transformer"))),
                          AllOf(IsProblem("foreign_key", EndsWith(": strategy.gossip")),
                                Field(&Problem::accepted, HasSubstr("gossip")))));
}

TEST_F(Document, mesh_may_contain_an_unused_sharding) {
  write(R"({"version": 2, "strategy": {"kind": "hybrid", "fsdp": {"shard": "optimizer"}}})");
  EXPECT_TRUE(load(file_));
}

TEST_F(Document, version_1_opens_with_the_keys_of_other_kinds) {
  write(R"({"version": 1, "model": {"layers": [{"kind": "relu", "heads": 4, "units": 3}]},
            "strategy": {"kind": "mirrored", "gossip": {"graph": "torus"}}})");
  const auto loaded = load(file_);
  ASSERT_TRUE(loaded) << base::to_string(loaded.error());
  EXPECT_EQ(loaded->model.layers[0].units, 0);
  EXPECT_EQ(loaded->strategy.gossip, GossipSpec{});
}

TEST_F(Document, override_may_be_a_device_group) {
  write(R"({"version": 2, "topology": {"hosts": [{"name": "h", "devices": [{"name": "d"}]}]}})");
  const auto names = [&](const std::string& override) {
    std::vector<std::string> all;
    const auto loaded = load(file_, {override});
    if (!loaded) return std::vector{base::to_string(loaded.error())};
    for (const auto& device : loaded->topology.hosts[0].devices) all.push_back(device.name);
    return all;
  };
  EXPECT_THAT(names("topology.hosts[0].devices=[{\"name\": \"cpu\", \"count\": 3}]"),
              ElementsAre("cpu0", "cpu1", "cpu2"));
  EXPECT_THAT(names("topology.hosts[0].devices[0].count=2"), ElementsAre("d0", "d1"));
  const auto refused = load(file_, {"topology.hosts[0].devices[0].count=0"});
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error(), Contains(IsProblem("bad_count", EndsWith("devices[0].count"))));
}

TEST_F(Document, override_of_a_kind_removes_keys_of_the_previous_kind) {
  write(R"({"version": 2, "strategy": {"kind": "mirrored", "average": "weights",
            "bucket_bytes": 77, "segment_bytes": 0}})");
  std::vector<std::string> notes;
  const auto loaded = load(file_, {"strategy.kind=gossip", "strategy.gossip.graph=torus"}, &notes);
  ASSERT_TRUE(loaded) << base::to_string(loaded.error());
  EXPECT_EQ(loaded->strategy.average, AveragedQuantity::gradients);
  EXPECT_EQ(loaded->strategy.gossip.graph, GossipGraph::torus);
  EXPECT_THAT(notes,
              ElementsAre(AllOf(HasSubstr("gossip"), HasSubstr("strategy.average=\"weights\""),
                                Not(HasSubstr("segment")))));
}

TEST_F(Document, override_of_a_kind_keeps_keys_of_other_objects) {
  write(R"({"version": 2, "topology": {"hosts": [{"name": "h", "devices": [{"name": "d"}]}]},
            "model": {"layers": [{"kind": "relu", "heads": 4}, {"kind": "linear"}]}})");
  const auto loaded = load(file_, {"strategy.kind=gossip"});
  ASSERT_FALSE(loaded);
  EXPECT_THAT(loaded.error(), ElementsAre(IsProblem("foreign_key", EndsWith("layers[0].heads"))));
}

TEST_F(Document, override_of_a_key_of_another_kind_is_refused) {
  write(R"({"version": 2, "topology": {"hosts": [{"name": "h", "devices": [{"name": "d"}]}]}})");
  for (const char* value : {"torus", "a wrong value"}) {
    const auto loaded = load(file_, {std::string("strategy.gossip.graph=") + value});
    ASSERT_FALSE(loaded);
    EXPECT_THAT(loaded.error(), ElementsAre(IsProblem("foreign_key", "--set: strategy.gossip")));
  }
}

TEST_F(Document, overrides_and_problems_address_the_expanded_devices) {
  write(R"({"version": 2, "topology": {"hosts": [{"name": "h", "devices": [
            {"name": "cpu", "count": 3}, {"name": "last", "cores": 0}]}]}})");
  const auto loaded = load(file_, {"topology.hosts[0].devices[1].cores=0"});
  ASSERT_FALSE(loaded);
  EXPECT_THAT(loaded.error(),
              ElementsAre(IsProblem("out_of_range", "--set: topology.hosts[0].devices[1].cores"),
                          IsProblem("out_of_range",
                                    file_.string() + ": topology.hosts[0].devices[3].cores")));
}

TEST_F(Document, link_may_name_a_member_of_a_device_group) {
  write(R"({"version": 2, "topology": {"hosts": [{"name": "h", "devices": [
            {"name": "cpu", "count": 3}]}], "links": [{"from": "cpu0", "to": "cpu2"}]}})");
  const auto loaded = load(file_);
  ASSERT_TRUE(loaded) << base::to_string(loaded.error());
  EXPECT_THAT(topology::validate(loaded->topology, ""), testing::IsEmpty());
}

TEST_F(Document, editing_a_member_of_a_device_group_splits_the_entry) {
  write(R"({"version": 2, "topology": {"hosts": [{"name": "h", "devices": [
            {"name": "cpu", "count": 5}]}]}})");
  const auto loaded = load(file_, {"topology.hosts[0].devices[2].role=idle"});
  ASSERT_TRUE(loaded) << base::to_string(loaded.error());
  EXPECT_THAT(to_document(*loaded),
              AllOf(HasSubstr(R"({"name": "cpu", "count": 2, "kind": "cpu"})"),
                    HasSubstr(R"({"name": "cpu2", "kind": "cpu", "role": "idle"})"),
                    HasSubstr(R"({"name": "cpu3", "count": 2, "kind": "cpu"})")));
}

TEST_F(Document, bad_count_and_other_problems_are_reported_together) {
  write(
      R"({"version": 2, "training": {"epochs": 0}, "topology": {"hosts": [{"name": "h", "devices": [
            {"name": "cpu", "count": 0}]}]}})");
  const auto loaded = load(file_);
  ASSERT_FALSE(loaded);
  EXPECT_THAT(loaded.error(), ElementsAre(IsProblem("bad_count", EndsWith("devices[0].count")),
                                          IsProblem("out_of_range", EndsWith("training.epochs"))));
}

TEST(Schema, contains_all_keys_bounds_and_choices) {
  const base::Json properties = schema()["properties"], document = to_json(Experiment{});
  for (const auto& [key, value] : document.items()) EXPECT_TRUE(properties.contains(key)) << key;
  EXPECT_EQ(properties["training"]["properties"]["batch_per_rank"]["minimum"], 1);
  EXPECT_EQ(properties["strategy"]["properties"]["kind"]["enum"],
            (base::Json{"one_device", "mirrored", "multi_worker_mirrored", "ddp", "central_storage",
                        "data_parallel", "parameter_server", "gossip", "local_sgd", "tpu",
                        "model_parallel", "pipeline", "fsdp", "tensor_parallel", "hybrid", "rpc"}));
  EXPECT_EQ(properties["training"]["properties"]["multiplies"]["enum"],
            (base::Json{"auto", "full", "bfloat16", "tf32"}));
  EXPECT_EQ(properties["strategy"]["properties"]["compression"]["properties"]["kind"]["enum"],
            (base::Json{"none", "fp16", "bf16", "int8", "sign", "top_k", "random_k", "power_sgd"}));
  EXPECT_EQ(properties["strategy"]["properties"]["engine"]["enum"],
            (base::Json{"own", "gloo", "nccl"}));
  EXPECT_EQ(schema()["additionalProperties"], false);
}

}  // namespace
}  // namespace trainyard::experiment
