// SPDX-License-Identifier: GPL-3.0-or-later
// Bad input, one row a kind: `run` refuses it with exit code 2, says where and what, and makes no
// run.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "core/base/json.h"
#include "examples.h"
#include "run_program.h"
#include "tests/core/data/files.h"

namespace trainyard::process {
namespace {

using base::Json;
using data::gzip;
using data::idx;
using testing::HasSubstr;

using Arguments = std::vector<std::string>;
using Make = std::function<Arguments(const Scratch& scratch)>;

struct Bad {
  const char* name;
  Make arguments;                 // after "run"
  std::vector<std::string> told;  // all of it
  bool found_by_rank = false;     // only reading the samples shows it
  int exit_code = 2;
};

void PrintTo(const Bad& row, std::ostream* out) { *out << row.name; }

Make text(const std::string& document) {
  return
      [document](const Scratch& scratch) { return Arguments{scratch.write("e.json", document)}; };
}

Make edited(const std::function<void(Json&)>& edit) {
  return [edit](const Scratch& scratch) {
    Json document = expanded_document(kMirrored);
    edit(document);
    return Arguments{scratch.write("e.json", document.dump())};
  };
}

// A host that nothing is linked to.
void add_island(Json& e) {
  Json island = e["topology"]["hosts"][0];
  island["name"] = "island";
  island["devices"] = Json::array({island["devices"][0]});
  island["devices"][0]["name"] = "cpu9";
  e["topology"]["hosts"].push_back(island);
}

Make set(const std::string& experiment, const std::vector<std::string>& overrides) {
  return [=](const Scratch&) {
    Arguments arguments{experiment};
    for (const std::string& value : overrides) arguments.insert(arguments.end(), {"--set", value});
    return arguments;
  };
}

// The example on files: `images` and `labels` with these bytes.
Make on_idx(const std::string& images_name, const std::string& images, const std::string& labels) {
  return [=](const Scratch& scratch) {
    scratch.write(images_name, images);
    scratch.write("labels", labels);
    return Arguments{kOne,
                     "--data-directory",
                     (scratch / "").string(),
                     "--set",
                     "data.kind=idx",
                     "--set",
                     "data.images=" + images_name,
                     "--set",
                     "data.labels=labels",
                     "--set",
                     "data.train_samples=2",
                     "--set",
                     "data.held_out_samples=1",
                     "--set",
                     "training.batch_per_rank=1"};
  };
}

Make on_csv(const std::string& content) {
  return [=](const Scratch& scratch) {
    scratch.write("table.csv", content);
    return Arguments{kOne,
                     "--data-directory",
                     (scratch / "").string(),
                     "--set",
                     "data.kind=csv",
                     "--set",
                     "data.file=table.csv",
                     "--set",
                     "data.label_column=kind",
                     "--set",
                     "data.train_samples=2",
                     "--set",
                     "data.held_out_samples=1",
                     "--set",
                     "training.batch_per_rank=1"};
  };
}

const std::string kThreeImages = idx({3, 2, 2}, std::string(12, '\x40')),
                  kThreeLabels = idx({3}, std::string("\0\1\0", 3));

std::vector<Bad> documents() {
  return {
      {"no_such_file",
       [](const Scratch& scratch) { return Arguments{(scratch / "none.json").string()}; },
       {"none.json", "No such file"}},
      {"a_directory",
       [](const Scratch& scratch) { return Arguments{(scratch / "").string()}; },
       {"trainyard-cli-"}},
      {"empty",
       text(""),
       {"e.json: the file is empty", "Start from a copy of one of resources/experiments"}},
      {"blank", text(" \r\n\t\n"), {"e.json: the file is empty"}},
      {"syntax_error",
       text("{\"version\": 1,\n  \"name\" \"x\"}"),
       {"e.json", "not JSON at line 2"}},
      {"no_object", text("[1, 2]"), {"e.json"}},
      {"nested_without_end", text(std::string(200'000, '[')), {"e.json"}},
      {"unknown_key",
       edited([](Json& e) { e["training"]["learning_rate"] = 0.1; }),
       {"e.json", "training.learning_rate", "unknown key"}},
      {"wrong_type",
       edited([](Json& e) { e["training"]["batch_per_rank"] = "many"; }),
       {"e.json", "training.batch_per_rank", "expected a whole number, found the text"}},
      {"huge_number",
       edited([](Json& e) { e["training"]["batch_per_rank"] = 1e300; }),
       {"training.batch_per_rank"}},
      {"number_beyond_all",
       text("{\"version\": 1, \"training\": {\"clip_norm\": 1e400}}"),
       {"e.json", "not acceptable JSON: a number is too large at line 1, column 46"}},
      {"not_a_number",
       edited([](Json& e) { e["training"]["optimizer"]["learning_rate"] = nullptr; }),
       {"training.optimizer.learning_rate", "null"}},
      {"newer_version",
       edited([](Json& e) { e["version"] = 3; }),
       {"version", "this software reads versions up to 2"},
       false,
       4},
      {"unknown_strategy",
       edited([](Json& e) { e["strategy"]["kind"] = "mirored"; }),
       {"strategy.kind", "mirrored"}},
      {"set_without_value", set(kMirrored, {"training.steps"}), {"training.steps"}},
      {"set_unknown", set(kMirrored, {"training.stepps=3"}), {"training.stepps", "unknown key"}},
  };
}

std::vector<Bad> meanings() {
  return {
      {"no_hosts",
       edited([](Json& e) { e["topology"]["hosts"] = Json::array(); }),
       {"topology.hosts"}},
      {"zero_workers",
       edited([](Json& e) { e["topology"]["hosts"][0]["devices"] = Json::array(); }),
       {"topology", "work"}},
      {"dangling_link",
       edited([](Json& e) {
         e["topology"]["links"] = Json::array({{{"from", "host0"}, {"to", "nowhere"}}});
       }),
       {"topology.links[0].to", "nowhere"}},
      {"link_to_itself",
       edited([](Json& e) {
         e["topology"]["links"] = Json::array({{{"from", "host0"}, {"to", "host0"}}});
       }),
       {"topology.links[0]"}},
      {"links_in_a_circle_that_reach_nobody",
       edited([](Json& e) {
         add_island(e);
         for (const char* name : {"sw0", "sw1", "sw2"})
           e["topology"]["switches"].push_back({{"name", name}});
         for (const auto& [from, to] : {std::pair("sw0", "sw1"), std::pair("sw1", "sw2"),
                                        std::pair("sw2", "sw0"), std::pair("host0", "sw0")})
           e["topology"]["links"].push_back({{"from", from}, {"to", to}});
       }),
       {"no route", "cpu9"}},
      {"duplicate_names",
       edited([](Json& e) { e["topology"]["hosts"][0]["devices"][1]["name"] = "cpu0"; }),
       {"topology.hosts[0].devices[1].name", "cpu0"}},
      {"unreachable_device", edited(add_island), {"no route", "cpu9"}},
      {"another_machine",
       edited([](Json& e) { e["topology"]["hosts"][0]["address"] = "example.org"; }),
       {"topology.hosts[0].address", "example.org"}},
      {"one_device_with_four",
       edited([](Json& e) { e["strategy"]["kind"] = "one_device"; }),
       {"strategy.kind", "4"}},
      {"batch_smaller_than_the_ranks",
       set(kMirrored, {"data.train_samples=3"}),
       {"data.train_samples", "cannot be divided among"}},
      {"no_layers",
       edited([](Json& e) { e["model"]["layers"] = Json::array(); }),
       {"model.layers"}},
      {"absent_gpu",
       edited([](Json& e) {
         e["topology"]["hosts"][0]["devices"][2]["kind"] = "gpu";
         e["run"]["emulate"] = false;
       }),
       {"topology.hosts[0].devices[2]", "gpu"}},
  };
}

std::vector<Bad> files() {
  std::string lying = gzip(kThreeImages);
  lying[lying.size() - 1] = '\x7f';  // the length that gzip promises
  const auto flipped = [](std::string packed) {
    packed[packed.size() - 5] =
        static_cast<char>(packed[packed.size() - 5] ^ 1);  // of the checksum
    return packed;
  };
  return {
      {"missing_images",
       set(kOne, {"data.kind=idx", "data.images=none", "data.labels=nothing"}),
       {"data.images", "none", "the file does not exist"}},
      {"empty_idx", on_idx("images", "", kThreeLabels), {"data.images"}},
      {"truncated_header",
       on_idx("images", kThreeImages.substr(0, 9), kThreeLabels),
       {"data.images"}},
      {"truncated_idx",
       on_idx("images", kThreeImages.substr(0, kThreeImages.size() - 1), kThreeLabels),
       {"data.images", "images", "truncated"},
       true},
      {"wrong_magic",
       on_idx("images", "PK\3\4" + kThreeImages, kThreeLabels),
       {"data.images", "50 4b 03 04"}},
      {"lying_header",
       on_idx("images", idx({2'000'000'000, 4'000'000'000, 4'000'000'000}, "x"), kThreeLabels),
       {"data.images"}},
      {"too_few_labels",
       on_idx("images", kThreeImages, idx({2}, std::string("\0\1", 2))),
       {"data.labels", "2"}},
      {"truncated_gzip",
       on_idx("images.gz", gzip(kThreeImages).substr(0, 20), kThreeLabels),
       {"data.images", "images.gz"}},
      {"empty_gzip", on_idx("images.gz", "", kThreeLabels), {"data.images", "images.gz"}},
      {"garbage_gzip",
       on_idx("images.gz", "\x1f\x8b" + std::string(40, '\x55'), kThreeLabels),
       {"data.images", "images.gz"}},
      {"lying_gzip",
       on_idx("images.gz", lying, kThreeLabels),
       {"data.images", "images.gz", "incorrect length check", "Download or copy it again"},
       true},
      {"flipped_gzip",
       on_idx("images.gz", flipped(gzip(kThreeImages)), kThreeLabels),
       {"data.images", "images.gz", "the gzip data is damaged", "Download or copy it again"},
       true},
      {"flipped_labels",
       on_idx("images", kThreeImages, flipped(gzip(kThreeLabels))),
       {"data.labels", "the gzip data is damaged"}},
      {"flipped_images_named_after_the_labels",
       on_idx("labels-images", flipped(gzip(kThreeImages)), kThreeLabels),
       {"data.images", "labels-images"},
       true},
      {"empty_csv", on_csv(""), {"data.file", "table.csv"}},
      {"truncated_csv", on_csv("a,b,kind\n1,2,x\n3,4,y\n5,\"6"), {"data.file", "line 4"}},
      {"ragged_csv", on_csv("a,b,kind\n1,2,x\n3,y\n5,6,x\n"), {"data.file", "line 3"}},
      {"text_in_csv",
       on_csv("a,b,kind\n1,2,x\n3,four,y\n5,6,x\n"),
       {"data.file", "line 3", "four"}},
      {"csv_without_the_column",
       on_csv("a,b,c\n1,2,x\n3,4,y\n5,6,x\n"),
       {"table.csv, line 1", "kind"}},
      {"binary_csv", on_csv(std::string("\0\1\2\xff\xfe\n\n\0", 8)), {"data."}},
  };
}

class BadInput : public testing::TestWithParam<Bad> {};

TEST_P(BadInput, is_refused_in_words) {
  const Home home;
  Arguments arguments{"run", "--json"};
  for (const std::string& argument : GetParam().arguments(home.scratch()))
    arguments.push_back(argument);
  const Ran ran = cli(arguments);
  EXPECT_EQ(ran.exit_code, GetParam().exit_code) << ran.out;
  EXPECT_THAT(ran.err, HasSubstr("error: "));
  for (const std::string& word : GetParam().told) EXPECT_THAT(ran.err, HasSubstr(word));
  const Json result = ran.result();
  EXPECT_EQ(result.value("status", ""), GetParam().found_by_rank ? "failed" : "refused");
  if (GetParam().found_by_rank) return;
  EXPECT_FALSE(result["problems"].empty());
  EXPECT_FALSE(std::filesystem::exists(home.runs()));
}

// Even where the command line is not understood, the last line is the result.
TEST(BadUsage, ends_with_a_result_too) {
  const std::vector<std::pair<Arguments, std::string>> lines = {
      {{"--json"}, "trainyard-cli"},
      {{"dance", "--json"}, "\"dance\" is not a verb"},
      {{"run", "--json"}, "experiment is required"},
      {{"run", kOne, "--steps", "many", "--json"},
       "trainyard-cli run: --steps: \"many\" is no whole number (accepted: 1 to 1000000000)"},
      {{"validate", kOne, "--json", "--fast"}, "trainyard-cli validate: "},
      {{"bench", "allreduce", "--ranks", "0", "--json"}, "trainyard-cli bench allreduce: --ranks"},
  };
  for (const auto& [arguments, told] : lines) {
    const Ran ran = cli(arguments);
    EXPECT_EQ(ran.exit_code, 2) << told;
    EXPECT_THAT(ran.err, HasSubstr(told));
    EXPECT_EQ(ran.result().value("status", ""), "refused") << told;
    EXPECT_FALSE(ran.result()["problems"].empty()) << told;
  }
}

// Not every circle is bad: cables may be laid in a ring.
TEST(GoodInput, may_have_switches_in_a_ring) {
  const Home home;
  const Ran ran =
      cli({"validate", edited([](Json& e) {
             Json second = e["topology"]["hosts"][0];
             second["name"] = "host1";
             for (int d = 0; d < 4; ++d) second["devices"][d]["name"] = "gpu" + std::to_string(d);
             e["topology"]["hosts"].push_back(second);
             for (const char* name : {"sw0", "sw1", "sw2"})
               e["topology"]["switches"].push_back({{"name", name}});
             for (const auto& [from, to] :
                  {std::pair("sw0", "sw1"), std::pair("sw1", "sw2"), std::pair("sw2", "sw0"),
                   std::pair("host0", "sw0"), std::pair("host1", "sw1")})
               e["topology"]["links"].push_back({{"from", from}, {"to", to}});
           })(home.scratch())[0]});
  EXPECT_EQ(ran.exit_code, 0) << ran.err;
}

std::string name_of(const testing::TestParamInfo<Bad>& row) { return row.param.name; }

INSTANTIATE_TEST_SUITE_P(Documents, BadInput, testing::ValuesIn(documents()), name_of);
INSTANTIATE_TEST_SUITE_P(Meanings, BadInput, testing::ValuesIn(meanings()), name_of);
INSTANTIATE_TEST_SUITE_P(Files, BadInput, testing::ValuesIn(files()), name_of);

}  // namespace
}  // namespace trainyard::process
