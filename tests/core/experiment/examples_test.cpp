// SPDX-License-Identifier: GPL-3.0-or-later
// Every example in resources/experiments loads, is valid, and has the format of saved files.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <regex>
#include <set>
#include <utility>

#include "core/base/file.h"
#include "core/base/json.h"
#include "core/experiment/resolve.h"
#include "tests/core/experiment/golden.h"

namespace trainyard::experiment {
namespace {

using base::Problem;
using base::ProblemCode;
using ::testing::AllOf;
using ::testing::Contains;
using ::testing::Each;
using ::testing::Field;
using ::testing::StartsWith;

const std::filesystem::path kExamples = in_tree("resources/experiments");

std::vector<std::filesystem::path> examples() {
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(kExamples))
    if (entry.path().extension() == ".json") files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  return files;
}

class Example : public ::testing::TestWithParam<std::filesystem::path> {
 protected:
  Experiment loaded() const {
    auto experiment = load(GetParam());
    EXPECT_TRUE(experiment.has_value()) << base::to_string(experiment.error());
    return experiment.value_or(Experiment{});
  }
};

// Returns the text without the lines of device entries. A saved file joins equal devices in one
// entry with a count. The first example of the manual lists them singly.
std::string without_devices(const std::string& text) {
  static const std::regex entry(R"(\n {10}\{"name": [^\n]*)");
  return std::regex_replace(text, entry, "");
}

TEST_P(Example, is_in_the_format_of_saved_files) {
  const std::string saved = to_document(loaded());
  if (GetParam().stem() != "four_devices_mirrored_digits") return expect_golden(GetParam(), saved);
  const auto text = base::read_file(GetParam(), 1'000'000);
  ASSERT_TRUE(text) << base::to_string(text.error());
  EXPECT_EQ(without_devices(*text), without_devices(saved));
}

TEST_P(Example, is_valid_except_for_missing_data_files) {
  EXPECT_THAT(validate(loaded(), kExamples),
              Each(AllOf(Field(&Problem::code, ProblemCode::unavailable),
                         Field(&Problem::where, StartsWith("data.")))));
}

TEST_P(Example, has_a_name_notes_and_positions) {
  const Experiment experiment = loaded();
  EXPECT_FALSE(experiment.name.empty());
  EXPECT_FALSE(experiment.notes.empty());
  std::set<std::pair<double, double>> places;
  for (const auto& host : experiment.topology.hosts) places.emplace(host.x, host.y);
  for (const auto& node : experiment.topology.switches) places.emplace(node.x, node.y);
  EXPECT_EQ(places.size(), experiment.topology.hosts.size() + experiment.topology.switches.size());
}

INSTANTIATE_TEST_SUITE_P(Resources, Example, ::testing::ValuesIn(examples()),
                         [](const auto& file) { return file.param.stem().string(); });

TEST(Examples, one_and_four_devices_have_the_same_global_batch) {
  const auto resolved = [](const char* name) {
    return resolve(load(kExamples / name).value(), kExamples).value();
  };
  const Resolved one = resolved("one_device_digits.json"),
                 four = resolved("four_devices_mirrored_digits.json");
  EXPECT_EQ(one.global_batch, four.global_batch);
  EXPECT_EQ(one.steps, four.steps);
  EXPECT_EQ(one.document.model, four.document.model);
  EXPECT_EQ(one.document.data, four.document.data);
}

TEST(Examples, mnist_reports_its_missing_file) {
  const auto problems =
      validate(load(kExamples / "four_devices_mirrored_mnist.json").value(), "/nowhere");
  EXPECT_THAT(problems, Contains(AllOf(Field(&Problem::where, "data.images"),
                                       Field(&Problem::code, ProblemCode::unavailable))));
}

}  // namespace
}  // namespace trainyard::experiment
