// SPDX-License-Identifier: GPL-3.0-or-later
// Documents and recordings of version 1, as the software of that version wrote them
// (tests/golden/version_1), still mean the same.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>

#include "core/base/json.h"
#include "core/experiment/document.h"
#include "core/plan/text.h"
#include "core/strategy/strategy.h"
#include "core/telemetry/history.h"
#include "tests/core/experiment/golden.h"

namespace trainyard::session {
namespace {

const std::filesystem::path kVersion1 = in_tree("tests/golden/version_1");
const std::filesystem::path kExamples = in_tree("resources/experiments");

std::vector<std::filesystem::path> files_in(const char* folder) {
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(kVersion1 / folder))
    files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  return files;
}

// Hash of the plan that software of version 1 made for the document; empty if it needs a data file.
std::string hash_of_version_1(const std::string& name) {
  std::ifstream hashes(kVersion1 / "plan_hashes.txt");
  std::string comment;
  std::getline(hashes, comment);
  for (std::string document, hash; hashes >> document >> hash;)
    if (document == name) return hash;
  return "";
}

std::string plan_hash(const experiment::Resolved& resolved) {
  const auto plan = strategy::make_plan(resolved);
  return plan ? plan::hash(*plan) : base::to_string(plan.error());
}

std::string name_of(const testing::TestParamInfo<std::filesystem::path>& file) {
  return file.param.stem().string();
}

class Version1Document : public testing::TestWithParam<std::filesystem::path> {};

TEST_P(Version1Document, has_the_same_plan) {
  const auto loaded = experiment::load(GetParam());
  ASSERT_TRUE(loaded) << base::to_string(loaded.error());
  const std::string hash = hash_of_version_1(GetParam().stem().string());
  if (hash.empty()) GTEST_SKIP() << "its data are files";
  const auto resolved = experiment::resolve(*loaded, kExamples);
  ASSERT_TRUE(resolved) << base::to_string(resolved.error());
  EXPECT_EQ(plan_hash(*resolved), hash);
}

TEST_P(Version1Document, equals_the_example_of_the_current_version) {
  const auto before = experiment::load(GetParam());
  auto now = experiment::load(kExamples / GetParam().filename());
  ASSERT_TRUE(before && now);
  now->notes = before->notes;  // the notes of examples may be reworded
  EXPECT_TRUE(*before == *now);
}

INSTANTIATE_TEST_SUITE_P(Golden, Version1Document, testing::ValuesIn(files_in("documents")),
                         name_of);

class Version1Recording : public testing::TestWithParam<std::filesystem::path> {};

TEST_P(Version1Recording, opens_and_has_the_same_plan) {
  const auto directory = std::filesystem::path(testing::TempDir()) / GetParam().stem();
  std::filesystem::create_directories(directory);
  std::filesystem::copy_file(GetParam(), directory / telemetry::kRecordingFile,
                             std::filesystem::copy_options::overwrite_existing);
  const auto history = telemetry::History::load(directory);
  std::filesystem::remove_all(directory);
  ASSERT_TRUE(history) << base::to_string(history.error());
  EXPECT_EQ(history->header()["experiment"]["document"]["version"], 1);
  const auto resolved = experiment::resolved_from_json(history->header()["experiment"]);
  ASSERT_TRUE(resolved) << base::to_string(resolved.error());
  EXPECT_EQ(plan_hash(*resolved), history->header()["plan_hash"].get<std::string>());
}

INSTANTIATE_TEST_SUITE_P(Golden, Version1Recording, testing::ValuesIn(files_in("recordings")),
                         name_of);

}  // namespace
}  // namespace trainyard::session
