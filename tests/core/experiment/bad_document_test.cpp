// SPDX-License-Identifier: GPL-3.0-or-later
// Invalid documents: id and location of their problem.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/base/json.h"
#include "core/experiment/document.h"
#include "tests/core/experiment/problems.h"
#include "tests/core/experiment/samples.h"

namespace trainyard::experiment {
namespace {

using base::IsProblem;
using base::Json;
using ::testing::AllOf;
using ::testing::ElementsAre;

struct Bad {
  const char* name;
  const char* text;  // of the full document
  const char* where;
  const char* id;
  const char* detail = "";  // a number or name in the text of the problem
};

class BadText : public ::testing::TestWithParam<Bad> {};

base::Problems problems_in(const std::string& text) {
  const auto json = base::parse_json(text, "test.json");
  if (!json) return {json.error()};
  const auto read = from_json(*json);
  return read ? base::Problems{} : read.error();
}

TEST_P(BadText, is_reported_at_its_location) {
  const base::Problems problems = problems_in(GetParam().text);
  ASSERT_THAT(problems, ElementsAre(AllOf(IsProblem(GetParam().id, GetParam().where),
                                          Mentions(GetParam().detail))));
  EXPECT_FALSE(problems[0].accepted.empty());
}

INSTANTIATE_TEST_SUITE_P(
    Documents, BadText,
    ::testing::Values(
        Bad{"empty", "", "test.json", "bad_json", "line 1, column 1"},
        Bad{"unclosed", "{\"version\": 1", "test.json", "bad_json", "line 1, column 14"},
        Bad{"trailing_comma", "{\"version\": 1,}", "test.json", "bad_json", "line 1"},
        Bad{"two_documents", "{\"version\": 1} {}", "test.json", "bad_json", "line 1"},
        Bad{"beyond_double", "{\"version\": 1, \"training\": {\"clip_norm\": 1e400}}", "test.json",
            "bad_json"},
        Bad{"not_an_object", "[1]", "", "wrong_type"},
        Bad{"no_version", "{}", "version", "missing_version"},
        Bad{"version_zero", "{\"version\": 0}", "version", "out_of_range"},
        Bad{"version_as_text", "{\"version\": \"1\"}", "version", "wrong_type"},
        Bad{"version_beyond_int64", "{\"version\": 18446744073709551615}", "version",
            "newer_version"},
        Bad{"unknown_part", "{\"version\": 1, \"modle\": {}}", "modle", "unknown_key"},
        Bad{"unknown_in_part", "{\"version\": 1, \"data\": {\"colour\": 1}}", "data.colour",
            "unknown_key"},
        Bad{"unknown_two_deep", "{\"version\": 1, \"training\": {\"optimizer\": {\"lr\": 1}}}",
            "training.optimizer.lr", "unknown_key"},
        Bad{"unknown_in_list",
            "{\"version\": 1, \"model\": {\"layers\": [{\"kind\": \"linear\", \"size\": 1}]}}",
            "model.layers[0].size", "unknown_key"},
        Bad{"unknown_in_list_of_list",
            "{\"version\": 1, \"topology\": {\"hosts\": [{\"name\": \"a\", \"devices\": "
            "[{\"name\": \"b\", \"speed\": 1}]}]}}",
            "topology.hosts[0].devices[0].speed", "unknown_key"},
        Bad{"text_for_number", "{\"version\": 1, \"training\": {\"batch_per_rank\": \"32\"}}",
            "training.batch_per_rank", "wrong_type"},
        Bad{"fraction_for_whole", "{\"version\": 1, \"training\": {\"epochs\": 1.5}}",
            "training.epochs", "wrong_type", "1.5"},
        Bad{"number_for_text", "{\"version\": 1, \"name\": 5}", "name", "wrong_type", "5"},
        Bad{"number_for_choice", "{\"version\": 1, \"strategy\": {\"kind\": 2}}", "strategy.kind",
            "unknown_value", "2"},
        Bad{"unknown_choice", "{\"version\": 1, \"strategy\": {\"kind\": \"mirored\"}}",
            "strategy.kind", "unknown_value", "\"mirored\""},
        Bad{"number_for_boolean", "{\"version\": 1, \"run\": {\"emulate\": 1}}", "run.emulate",
            "wrong_type"},
        Bad{"list_for_part", "{\"version\": 1, \"topology\": []}", "topology", "wrong_type"},
        Bad{"part_for_list", "{\"version\": 1, \"topology\": {\"hosts\": {}}}", "topology.hosts",
            "wrong_type"},
        Bad{"null_for_number", "{\"version\": 1, \"training\": {\"seed\": null}}", "training.seed",
            "wrong_type", "null"},
        Bad{"beyond_range", "{\"version\": 1, \"training\": {\"batch_per_rank\": 1048577}}",
            "training.batch_per_rank", "out_of_range"},
        Bad{"below_range",
            "{\"version\": 1, \"topology\": {\"links\": [{\"from\": \"a\", \"to\": \"b\", "
            "\"latency_seconds\": -1}]}}",
            "topology.links[0].latency_seconds", "out_of_range"},
        Bad{"beyond_int64", "{\"version\": 1, \"training\": {\"seed\": 18446744073709551615}}",
            "training.seed", "out_of_range"},
        Bad{"beyond_uint64", "{\"version\": 1, \"training\": {\"seed\": 99999999999999999999}}",
            "training.seed", "out_of_range"},
        Bad{"huge_double", "{\"version\": 1, \"training\": {\"clip_norm\": 1e300}}",
            "training.clip_norm", "out_of_range"},
        Bad{"no_layers", "{\"version\": 1, \"model\": {\"layers\": []}}", "model.layers",
            "wrong_length", "0"},
        Bad{"name_too_long",
            "{\"version\": 1, \"topology\": {\"switches\": [{\"name\": "
            "\"12345678901234567890123456789012345678901234567890123456789012345\"}]}}",
            "topology.switches[0].name", "wrong_length", "65"}),
    [](const auto& row) { return std::string(row.param.name); });

TEST(BadDocument, excessive_nesting_is_refused) {
  const std::string deep = "{\"version\": 1, \"topology\": " + std::string(100'000, '[') +
                           std::string(100'000, ']') + "}";
  const base::Problems problems = problems_in(deep);
  EXPECT_THAT(problems, ElementsAre(IsProblem("bad_json", "test.json")));
}

TEST(BadDocument, all_problems_are_reported_together) {
  EXPECT_EQ(problems_in(R"({"a": 1, "name": 2, "training": {"epochs": 0, "b": 1}, )"
                        R"("data": {"kind": "imagenet"}, "run": 7})")
                .size(),
            7u);
}

// Replaces each value of a valid document. Reading must accept or report it, without a crash.
TEST(BadDocument, any_value_of_any_field_is_accepted_or_reported) {
  const Json good = to_json(small()).flatten();
  for (const Json& value : {Json(nullptr), Json(-1), Json(1e300), Json("x"), Json(true),
                            Json::array({1}), Json::object({{"a", 1}})})
    for (const auto& [place, old] : good.items()) {
      Json broken = to_json(small());
      broken[Json::json_pointer(place)] = value;
      const auto read = from_json(broken);
      EXPECT_TRUE(read ? from_json(to_json(*read)).has_value() : !read.error().front().what.empty())
          << place;
    }
}

}  // namespace
}  // namespace trainyard::experiment
