// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/experiment/device_groups.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "core/base/json.h"
#include "tests/problem_matchers.h"

namespace trainyard::experiment {
namespace {

using base::Json;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

Json with_devices(const Json& devices) {
  return {{"topology", {{"hosts", Json::array({Json{{"devices", devices}}})}}}};
}

Json devices_of(const Json& document) { return document["topology"]["hosts"][0]["devices"]; }

Json expanded(const char* devices) {
  Json document = with_devices(Json::parse(devices));
  EXPECT_THAT(expand_device_groups(document), IsEmpty());
  return devices_of(document);
}

Json grouped(const char* devices) {
  Json document = with_devices(Json::parse(devices));
  group_devices(document);
  return devices_of(document);
}

base::Problems problems_of(const char* devices) {
  Json document = with_devices(Json::parse(devices));
  return expand_device_groups(document);
}

TEST(DeviceGroups, number_their_devices_from_zero) {
  EXPECT_EQ(expanded(R"([{"name": "cpu", "count": 2, "cores": 3}])"),
            Json::parse(R"([{"name": "cpu0", "cores": 3}, {"name": "cpu1", "cores": 3}])"));
}

TEST(DeviceGroups, do_not_number_gpus_that_no_machine_has) {
  EXPECT_EQ(expanded(R"([{"name": "gpu", "count": 2, "gpu": 9223372036854775807}])"),
            Json::parse(R"([{"name": "gpu0", "gpu": 9223372036854775807},
                            {"name": "gpu1", "gpu": 9223372036854775807}])"));
}

TEST(DeviceGroups, number_their_devices_from_the_number_of_the_name) {
  EXPECT_EQ(expanded(R"([{"name": "cpu9", "count": 2}, {"name": "x"}])"),
            Json::parse(R"([{"name": "cpu9"}, {"name": "cpu10"}, {"name": "x"}])"));
}

TEST(DeviceGroups, map_consecutive_gpus) {
  EXPECT_EQ(expanded(R"([{"name": "gpu", "kind": "gpu", "gpu": 2, "count": 2}])"),
            Json::parse(R"([{"name": "gpu0", "kind": "gpu", "gpu": 2},
                            {"name": "gpu1", "kind": "gpu", "gpu": 3}])"));
}

TEST(DeviceGroups, join_only_equal_devices_with_consecutive_names) {
  EXPECT_EQ(grouped(R"([{"name": "cpu0"}, {"name": "cpu1"}, {"name": "cpu2", "cores": 2},
                        {"name": "cpu3", "cores": 2}, {"name": "cpu5"}, {"name": "a"},
                        {"name": "a1"}])"),
            Json::parse(R"([{"name": "cpu", "count": 2}, {"name": "cpu2", "count": 2, "cores": 2},
                            {"name": "cpu5"}, {"name": "a"}, {"name": "a1"}])"));
}

TEST(DeviceGroups, name_a_group_so_that_it_expands_to_the_same_names) {
  EXPECT_EQ(grouped(R"([{"name": "n00"}, {"name": "n01"}])"),
            Json::parse(R"([{"name": "n00", "count": 2}])"));
  EXPECT_EQ(expanded(R"([{"name": "n00", "count": 2}])"),
            Json::parse(R"([{"name": "n00"}, {"name": "n01"}])"));
  EXPECT_EQ(grouped(R"([{"name": "0"}, {"name": "1"}])"),
            Json::parse(R"([{"name": "0", "count": 2}])"));
}

RC_GTEST_PROP(DeviceGroup, expands_to_the_devices_that_it_joined, ()) {
  Json devices = Json::array();
  for (const int step : *rc::gen::container<std::vector<int>>(rc::gen::inRange(0, 40))) {
    Json device{
        {"name", *rc::gen::element<std::string>("cpu", "cpu0", "a-") + std::to_string(step % 12)}};
    if (step % 5 == 0) device["gpu"] = step / 5;
    devices.push_back(std::move(device));
  }
  const Json given = with_devices(devices);
  Json document = given;
  group_devices(document);
  RC_ASSERT(expand_device_groups(document).empty());
  RC_ASSERT(document == given);
}

TEST(DeviceGroups, refuse_invalid_counts) {
  for (const char* count : {"0", "-1", "1.5", "\"4\"", "true", "null", "4097", "1e300"}) {
    const auto problems = problems_of(
        (R"([{"name": "a"}, {"name": "cpu", "count": )" + std::string(count) + "}]").c_str());
    EXPECT_THAT(problems,
                ElementsAre(base::IsProblem("bad_count", "topology.hosts[0].devices[1].count")))
        << count;
  }
}

TEST(DeviceGroups, are_limited_to_the_devices_of_a_host) {
  EXPECT_THAT(problems_of(R"([{"name": "a", "count": 4000}, {"name": "b", "count": 97}])"),
              ElementsAre(base::IsProblem("bad_count", "topology.hosts[0].devices[1].count")));
}

TEST(DeviceGroups, do_not_change_an_invalid_document) {
  for (const char* text : {"3", "{}", R"({"topology": 3})", R"({"topology": {"hosts": 3}})",
                           R"({"topology": {"hosts": [3, {"devices": {}}]}})"}) {
    Json document = Json::parse(text);
    EXPECT_THAT(expand_device_groups(document), IsEmpty());
    group_devices(document);
    EXPECT_EQ(document, Json::parse(text));
  }
}

}  // namespace
}  // namespace trainyard::experiment
