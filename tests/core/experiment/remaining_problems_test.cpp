// SPDX-License-Identifier: GPL-3.0-or-later
// A file with invalid fields: problems of the remaining fields are reported too.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "core/base/file.h"
#include "core/base/json.h"
#include "core/experiment/validation_result.h"
#include "tests/core/experiment/samples.h"

namespace trainyard::experiment {
namespace {

using base::Json;
using ::testing::ElementsAre;

class RemainingProblems : public ::testing::Test {
 protected:
  void SetUp() override {
    file_ = std::filesystem::temp_directory_path() /
            ("trainyard-remaining-problems-" + std::to_string(::getpid()) + ".json");
    write(to_json(small(2, 1)));
  }
  void TearDown() override { std::filesystem::remove(file_); }

  // Writes version 1, which may contain the keys of all kinds.
  void write(Json document) {
    if (document.is_object() && document.value("version", 0) == kVersion) document["version"] = 1;
    ASSERT_TRUE(base::write_file_atomically(file_, document.dump()).has_value());
  }

  // Returns the locations of all problems without their source, and checks the source: the command
  // line for values of overrides, otherwise the file.
  std::vector<std::string> places(const std::vector<std::string>& overrides = {}) {
    std::vector<std::string> found;
    const auto loaded = load(file_, overrides, file_.parent_path());
    if (loaded) return found;
    for (const base::Problem& problem : loaded.error()) {
      const auto begin = problem.where.find(": ");
      const std::string source = problem.where.substr(0, begin);
      found.push_back(problem.where.substr(begin + 2));
      const bool given = std::ranges::any_of(overrides, [&](const std::string& one) {
        return found.back().starts_with(one.substr(0, one.find('=')));
      });
      EXPECT_EQ(source, given ? "--set" : file_.string()) << problem.where;
    }
    return found;
  }

  std::filesystem::path file_;
};

TEST_F(RemainingProblems, follow_problems_of_fields_without_duplicates) {
  Json document = to_json(small(2, 2));
  document["training"]["batch_per_rank"] = 0;
  document["training"]["precision"] = "fp23";
  document["topology"]["links"][1]["to"] = "gone";
  document["strategy"]["kind"] = "one_device";
  write(document);
  EXPECT_THAT(places(), ElementsAre("training.batch_per_rank", "training.precision",
                                    "topology.links[1].to", "strategy.kind"));
}

TEST_F(RemainingProblems, are_located_at_the_command_line_for_overrides) {
  const auto wheres = [&](const std::string& given) {
    std::vector<std::string> all;
    const auto loaded = load(file_, {given}, file_.parent_path());
    if (!loaded)
      for (const base::Problem& problem : loaded.error()) all.push_back(problem.where);
    return all;
  };
  EXPECT_THAT(wheres("training.optimiser.learning_rate=0.1"),
              ElementsAre("--set: training.optimiser"));
  EXPECT_THAT(wheres("a.b=3"), ElementsAre("--set: a"));
  Json document = to_json(small(2, 1));
  document["training"] = 3;
  write(document);
  EXPECT_THAT(wheres("name=other"), ElementsAre(file_.string() + ": training"));
}

TEST_F(RemainingProblems, include_those_of_overrides) {
  EXPECT_THAT(places({"training.batch_per_rank=0", "data.kind=csv", "topology.hosts[1].x=far"}),
              ElementsAre("topology.hosts[1].x", "training.batch_per_rank", "data.file"));
}

// The workbench reads documents on the GUI thread.
TEST_F(RemainingProblems, do_not_access_data_files_if_only_the_document_is_read) {
  const auto loaded = load(file_, {"training.batch_per_rank=0", "data.kind=csv",
                                   "data.file=none.csv", "topology.links[0].to=gone"});
  ASSERT_FALSE(loaded);
  const std::string all = base::to_string(loaded.error());
  EXPECT_THAT(all, ::testing::AllOf(::testing::HasSubstr("training.batch_per_rank"),
                                    ::testing::HasSubstr("topology.links[0].to")));
  EXPECT_THAT(all, ::testing::Not(::testing::HasSubstr("none.csv")));
}

TEST_F(RemainingProblems, exclude_those_caused_by_defaults_of_invalid_fields) {
  EXPECT_THAT(places({"model.layers[1].kind=rellu"}), ElementsAre("model.layers[1].kind"));
  EXPECT_THAT(places({"strategy.kind=[]", "data.seed=-1"}),
              ElementsAre("data.seed", "strategy.kind"));
  EXPECT_THAT(places({"data.kind=cvs", "model.layers[2].units=3"}), ElementsAre("data.kind"))
      << "the number of classes is unknown";
  EXPECT_THAT(places({"topology.hosts=7"}), ElementsAre("topology.hosts"));
  EXPECT_THAT(places({"topology.hosts[0].devices=7"}), ElementsAre("topology.hosts[0].devices"));
  EXPECT_THAT(places({"topology.hosts[0].name=" + std::string(65, 'n')}),
              ElementsAre("topology.hosts[0].name"));
  EXPECT_THAT(places({"topology.links=7"}), ElementsAre("topology.links")) << "routes are unknown";
  EXPECT_THAT(places({"topology.hosts[1].devices[0].role=ilde", "strategy.kind=one_device"}),
              ElementsAre("topology.hosts[1].devices[0].role"));
  EXPECT_THAT(places({"strategy.kind=hybrid", "strategy.mesh.data=3", "strategy.mesh.pipeline=0"}),
              ElementsAre("strategy.mesh.pipeline"));
  EXPECT_THAT(places({"strategy.kind=hybrid", "strategy.mesh.pipeline=0", "run.clock=virtual"}),
              ElementsAre("strategy.mesh.pipeline", "run.clock"))
      << "run.clock does not depend on the mesh";
}

TEST_F(RemainingProblems, exclude_a_missing_key_next_to_an_unknown_key) {
  EXPECT_THAT(places({"colour=3", "strategy.kind=one_device"}),
              ElementsAre("colour", "strategy.kind"));
  Json document = to_json(small(2, 1));
  const Json drawing = document["topology"];
  document.erase("topology");
  document["topolgy"] = drawing;
  write(document);
  EXPECT_THAT(places(), ElementsAre("topolgy"));
}

TEST_F(RemainingProblems, are_empty_for_an_unknown_version) {
  write(Json::parse(R"({"version": 0})"));
  EXPECT_THAT(places(), ElementsAre("version"));
  write(Json::parse(R"({"strategy": {"kind": "one_device"}})"));
  EXPECT_THAT(places(), ElementsAre("version"));
}

}  // namespace
}  // namespace trainyard::experiment
