// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/telemetry/compare.h"

#include <gtest/gtest.h>

#include "core/base/json.h"

namespace trainyard::telemetry {
namespace {

// A row a line: path, then the values; "-" where a document has no such place.
std::string table(const std::vector<const char*>& documents) {
  std::vector<base::Json> parsed;
  for (const char* text : documents) parsed.push_back(base::Json::parse(text));
  std::string lines;
  for (const Difference& row : differences(parsed)) {
    lines += row.path + ":";
    for (const auto& value : row.values) lines += " " + (value ? value->dump() : "-");
    lines += "\n";
  }
  return lines;
}

TEST(Compare, finds_no_difference_between_equal_documents) {
  EXPECT_EQ(table({R"({"a":1,"b":{"c":[1,2]}})", R"({"b":{"c":[1,2]},"a":1.0})"}), "");
  EXPECT_EQ(table({R"({"a":1})"}), "");
  EXPECT_EQ(table({}), "");
}

TEST(Compare, lists_paths_with_different_values) {
  EXPECT_EQ(
      table({R"({"strategy":{"kind":"one_device"},"training":{"batch_per_rank":32,"seed":1}})",
             R"({"strategy":{"kind":"mirrored"},"training":{"batch_per_rank":32,"seed":2}})"}),
      "strategy.kind: \"one_device\" \"mirrored\"\n"
      "training.seed: 1 2\n");
}

TEST(Compare, compares_lists_by_position) {
  EXPECT_EQ(table({R"({"hosts":[{"name":"a"},{"name":"b"}]})", R"({"hosts":[{"name":"a"}]})"}),
            "hosts[1].name: \"b\" -\n");
  EXPECT_EQ(table({R"({"layers":[]})", R"({"layers":[8]})"}),
            "layers: [] -\n"
            "layers[0]: - 8\n");
}

TEST(Compare, lists_a_path_if_one_of_many_documents_differs) {
  EXPECT_EQ(table({R"({"a":1})", R"({"a":1})", R"({"a":3})"}), "a: 1 1 3\n");
}

TEST(Compare, distinguishes_a_missing_value_from_null) {
  EXPECT_EQ(table({R"({"a":null,"z":0})", R"({"b":null,"z":0})"}),
            "a: null -\n"
            "b: - null\n");
}

}  // namespace
}  // namespace trainyard::telemetry
