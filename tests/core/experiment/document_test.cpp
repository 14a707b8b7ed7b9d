// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/experiment/document.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>
#include <unistd.h>

#include "core/base/json.h"
#include "tests/core/experiment/golden.h"
#include "tests/core/experiment/samples.h"

namespace trainyard::experiment {
namespace {

using base::Problem;
using base::ProblemCode;
using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::Field;
using ::testing::HasSubstr;

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

RC_GTEST_PROP(Documents, a_random_experiment_survives_the_round_trip_through_text, ()) {
  const Experiment experiment = any_experiment();
  const auto read = from_json(base::parse_json(to_json(experiment).dump(), "").value());
  RC_ASSERT(read.has_value());
  RC_ASSERT(*read == experiment);
}

TEST_F(Document, a_saved_file_loads_as_what_was_saved) {
  const auto loaded = load(file_);
  ASSERT_TRUE(loaded.has_value()) << base::to_string(loaded.error());
  EXPECT_EQ(*loaded, small());
}

TEST_F(Document, what_a_file_leaves_out_takes_its_default) {
  write(R"({"version": 1, "training": {"epochs": 3}})");
  const auto loaded = load(file_);
  ASSERT_TRUE(loaded.has_value());
  Experiment expected;
  expected.training.epochs = 3;
  EXPECT_EQ(*loaded, expected);
}

TEST_F(Document, every_problem_of_a_file_is_told_with_file_and_path) {
  write(R"({"version": 1, "training": {"batch_per_rank": 0}, "colour": 3})");
  const auto loaded = load(file_);
  ASSERT_FALSE(loaded.has_value());
  EXPECT_THAT(loaded.error(),
              ElementsAre(Field(&Problem::where, file_.string() + ": training.batch_per_rank"),
                          Field(&Problem::where, file_.string() + ": colour")));
}

TEST_F(Document, a_syntax_error_is_told_with_file_line_and_column) {
  write("{\n  \"version\": 1,\n  oops\n}");
  const auto loaded = load(file_);
  ASSERT_FALSE(loaded.has_value());
  EXPECT_EQ(loaded.error().front().where, file_.string());
  EXPECT_THAT(loaded.error().front().what, HasSubstr("line 3, column 3"));
}

TEST_F(Document, a_missing_file_is_bad_input) {
  const auto loaded = load(file_.string() + ".gone");
  ASSERT_FALSE(loaded.has_value());
  EXPECT_EQ(loaded.error().front().code, ProblemCode::bad_input);
  EXPECT_THAT(loaded.error().front().what, HasSubstr("No such file"));
}

TEST_F(Document, a_newer_version_is_refused_in_one_sentence) {
  write(R"({"version": 2, "what_version_two_brings": true})");
  const auto loaded = load(file_);
  ASSERT_FALSE(loaded.has_value());
  ASSERT_EQ(loaded.error().size(), 1u) << base::to_string(loaded.error());
  EXPECT_EQ(loaded.error().front().code, ProblemCode::refused);
  EXPECT_EQ(loaded.error().front().what,
            "the experiment has version 2; this software reads version 1");
}

TEST_F(Document, saving_over_a_read_only_place_is_a_problem) {
  const auto saved = save(small(), "/proc/trainyard.json");
  ASSERT_FALSE(saved.has_value());
  EXPECT_EQ(saved.error().where, "/proc/trainyard.json");
}

TEST_F(Document, overrides_take_json_or_plain_text) {
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

TEST_F(Document, an_override_reaches_what_the_file_left_out) {
  write(R"({"version": 1})");
  const auto loaded = load(file_, {"training.schedule.kind=cosine"});
  ASSERT_TRUE(loaded.has_value()) << base::to_string(loaded.error());
  EXPECT_EQ(loaded->training.schedule.kind, ScheduleKind::cosine);
}

TEST_F(Document, an_override_of_an_unknown_key_says_which_key_is_near) {
  const auto loaded = load(file_, {"training.bach_per_rank=64"});
  ASSERT_FALSE(loaded.has_value());
  EXPECT_THAT(loaded.error().front().where, EndsWith(": training.bach_per_rank"));
  EXPECT_EQ(loaded.error().front().advice, "Did you mean \"batch_per_rank\"?");
}

TEST_F(Document, overrides_that_cannot_be_read_are_all_told) {
  const auto loaded = load(file_, {"training", "=3", "topology.hosts[7].name=x", "name[0]=x"});
  ASSERT_FALSE(loaded.has_value());
  EXPECT_THAT(loaded.error(), ElementsAre(Field(&Problem::code, ProblemCode::bad_usage),
                                          Field(&Problem::code, ProblemCode::bad_usage),
                                          Field(&Problem::where, "topology.hosts[7].name"),
                                          Field(&Problem::where, "name[0]")));
}

TEST(Schema, the_file_in_the_tree_is_the_generated_one) {
  expect_golden(in_tree("resources/schema/experiment.schema.json"), schema().dump(2) + "\n");
}

TEST(Schema, knows_every_part_its_bounds_and_its_words) {
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
