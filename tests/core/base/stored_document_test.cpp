// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/base/stored_document.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/problem_matchers.h"

namespace trainyard::base {
namespace {

struct Wagon {
  std::string name = "w";
  int axles = 0;  // out of range: a file must state it
};

struct Train {
  int engines = 1;
  std::vector<Wagon> wagons;
  std::vector<std::vector<double>> loads;
  Wagon last;
};

}  // namespace

template <>
struct Fields<Wagon> {
  static constexpr std::string_view title = "Wagon";
  static auto table() {
    return std::tuple{field("name", &Wagon::name, "", {1, 10}, "Name"),
                      field("axles", &Wagon::axles, "axles", {2, 8}, "Number of axles")};
  }
};
template <>
struct Fields<Train> {
  static constexpr std::string_view title = "Train";
  static auto table() {
    return std::tuple{field("engines", &Train::engines, "", {1, 3}, "Number of engines"),
                      field("wagons", &Train::wagons, "", {1, 100}, "Wagons"),
                      field("loads", &Train::loads, "t", {}, "Loads, by wagon and axle"),
                      field("last", &Train::last, "", {}, "Last wagon")};
  }
};

namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::UnorderedElementsAre;

Json sound() {
  return {{"engines", 2},
          {"wagons", Json::array({Json{{"name", "a"}, {"axles", 4}}})},
          {"loads", Json::array({Json::array({1.5, 2})})},
          {"last", {{"name", "z"}, {"axles", 2}}}};
}

Problems complete_problems(const Json& json) {
  Train train;
  Problems problems;
  read_complete(json, train, "", problems);
  return problems;
}

Train present(const Json& json, Problems& problems) {
  Train train;
  read_present(json, train, "", problems);
  return train;
}

TEST(ReadComplete, accepts_a_complete_document) {
  EXPECT_THAT(complete_problems(sound()), IsEmpty());
}

TEST(ReadComplete, accepts_absent_fields_whose_defaults_are_valid) {
  Json json = sound();
  json.erase("engines");
  json["last"].erase("name");
  EXPECT_THAT(complete_problems(json), IsEmpty());
}

TEST(ReadComplete, reports_absent_fields_whose_defaults_are_out_of_range) {
  Json json = sound();
  json["wagons"][0].erase("axles");
  json["last"].erase("axles");
  EXPECT_THAT(complete_problems(json),
              UnorderedElementsAre(IsProblem("missing_field", "wagons[0].axles"),
                                   IsProblem("missing_field", "last.axles")));
  json = sound();
  json.erase("wagons");
  EXPECT_THAT(complete_problems(json),
              ElementsAre(testing::AllOf(IsProblem("missing_field", "wagons"), Accepts("100"))));
}

TEST(ReadComplete, reports_a_value_that_is_no_object_once) {
  EXPECT_THAT(complete_problems(Json::array()), ElementsAre(IsProblem("wrong_type", "")));
}

TEST(ReadPresent, ignores_absent_null_and_unknown_values) {
  Problems problems;
  const Train train =
      present({{"engines", nullptr}, {"color", "red"}, {"last", {{"wheels", 3}}}}, problems);
  EXPECT_THAT(problems, IsEmpty());
  EXPECT_EQ(train.engines, 1);
  EXPECT_TRUE(train.wagons.empty());
}

TEST(ReadPresent, keeps_valid_values_beside_invalid_ones) {
  Json json = sound();
  json["engines"] = "two";
  json["wagons"][0]["axles"] = 1e300;
  Problems problems;
  const Train train = present(json, problems);
  EXPECT_THAT(problems, UnorderedElementsAre(IsProblem("wrong_type", "engines"),
                                             IsProblem("out_of_range", "wagons[0].axles")));
  EXPECT_EQ(train.engines, 1);
  ASSERT_EQ(train.wagons.size(), 1u);
  EXPECT_EQ(train.wagons[0].name, "a");
  EXPECT_EQ(train.wagons[0].axles, 0);
  EXPECT_EQ(train.loads, (std::vector<std::vector<double>>{{1.5, 2}}));
  EXPECT_EQ(train.last.axles, 2);
}

TEST(ReadPresent, refuses_lists_of_too_many_entries) {
  Json json = sound();
  json["loads"] = Json::array({Json(std::vector<int>(kMaxStoredEntries, 1))});
  Problems problems;
  EXPECT_TRUE(present(json, problems).loads.empty());
  EXPECT_THAT(problems, ElementsAre(IsProblem("wrong_length", "loads")));
}

}  // namespace
}  // namespace trainyard::base
