// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/base/sparse_document.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>

#include "tests/problem_matchers.h"

namespace trainyard::base {
namespace {

enum class EngineKind { petrol, electric, none };

struct Motor {
  EngineKind kind = EngineKind::petrol;
  std::int64_t cylinders = 4;
  double battery = 50;
  bool turbo = false;
  bool operator==(const Motor&) const = default;
};

struct Car {
  std::string name;
  Motor motor;
  std::vector<Motor> spares;
  std::vector<std::int64_t> sizes{1, 2};
  bool operator==(const Car&) const = default;
};

}  // namespace

template <>
struct Names<EngineKind> {
  static constexpr std::pair<EngineKind, std::string_view> table[] = {
      {EngineKind::petrol, "petrol"},
      {EngineKind::electric, "electric"},
      {EngineKind::none, "none"}};
};

template <>
struct Fields<Motor> {
  static constexpr std::string_view title = "Motor";
  static auto table() {
    return std::tuple{field("kind", &Motor::kind, "", {}, "Kind"),
                      field("cylinders", &Motor::cylinders, "", {1, 16}, "Cylinders",
                            [](const Motor& m) { return m.kind == EngineKind::petrol; }),
                      field("battery", &Motor::battery, "kWh", {1, 200}, "Battery",
                            [](const Motor& m) { return m.kind == EngineKind::electric; }),
                      // Used only with more than four cylinders, but a petrol engine always has it.
                      field("turbo", &Motor::turbo, "", {}, "Turbo charger",
                            [](const Motor& m) { return m.kind == EngineKind::petrol; })};
  }
};

template <>
struct Fields<Car> {
  static constexpr std::string_view title = "Car";
  static auto table() {
    return std::tuple{field("name", &Car::name, "", {0, 9}, "Name"),
                      field("motor", &Car::motor, "", {}, "Motor"),
                      field("spares", &Car::spares, "", {0, 9}, "Spare motors"),
                      field("sizes", &Car::sizes, "", {0, 9}, "Sizes")};
  }
};

namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

Car read(const Json& json) {
  Car car;
  Problems problems;
  read_document(json, car, "", problems);
  EXPECT_THAT(problems, IsEmpty());
  return car;
}

std::vector<std::string> paths(const std::vector<ForeignKey>& keys) {
  std::vector<std::string> paths;
  for (const ForeignKey& key : keys) paths.push_back(key.path);
  return paths;
}

TEST(SparseDocument, is_empty_for_default_values) {
  EXPECT_EQ(write_chosen(Car{}), Json::object());
}

TEST(SparseDocument, contains_changed_values_and_their_kind) {
  Car car;
  car.motor.cylinders = 6;
  car.sizes = {3};
  EXPECT_EQ(write_chosen(car),
            Json::parse(R"({"motor": {"kind": "petrol", "cylinders": 6}, "sizes": [3]})"));
}

TEST(SparseDocument, contains_no_key_of_another_kind) {
  Car car;
  car.motor = {EngineKind::electric, 8, 75};
  EXPECT_EQ(write_chosen(car), Json::parse(R"({"motor": {"kind": "electric", "battery": 75.0}})"));
}

TEST(SparseDocument, contains_the_kind_of_each_list_element) {
  Car car;
  car.spares = {Motor{}, {EngineKind::none}};
  EXPECT_EQ(write_chosen(car),
            Json::parse(R"({"spares": [{"kind": "petrol"}, {"kind": "none"}]})"));
}

TEST(SparseDocument, reads_back_unchanged) {
  Car car;
  car.name = "c";
  car.motor = {EngineKind::electric, 4, 75};
  car.spares = {Motor{EngineKind::petrol, 2}};
  EXPECT_EQ(read(write_chosen(car)), car);
}

TEST(ForeignKeys, are_removed_and_reported_with_their_kinds) {
  Json json = Json::parse(
      R"({"motor": {"kind": "none", "battery": 50, "turbo": true}, "spares": [{"cylinders": 2}]})");
  std::vector<ForeignKey> removed;
  remove_foreign_keys(json, read(json), "", removed);
  EXPECT_EQ(json, Json::parse(R"({"motor": {"kind": "none"}, "spares": [{"cylinders": 2}]})"));
  ASSERT_THAT(paths(removed), ElementsAre("motor.battery", "motor.turbo"));
  EXPECT_EQ(removed[0].kind, "none");
  EXPECT_THAT(removed[0].kinds, ElementsAre("electric"));
  EXPECT_TRUE(removed[0].is_default);
  EXPECT_FALSE(removed[1].is_default);
}

TEST(ForeignKeys, of_list_elements_are_reported_with_the_index) {
  Json json = Json::parse(R"({"spares": [{}, {"kind": "electric", "cylinders": 2}]})");
  std::vector<ForeignKey> removed;
  remove_foreign_keys(json, read(json), "", removed);
  EXPECT_THAT(paths(removed), ElementsAre("spares[1].cylinders"));
}

TEST(ForeignKeys, are_reset_and_reported_only_if_they_differ_from_defaults) {
  Car car;
  car.motor = {EngineKind::electric, 8, 75};
  std::vector<std::string> changed;
  reset_foreign_keys(car, "", changed);
  EXPECT_THAT(changed, ElementsAre("motor.cylinders"));
  EXPECT_EQ(car.motor, (Motor{EngineKind::electric, 4, 75}));
}

TEST(ForeignKeys, are_a_problem_that_lists_the_kinds) {
  const Problem problem = foreign_key_problem({"layers[1].heads", "relu", {"attention", "gelu"}});
  EXPECT_THAT(problem, testing::AllOf(IsProblem("foreign_key", "layers[1].heads"), Reports("relu"),
                                      Accepts("attention, gelu")));
}

TEST(Schema, forbids_keys_of_other_kinds) {
  const Json schema = json_schema(describe(Motor{}), "");
  EXPECT_EQ(schema["allOf"], Json::parse(R"([
      {"if": {"properties": {"kind": {"enum": ["petrol"]}}},
       "else": {"properties": {"cylinders": false, "turbo": false}}},
      {"if": {"properties": {"kind": {"enum": ["electric"]}}, "required": ["kind"]},
       "else": {"properties": {"battery": false}}}])"));
}

TEST(ReadableText, writes_short_flat_values_on_one_line) {
  const Json json = Json::parse(R"({"a": 1, "b": [{"c": 1, "d": "x"}, {}], "e": [1, 2], "f": {}})");
  EXPECT_EQ(to_readable_text(json),
            "{\n"
            "  \"a\": 1,\n"
            "  \"b\": [\n"
            "    {\"c\": 1, \"d\": \"x\"},\n"
            "    {}\n"
            "  ],\n"
            "  \"e\": [1, 2],\n"
            "  \"f\": {}\n"
            "}\n");
  EXPECT_EQ(Json::parse(to_readable_text(json)), json);
}

TEST(ReadableText, breaks_lines_that_are_too_long) {
  EXPECT_EQ(to_readable_text(Json{{"list", {100, 200}}}, 20),
            "{\n  \"list\": [\n    100,\n    200\n  ]\n}\n");
  EXPECT_EQ(to_readable_text(Json{{"list", {100, 200}}}, 22), "{\n  \"list\": [100, 200]\n}\n");
}

}  // namespace
}  // namespace trainyard::base
