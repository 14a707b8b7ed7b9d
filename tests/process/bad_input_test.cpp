// SPDX-License-Identifier: GPL-3.0-or-later
// Bad input, one row a kind: `run` refuses it with exit code 2, an id and the place, and makes no
// run.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <tuple>

#include "core/base/json.h"
#include "examples.h"
#include "run_program.h"
#include "tests/core/data/files.h"

namespace trainyard::process {
namespace {

using base::Json;
using data::gzip;
using data::idx;
using testing::ElementsAre;
using testing::EndsWith;
using testing::HasSubstr;
using testing::Pair;

using Arguments = std::vector<std::string>;
using Make = std::function<Arguments(const Scratch& scratch)>;

struct Bad {
  const char* name;
  Make arguments;  // after "run"
  std::string id;
  testing::Matcher<std::string> where;
  int exit_code = 2;
  std::string place = {};  // named by the problem, in addition to the field
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
       "missing_file", EndsWith("/none.json")},
      {"a_directory", [](const Scratch& scratch) { return Arguments{(scratch / "").string()}; },
       "not_a_regular_file", HasSubstr("/trainyard-cli-")},
      {"empty", text(""), "empty_file", EndsWith("/e.json")},
      {"blank", text(" \r\n\t\n"), "empty_file", EndsWith("/e.json")},
      {"syntax_error", text("{\"version\": 1,\n  \"name\" \"x\"}"), "bad_json",
       EndsWith("/e.json")},
      {"no_object", text("[1, 2]"), "wrong_type", EndsWith("/e.json")},
      {"nested_without_end", text(std::string(200'000, '[')), "bad_json", EndsWith("/e.json")},
      {"unknown_key", edited([](Json& e) { e["training"]["learning_rate"] = 0.1; }), "unknown_key",
       EndsWith("/e.json: training.learning_rate")},
      {"wrong_type", edited([](Json& e) { e["training"]["batch_per_rank"] = "many"; }),
       "wrong_type", EndsWith("/e.json: training.batch_per_rank")},
      {"huge_number", edited([](Json& e) { e["training"]["batch_per_rank"] = 1e300; }),
       "out_of_range", EndsWith("/e.json: training.batch_per_rank")},
      {"number_beyond_all", text("{\"version\": 1, \"training\": {\"clip_norm\": 1e400}}"),
       "bad_json", EndsWith("/e.json")},
      {"not_a_number",
       edited([](Json& e) { e["training"]["optimizer"]["learning_rate"] = nullptr; }), "wrong_type",
       EndsWith("/e.json: training.optimizer.learning_rate")},
      {"newer_version", edited([](Json& e) { e["version"] = 3; }), "newer_version",
       EndsWith("/e.json: version"), 4},
      {"unknown_strategy", edited([](Json& e) { e["strategy"]["kind"] = "mirored"; }),
       "unknown_value", EndsWith("/e.json: strategy.kind")},
      {"set_without_value", set(kMirrored, {"training.steps"}), "not_an_override",
       "--set training.steps"},
      {"set_unknown", set(kMirrored, {"training.stepps=3"}), "unknown_key",
       "--set: training.stepps"},
  };
}

std::vector<Bad> meanings() {
  return {
      {"no_hosts", edited([](Json& e) { e["topology"]["hosts"] = Json::array(); }), "no_worker",
       "topology.hosts"},
      {"zero_workers",
       edited([](Json& e) { e["topology"]["hosts"][0]["devices"] = Json::array(); }), "no_worker",
       "topology.hosts"},
      {"dangling_link", edited([](Json& e) {
         e["topology"]["links"] = Json::array({{{"from", "host0"}, {"to", "nowhere"}}});
       }),
       "unknown_link_end", "topology.links[0].to"},
      {"link_to_itself", edited([](Json& e) {
         e["topology"]["links"] = Json::array({{{"from", "host0"}, {"to", "host0"}}});
       }),
       "link_to_itself", "topology.links[0]"},
      {"cyclic_links_without_a_route", edited([](Json& e) {
         add_island(e);
         for (const char* name : {"sw0", "sw1", "sw2"})
           e["topology"]["switches"].push_back({{"name", name}});
         for (const auto& [from, to] : {std::pair("sw0", "sw1"), std::pair("sw1", "sw2"),
                                        std::pair("sw2", "sw0"), std::pair("host0", "sw0")})
           e["topology"]["links"].push_back({{"from", from}, {"to", to}});
       }),
       "no_route", "topology.hosts[1]"},
      {"duplicate_names",
       edited([](Json& e) { e["topology"]["hosts"][0]["devices"][1]["name"] = "cpu0"; }),
       "duplicate_name", "topology.hosts[0].devices[1].name"},
      {"unreachable_device", edited(add_island), "no_route", "topology.hosts[1]"},
      {"another_machine", edited([](Json& e) {
         e["topology"]["hosts"][0]["address"] = "example.org";
         e["run"]["links"] = "imposed";
       }),
       "not_on_other_machines", "run.links"},
      {"one_device_with_four", set(kMirrored, {"strategy.kind=one_device"}), "too_many_workers",
       EndsWith("strategy.kind")},
      {"batch_smaller_than_the_ranks", set(kMirrored, {"data.train_samples=3"}), "too_few_samples",
       "data.train_samples"},
      {"no_layers", edited([](Json& e) { e["model"]["layers"] = Json::array(); }), "wrong_length",
       EndsWith("/e.json: model.layers")},
      {"absent_gpu", edited([](Json& e) {
         e["topology"]["hosts"][0]["devices"][2]["kind"] = "gpu";
         e["run"]["emulate"] = false;
       }),
       "emulation_is_off", "topology.hosts[0].devices[2].kind"},
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
      {"missing_images", set(kOne, {"data.kind=idx", "data.images=none", "data.labels=nothing"}),
       "missing_file", "data.images"},
      {"empty_idx", on_idx("images", "", kThreeLabels), "bad_data_file", "data.images"},
      {"truncated_header", on_idx("images", kThreeImages.substr(0, 9), kThreeLabels),
       "bad_data_file", "data.images"},
      {"truncated_idx",
       on_idx("images", kThreeImages.substr(0, kThreeImages.size() - 1), kThreeLabels),
       "bad_data_file", "data.images"},
      {"wrong_magic", on_idx("images", "PK\3\4" + kThreeImages, kThreeLabels), "bad_data_file",
       "data.images"},
      {"lying_header",
       on_idx("images", idx({2'000'000'000, 4'000'000'000, 4'000'000'000}, "x"), kThreeLabels),
       "bad_data_file", "data.images"},
      {"too_few_labels", on_idx("images", kThreeImages, idx({2}, std::string("\0\1", 2))),
       "labels_differ", "data.labels"},
      {"truncated_gzip", on_idx("images.gz", gzip(kThreeImages).substr(0, 20), kThreeLabels),
       "bad_data_file", "data.images"},
      {"empty_gzip", on_idx("images.gz", "", kThreeLabels), "bad_data_file", "data.images"},
      {"garbage_gzip", on_idx("images.gz", "\x1f\x8b" + std::string(40, '\x55'), kThreeLabels),
       "bad_data_file", "data.images"},
      {"lying_gzip", on_idx("images.gz", lying, kThreeLabels), "bad_data_file", "data.images"},
      {"flipped_gzip", on_idx("images.gz", flipped(gzip(kThreeImages)), kThreeLabels),
       "bad_data_file", "data.images"},
      {"flipped_labels", on_idx("images", kThreeImages, flipped(gzip(kThreeLabels))),
       "bad_data_file", "data.labels"},
      {"flipped_images_named_after_the_labels",
       on_idx("labels-images", flipped(gzip(kThreeImages)), kThreeLabels), "bad_data_file",
       "data.images"},
      {"empty_csv", on_csv(""), "bad_data_file", "data.file"},
      {"truncated_csv", on_csv("a,b,kind\n1,2,x\n3,4,y\n5,\"6"), "bad_data_file", "data.file", 2,
       "table.csv, line 4"},
      {"ragged_csv", on_csv("a,b,kind\n1,2,x\n3,y\n5,6,x\n"), "bad_data_file", "data.file", 2,
       "table.csv, line 3"},
      {"text_in_csv", on_csv("a,b,kind\n1,2,x\n3,four,y\n5,6,x\n"), "bad_data_file", "data.file", 2,
       "table.csv, line 3"},
      {"csv_without_the_column", on_csv("a,b,c\n1,2,x\n3,4,y\n5,6,x\n"), "bad_data_file",
       "data.file", 2, "table.csv, line 1"},
      {"binary_csv", on_csv(std::string("\0\1\2\xff\xfe\n\n\0", 8)), "bad_data_file", "data.file"},
  };
}

class BadInput : public testing::TestWithParam<Bad> {};

TEST_P(BadInput, is_refused_with_id_and_location) {
  const Home home;
  Arguments arguments{"run", "--json"};
  for (const std::string& argument : GetParam().arguments(home.scratch()))
    arguments.push_back(argument);
  const Ran ran = cli(arguments);
  EXPECT_EQ(ran.exit_code, GetParam().exit_code) << ran.out;
  EXPECT_THAT(ran.problems(), ElementsAre(Pair(GetParam().id, GetParam().where))) << ran.err;
  EXPECT_THAT(ran.err, HasSubstr(GetParam().place));
  EXPECT_THAT(ran.err, HasSubstr("error: "));
  const Json result = ran.result();
  EXPECT_EQ(result.value("status", ""), "refused");
  EXPECT_FALSE(std::filesystem::exists(home.runs()));
}

// Even where the command line is not understood, the last line is the result.
TEST(BadUsage, prints_a_result_too) {
  const std::vector<std::tuple<Arguments, std::string, std::string>> lines = {
      {{"--json"}, "missing_verb", "trainyard-cli"},
      {{"dance", "--json"}, "unknown_verb", "trainyard-cli"},
      {{"run", "--json"}, "missing_argument", "trainyard-cli run"},
      {{"run", kOne, "--steps", "many", "--json"}, "bad_value", "trainyard-cli run --steps"},
      {{"run", kOne, "--steps", "0", "--json"}, "bad_value", "trainyard-cli run --steps"},
      {{"run", kOne, "more", "--json"}, "unexpected_argument", "trainyard-cli run"},
      {{"run", kOne, "--steps", "1", "--steps", "2", "--json"},
       "repeated_option",
       "trainyard-cli run --steps"},
      {{"--json", "validate", kOne}, "unknown_option", "trainyard-cli"},
      {{"--foo", "--json"}, "unknown_option", "trainyard-cli"},
      {{"bench", "allreduce", "--json", "--foo"},
       "unknown_option",
       "trainyard-cli bench allreduce"},
      {{"run", kOne, "--json", "--set"}, "missing_value", "trainyard-cli run --set"},
      {{"validate", kOne, "--json", "--fast"}, "unknown_option", "trainyard-cli validate"},
      {{"list", "pdf", "--json"}, "bad_value", "trainyard-cli list kind"},
      {{"bench", "allreduce", "--ranks", "0", "--json"},
       "bad_value",
       "trainyard-cli bench allreduce --ranks"},
  };
  for (const auto& [arguments, id, where] : lines) {
    SCOPED_TRACE(testing::PrintToString(arguments));
    const Ran ran = cli(arguments);
    EXPECT_EQ(ran.exit_code, 2);
    EXPECT_THAT(ran.problems(), ElementsAre(Pair(id, where)));
    EXPECT_EQ(ran.result().value("status", ""), "refused");
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
