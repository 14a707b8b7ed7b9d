// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/experiment/versions.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "core/base/json.h"
#include "core/experiment/document.h"
#include "tests/core/experiment/golden.h"
#include "tests/problem_matchers.h"

namespace trainyard::experiment {
namespace {

using base::Json;
using ::testing::ElementsAre;

// Returns documents of this version with only required fields and one element in each list, by the
// prefix of their golden file. Lists of settings of one kind are in a document of that kind.
std::map<std::string, Json> least_documents(int version) {
  Json document = Json::parse(R"({
    "version": 0,
    "topology": {
      "hosts": [{"name": "h", "devices": [{"name": "d"}]}],
      "switches": [{"name": "s"}],
      "links": [{"from": "h", "to": "s"}]
    },
    "model": {"layers": [{}]},
    "strategy": {
      "kind": "parameter_server",
      "servers": {"places": [{"variable": "0.weight"}]}
    }
  })");
  document["version"] = version;
  std::map<std::string, Json> documents{{"", {{"version", version}}}, {"elements_", document}};
  document["strategy"] = Json::parse(R"({"kind": "gossip", "gossip": {"weights": [{}]}})");
  documents["gossip_"] = document;
  document["strategy"] = Json::parse(R"({"kind": "pipeline", "stages": {
      "places": [{"segment": "0"}], "times": [{"segment": "0"}]}})");
  documents["pipeline_"] = document;
  return documents;
}

// Golden files of earlier versions never change: they define the meaning of old files. To change a
// default, add a version and let `upgrade` write the old default.
TEST(Versions, keep_their_defaults) {
  for (int version = 1; version <= kVersion; ++version)
    for (const auto& [name, document] : least_documents(version)) {
      const auto read = from_json(document);
      ASSERT_TRUE(read) << base::to_string(read.error());
      expect_golden(in_tree("tests/golden/experiment_defaults/" + name + "version_" +
                            std::to_string(version) + ".json"),
                    to_json(*read).dump(2) + "\n");
    }
}

TEST(Versions, are_upgraded_to_the_current_version) {
  EXPECT_EQ(from_json(Json{{"version", 1}})->version, kVersion);
  EXPECT_EQ(from_json(Json{{"version", kVersion}})->version, kVersion);
}

TEST(Versions, above_the_current_version_are_newer) {
  EXPECT_FALSE(is_newer(Json{{"version", kVersion}}));
  EXPECT_TRUE(is_newer(Json{{"version", kVersion + 1}}));
  EXPECT_TRUE(is_newer(Json{{"version", std::uint64_t{1} << 63}}));
  EXPECT_FALSE(is_newer(Json{{"version", "3"}}));
  EXPECT_FALSE(is_newer(Json::array()));
}

TEST(Version1, upgrade_removes_keys_of_other_kinds) {
  Json document = Json::parse(R"({"version": 1, "model": {"layers": [
      {"kind": "relu", "heads": 8, "rows": 3}, {"kind": "linear", "units": 2, "heads": 4}]},
      "training": {"optimizer": {"kind": "adam", "momentum": 0.5, "beta1": 0.8}}})");
  upgrade(document);
  EXPECT_EQ(document, Json::parse(R"({"version": 2, "model": {"layers": [
      {"kind": "relu"}, {"kind": "linear", "units": 2}]},
      "training": {"optimizer": {"kind": "adam", "beta1": 0.8}}})"));
}

TEST(Version1, upgrade_keeps_unreadable_parts) {
  for (const char* text :
       {"3", R"({"version": 1, "model": 3})", R"({"version": 1, "model": {"layers": [3, null]}})",
        R"({"version": 1, "nonsense": {"kind": "relu", "heads": 3}})"}) {
    Json document = Json::parse(text);
    upgrade(document);
    if (document.is_object()) document["version"] = 1;
    EXPECT_EQ(document, Json::parse(text));
  }
}

TEST(RenamedKey, is_read_under_both_names_in_every_version) {
  for (const int version : {1, kVersion})
    for (const char* key : {"synchronised", "synchronized"}) {
      const Json document{
          {"version", version},
          {"model", {{"layers", {{{"kind", "batch_norm"}, {key, true}}, {{"kind", "linear"}}}}}}};
      const auto read = from_json(document);
      ASSERT_TRUE(read) << base::to_string(read.error());
      EXPECT_TRUE(read->model.layers[0].synchronized) << version << " " << key;
    }
}

TEST(RenamedKey, under_both_names_is_refused) {
  const auto read = from_json(Json::parse(R"({"version": 2, "model": {"layers": [
      {"kind": "batch_norm", "synchronised": true, "synchronized": false}]}})"));
  ASSERT_FALSE(read);
  EXPECT_THAT(read.error(),
              ElementsAre(base::IsProblem("unknown_key", "model.layers[0].synchronised")));
}

TEST(RenamedKey, is_replaced_in_a_path) {
  EXPECT_EQ(present_path("model.layers[12].synchronised"), "model.layers[12].synchronized");
  EXPECT_EQ(present_path("model.layers[12].units"), "model.layers[12].units");
  EXPECT_EQ(present_path("name"), "name");
}

}  // namespace
}  // namespace trainyard::experiment
