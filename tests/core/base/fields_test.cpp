// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/base/fields.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cstdint>

#include "core/base/unused_settings.h"
#include "tests/problem_matchers.h"

namespace trainyard::base {
namespace {

enum class Shape { ring, tree };

struct Wheel {
  std::string name = "w";
  double radius = 0.5;
  bool operator==(const Wheel&) const = default;
};

struct Cart {
  bool covered = false;
  std::int64_t load = 10;
  int seats = 2;
  double speed = 1.5;
  std::string label = "cart";
  Shape shape = Shape::ring;
  Wheel spare;
  std::vector<Wheel> wheels;
  std::vector<std::int64_t> sizes;
  std::int64_t memory = 4000;  // of its radio
  bool operator==(const Cart&) const = default;
};

}  // namespace

template <>
struct Names<Shape> {
  static constexpr std::pair<Shape, std::string_view> table[] = {{Shape::ring, "ring"},
                                                                 {Shape::tree, "tree"}};
};

template <>
struct Fields<Wheel> {
  static constexpr std::string_view title = "Wheel";
  static auto table() {
    return std::tuple{field("name", &Wheel::name, "", {1, 8}, "Its name"),
                      field("radius", &Wheel::radius, "m", {0.1, 2}, "Its size")};
  }
};

template <>
struct Fields<Cart> {
  static constexpr std::string_view title = "Cart";
  static auto table() {
    return std::tuple{field("covered", &Cart::covered, "", {}, "Has a roof"),
                      field("load", &Cart::load, "kg", {0, 1000}, "What it carries"),
                      field("seats", &Cart::seats, "", {}, "Places",
                            [](const Cart& cart) { return cart.covered; }),
                      field("speed", &Cart::speed, "m/s", {}, "How fast"),
                      field("label", &Cart::label, "", {}, "Written on it"),
                      field("shape", &Cart::shape, "", {}, "How the wheels stand"),
                      field("spare", &Cart::spare, "", {}, "One more wheel"),
                      field("wheels", &Cart::wheels, "", {0, 4}, "The wheels"),
                      field("sizes", &Cart::sizes, "", {}, "Sizes of boxes"),
                      field("memory", &Cart::memory, "B", {1e3, 1e12}, "Of its radio")};
  }
  static bool hides(const Cart& cart, std::string_view part, std::string_view name) {
    return !cart.covered && part == "spare" && name == "radius";
  }
};

namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

Json json(std::string_view text) { return parse_json(text, "test").value(); }

Problems problems_of(std::string_view text) {
  Cart cart;
  Problems problems;
  read_document(json(text), cart, "", problems);
  return problems;
}

RC_GTEST_PROP(Fields, read_back_any_document, ()) {
  Cart cart;
  cart.covered = *rc::gen::arbitrary<bool>();
  cart.load = *rc::gen::inRange<std::int64_t>(0, 1001);
  cart.seats = *rc::gen::arbitrary<int>();
  cart.speed = *rc::gen::arbitrary<double>();
  cart.label = *rc::gen::container<std::string>(rc::gen::inRange<char>(1, 127));
  cart.shape = *rc::gen::element(Shape::ring, Shape::tree);
  cart.wheels.resize(*rc::gen::inRange<std::size_t>(0, 5));
  cart.sizes = *rc::gen::container<std::vector<std::int64_t>>(
      rc::gen::inRange<std::int64_t>(-(std::int64_t{1} << 61), std::int64_t{1} << 61));
  Cart read;
  Problems problems;
  read_document(json(write_document(cart).dump()), read, "", problems);
  RC_ASSERT(problems.empty());
  RC_ASSERT(read == cart);
}

TEST(Fields, are_written_in_table_order) {
  EXPECT_EQ(write_document(Wheel{}).dump(), R"({"name":"w","radius":0.5})");
}

TEST(Fields, that_are_absent_keep_their_values) {
  Cart cart;
  cart.load = 7;
  cart.label = "mine";
  Problems problems;
  read_document(json(R"({"speed": 3})"), cart, "", problems);
  EXPECT_THAT(problems, IsEmpty());
  EXPECT_EQ(cart.load, 7);
  EXPECT_EQ(cart.label, "mine");
  EXPECT_EQ(cart.speed, 3);
}

TEST(Fields, refuse_an_unknown_key_and_suggest_a_similar_one) {
  const Problems problems = problems_of(R"({"sped": 1, "spare": {"zzzzzz": 1}})");
  ASSERT_THAT(problems, ElementsAre(IsProblem("unknown_key", "spare.zzzzzz"),
                                    IsProblem("unknown_key", "sped")));
  EXPECT_EQ(problems[0].accepted, "name, radius");
  EXPECT_THAT(problems[0], testing::Not(Advises("\""))) << "no key is similar";
  EXPECT_THAT(problems[1], Advises("\"speed\""));
}

TEST(Fields, suggest_only_similar_words) {
  const auto offered = [](const char* word) {
    return nearest_name(word, {"own", "gloo", "ring", "halving_doubling"});
  };
  EXPECT_EQ(offered("foo"), "") << "two of three letters differ";
  EXPECT_EQ(offered("gloo "), "gloo");
  EXPECT_EQ(offered("rnig"), "ring") << "two letters swapped";
  EXPECT_EQ(offered("onw"), "own");
  EXPECT_EQ(offered("halving-doublng"), "halving_doubling");
  EXPECT_EQ(offered("doubling"), "halving_doubling") << "a word of the name";
  EXPECT_EQ(offered("double"), "");
}

std::vector<std::string> unused_paths(const Cart& cart, const std::string& path = "") {
  std::vector<std::string> paths;
  for (const UnusedSetting& unused : unused_settings(cart, path)) paths.push_back(unused.path);
  return paths;
}

TEST(Fields, report_unused_settings_with_their_paths) {
  Cart cart;
  EXPECT_THAT(unused_settings(cart), IsEmpty());
  cart.seats = 5;
  EXPECT_THAT(unused_paths(cart), ElementsAre("seats")) << "it has no roof";
  EXPECT_THAT(unused_paths(cart, "carts[1]"), ElementsAre("carts[1].seats"));
  cart.covered = true;
  EXPECT_THAT(unused_settings(cart), IsEmpty());
}

TEST(Fields, name_the_field_that_would_give_an_unused_setting_an_effect) {
  Cart cart;
  cart.seats = 5;
  const auto unused = unused_settings(cart, "carts[1]");
  ASSERT_EQ(unused.size(), 1U);
  EXPECT_EQ(unused[0].condition, "carts[1].covered");
  EXPECT_EQ(unused[0].found, "false");
  EXPECT_THAT(unused[0].needed, ElementsAre("true"));
  EXPECT_THAT(to_string(unused[0]), testing::HasSubstr("carts[1].covered is false (needed: true)"));
}

TEST(Fields, refuse_an_unknown_word_and_list_the_accepted_ones) {
  const Problems problems = problems_of(R"({"shape": "rang"})");
  ASSERT_THAT(problems,
              ElementsAre(AllOf(IsProblem("unknown_value", "shape"), Reports("\"rang\""))));
  EXPECT_EQ(problems[0].accepted, "ring, tree");
  EXPECT_THAT(problems[0], Advises("\"ring\""));
}

TEST(Fields, report_all_problems_with_their_paths) {
  EXPECT_THAT(
      problems_of(
          R"({"covered": 1, "load": -1, "speed": "fast", "label": 3, "shape": null, "spare": [],
              "wheels": [{"radius": 1}, {"radius": 9, "name": ""}, 4], "sizes": {}})"),
      ElementsAre(
          AllOf(IsProblem("wrong_type", "covered"), Reports(" 1")),
          AllOf(IsProblem("out_of_range", "load"), Reports("-1")),
          AllOf(IsProblem("wrong_type", "speed"), Reports("\"fast\"")),
          AllOf(IsProblem("wrong_type", "label"), Reports(" 3")),
          AllOf(IsProblem("unknown_value", "shape"), Reports("null")),
          AllOf(IsProblem("wrong_type", "spare"), Reports("list")),
          AllOf(IsProblem("wrong_length", "wheels[1].name"), Reports("empty")),
          AllOf(IsProblem("out_of_range", "wheels[1].radius"), Reports("9")),
          AllOf(IsProblem("wrong_type", "wheels[2]"), Reports(" 4"), Advises("wheels[2].name")),
          AllOf(IsProblem("wrong_type", "sizes"), Reports("object"))));
}

TEST(Fields, have_inclusive_ranges_that_are_printed) {
  EXPECT_THAT(problems_of(R"({"load": 0, "spare": {"radius": 2}, "label": ""})"), IsEmpty());
  EXPECT_THAT(problems_of(R"({"load": 1000})"), IsEmpty());
  const Problems problems = problems_of(R"({"load": 1001})");
  ASSERT_THAT(problems, ElementsAre(AllOf(IsProblem("out_of_range", "load"), Reports("1001"))));
  EXPECT_EQ(problems[0].accepted, "0 to 1,000");
  EXPECT_EQ(problems_of(R"({"memory": 5})").at(0).accepted, "1 kB to 1 TB");
}

TEST(Fields, refuse_a_list_that_is_too_long) {
  EXPECT_THAT(problems_of(R"({"wheels": [{}, {}, {}, {}]})"), IsEmpty());
  EXPECT_THAT(problems_of(R"({"wheels": [{}, {}, {}, {}, {}]})"),
              ElementsAre(AllOf(IsProblem("wrong_length", "wheels"), Reports("5"))));
}

TEST(Fields, refuse_numbers_that_the_member_cannot_represent) {
  EXPECT_THAT(problems_of(R"({"seats": 3000000000})"),
              ElementsAre(IsProblem("out_of_range", "seats")));
  EXPECT_THAT(problems_of(R"({"seats": -3000000000})"),
              ElementsAre(IsProblem("out_of_range", "seats")));
  EXPECT_THAT(problems_of(R"({"seats": 2147483647})"), IsEmpty());
  EXPECT_THAT(
      problems_of(R"({"sizes": [18446744073709551615, 9223372036854775808]})"),
      ElementsAre(IsProblem("out_of_range", "sizes[0]"), IsProblem("out_of_range", "sizes[1]")));
  EXPECT_THAT(problems_of(R"({"sizes": [123456789012345678901234567890]})"),
              ElementsAre(IsProblem("out_of_range", "sizes[0]")));
  EXPECT_THAT(problems_of(R"({"load": 1.5})"),
              ElementsAre(AllOf(IsProblem("wrong_type", "load"), Reports("1.5"))));
}

TEST(Fields, accept_integers_with_an_exponent_or_a_decimal_point) {
  EXPECT_THAT(problems_of(R"({"seats": 2e3, "sizes": [4.0, 9007199254740992.0]})"), IsEmpty());
  const Problems problems = problems_of(R"({"sizes": [9007199254740994.0]})");
  ASSERT_THAT(problems, ElementsAre(IsProblem("out_of_range", "sizes[0]")));
  EXPECT_EQ(problems[0].accepted, "-2^53 to 2^53");
}

TEST(Fields, count_lengths_in_characters_and_not_bytes) {
  EXPECT_THAT(problems_of(R"({"spare": {"name": "äöüäöüäö"}})"), IsEmpty());
  EXPECT_THAT(problems_of(R"({"spare": {"name": "äöüäöüäöü"}})"),
              ElementsAre(AllOf(IsProblem("wrong_length", "spare.name"), Reports("9"))));
}

TEST(Fields, quote_long_text_cut_between_characters) {
  std::string text;
  for (int i = 0; i < 100; ++i) text += "ä";
  for (const char* start : {"", "x"}) {
    const Problems problems =
        problems_of("{\"load\": \"" + (start + text) + "\", \"" + (start + text) + "\": 1}");
    ASSERT_EQ(problems.size(), 2u);
    EXPECT_LT(problems[0].what.size(), 120u);
    EXPECT_LT(problems[1].where.size(), 120u);
    EXPECT_NO_THROW(
        Json(problems[0].what + problems[1].where).dump());  // refuses text that is not UTF-8
  }
}

TEST(Fields, are_described_for_forms) {
  Cart cart;
  const auto fields = describe(cart);
  ASSERT_EQ(fields.size(), 10u);
  EXPECT_EQ(fields[1].name, "load");
  EXPECT_EQ(fields[1].kind, FieldKind::integer);
  EXPECT_EQ(fields[1].unit, "kg");
  EXPECT_EQ(*fields[1].default_value, 10);
  EXPECT_FALSE(fields[2].used);
  EXPECT_THAT(fields[5].choices, ElementsAre("ring", "tree"));
  EXPECT_EQ(fields[6].fields.at(1).name, "radius");
  EXPECT_EQ(fields[7].element, FieldKind::document);
  EXPECT_EQ(fields[7].fields.size(), 2u);
  EXPECT_EQ(fields[8].element, FieldKind::integer);
  EXPECT_FALSE(fields[6].fields.at(1).used) << "a cart without a roof has no use for it";
  EXPECT_TRUE(fields[6].fields.at(0).used && fields[7].fields.at(1).used);
  cart.covered = true;
  EXPECT_TRUE(describe(cart)[2].used);
  EXPECT_TRUE(describe(cart)[6].fields.at(1).used);
}

TEST(Fields, generate_a_schema_from_the_table) {
  const Json schema = json_schema(describe(Cart{}), "Cart");
  EXPECT_EQ(schema["$schema"], "https://json-schema.org/draft/2020-12/schema");
  EXPECT_EQ(schema["title"], "Cart");
  EXPECT_EQ(schema["additionalProperties"], false);
  const Json& properties = schema["properties"];
  EXPECT_EQ(properties["load"],
            json(R"({"type": "integer", "description": "What it carries [kg]", )"
                 R"("default": 10, "minimum": 0, "maximum": 1000})"));
  EXPECT_EQ(properties["shape"]["enum"], json(R"(["ring", "tree"])"));
  EXPECT_EQ(properties["wheels"]["maxItems"], 4);
  EXPECT_EQ(properties["wheels"]["items"]["properties"]["radius"]["type"], "number");
  EXPECT_EQ(properties["sizes"]["items"]["type"], "integer");
}

TEST(Paths, locate_a_value_to_read_or_set) {
  Json document = json(R"({"a": {"b": [1, {"c": 2}]}})");
  EXPECT_EQ(value_at(document, "a.b[1].c").value(), 2);
  ASSERT_TRUE(set_value_at(document, "a.b[1].c", 5));
  ASSERT_TRUE(set_value_at(document, "a.new.leaf", true));
  EXPECT_EQ(document, json(R"({"a": {"b": [1, {"c": 5}], "new": {"leaf": true}}})"));
}

TEST(Paths, that_are_missing_are_problems_and_change_nothing) {
  const Json before = json(R"({"a": {"b": [1]}, "t": "text"})");
  for (const char* path : {"a.b[1]", "a.b.c", "a[0]", "t.x", "t[0]", "fresh.list[0]",
                           "fresh.a.b[3].c", "a.b[18446744073709551615]"}) {
    Json document = before;
    EXPECT_FALSE(value_at(document, path)) << path;
    EXPECT_FALSE(set_value_at(document, path, 1)) << path;
    EXPECT_EQ(document, before) << path;
  }
}

TEST(Paths, that_are_malformed_are_refused) {
  Json document = json(R"({"a": {"b": [[1]]}})");
  for (const char* path :
       {"", ".", ".a", "a.", "a..b", "a.b[", "a.b[]", "a.b[x]", "a.b[-1]", "a.b[ 0]", "a.b[0",
        "a.b[0]c", "a.b[0]]", "a.[0]", "a.b[99999999999999999999]"}) {
    EXPECT_FALSE(value_at(document, path)) << path;
    EXPECT_FALSE(set_value_at(document, path, 1)) << path;
  }
  EXPECT_EQ(value_at(document, "a.b[0][0]").value(), 1);
}

TEST(Paths, deeper_than_any_document_are_refused) {
  Json document = Json::object();
  std::string path = "a";
  for (int i = 0; i < 100'000; ++i) path += ".a";
  EXPECT_FALSE(set_value_at(document, path, 1));
  EXPECT_TRUE(document.empty());
}

TEST(ParseJson, reports_file_line_and_column_of_a_syntax_error) {
  const auto parsed = parse_json("{\n  \"a\": 1,\n  \"b\": ?\n}", "run.json");
  ASSERT_FALSE(parsed);
  EXPECT_EQ(parsed.error().code, ProblemCode::bad_input);
  EXPECT_THAT(parsed.error(),
              AllOf(IsProblem("bad_json", "run.json"), Reports("line 3, column 8")));
}

TEST(ParseJson, reports_the_end_of_empty_or_truncated_text) {
  EXPECT_EQ(parse_json("", "f").error().id, "bad_json");
  EXPECT_EQ(parse_json("{\"a\": [1,", "f").error().id, "bad_json");
}

TEST(ParseJson, refuses_text_that_is_not_strict_json) {
  for (const char* text : {"{} {}", "{'a': 1}", "[1,]", "// note\n{}", "NaN", "[01]", "\"\xff\"",
                           "{\"a\": 1e999}", "{\"a\": 1, \"a\": 2}"})
    EXPECT_FALSE(parse_json(text, "f")) << text;
}

TEST(ParseJson, reports_a_duplicate_key) {
  EXPECT_EQ(parse_json(R"({"x": {"a": 1, "a": 2}})", "f").error().id, "bad_json");
}

TEST(ParseJson, accepts_the_same_key_in_several_objects) {
  EXPECT_TRUE(parse_json(R"([{"a": {"a": 1}, "b": {"a": 2}}, {"a": 3}])", "f"));
}

TEST(ParseJson, refuses_an_object_with_too_many_keys_quickly) {
  std::string text = "{";
  for (int i = 0; i < 500'000; ++i) text += "\"" + std::to_string(i) + "\":0,";
  EXPECT_EQ(parse_json(text + "\"end\":0}", "f").error().id, "bad_json");
}

TEST(ParseJson, refuses_nesting_beyond_64_levels) {
  const auto nested = [](std::size_t depth) {
    return parse_json(std::string(depth, '[') + std::string(depth, ']'), "f");
  };
  EXPECT_TRUE(nested(64));
  EXPECT_FALSE(nested(65));
  EXPECT_EQ(nested(1'000'000).error().id, "bad_json");
}

TEST(ParseJson, refuses_more_than_64_mebibytes_without_parsing) {
  EXPECT_EQ(parse_json(std::string((64u << 20) + 1, ' '), "f").error().id, "bad_json");
}

}  // namespace
}  // namespace trainyard::base
