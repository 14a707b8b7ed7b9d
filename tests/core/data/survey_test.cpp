// SPDX-License-Identifier: GPL-3.0-or-later
// The summary of a data set, computed without its samples, agrees with the samples.
#include <gmock/gmock.h>

#include "core/data/shards.h"
#include "tests/core/data/files.h"

namespace trainyard::data {
namespace {

using testing::ElementsAre;

// A survey, and the labels that the samples come with.
struct Both {
  Survey survey;
  std::vector<std::int32_t> labels;
};

Both both(const DataSpec& spec, const std::filesystem::path& directory = {}) {
  const auto set = open(spec, directory).value();
  return {survey(spec, directory).value(), read_all(*set, Split::train).labels};
}

TEST(Survey, of_a_generated_set_has_the_labels_of_its_samples) {
  for (const DataKind kind :
       {DataKind::digits, DataKind::spirals, DataKind::blobs, DataKind::clicks}) {
    DataSpec spec;
    spec.kind = kind;
    spec.train_samples = 37;
    const Both known = both(spec);
    EXPECT_EQ(known.survey.labels.classes, known.labels) << base::name_of(kind);
    EXPECT_TRUE(known.survey.labels.rows.empty());
    EXPECT_EQ(known.survey.summary.train_samples, 37);
  }
}

// Nine samples in the file, whose feature is their row; the last class has the last three.
std::string table() {
  std::string text = "row,kind\n";
  for (int row = 0; row < 9; ++row)
    text += std::to_string(row) + "," + std::to_string(row / 3) + "\n";
  return text;
}

void expect_rows_and_labels(const Both& known) {
  EXPECT_EQ(known.survey.labels.classes, known.labels);
  ASSERT_EQ(known.survey.labels.rows.size(), known.labels.size());
  for (std::size_t i = 0; i < known.labels.size(); ++i)
    EXPECT_EQ(known.survey.labels.rows[i] / 3, known.labels[i]) << "position in the file";
}

TEST(Survey, of_a_csv_file_has_the_position_of_each_sample) {
  const Folder folder;
  folder.write("table.csv", table());
  DataSpec spec;
  spec.kind = DataKind::csv;
  spec.file = "table.csv";
  spec.train_samples = 7, spec.held_out_samples = 2;
  expect_rows_and_labels(both(spec, folder.path()));
}

TEST(Survey, of_idx_files_has_the_position_of_each_sample) {
  const Folder folder;
  folder.write("images", idx({9, 1, 2}, std::string(18, '\x07')));
  folder.write("labels", idx({9}, std::string("\0\0\0\1\1\1\2\2\2", 9)));
  DataSpec spec;
  spec.kind = DataKind::idx;
  spec.images = "images", spec.labels = "labels";
  spec.train_samples = 0, spec.held_out_samples = 1;
  expect_rows_and_labels(both(spec, folder.path()));
}

// Though reading shuffles it.
TEST(Survey, allows_a_sorted_file_to_be_split_by_class) {
  const Folder folder;
  folder.write("table.csv", table());
  DataSpec spec;
  spec.kind = DataKind::csv;
  spec.file = "table.csv";
  spec.train_samples = 0, spec.held_out_samples = 0;
  spec.sharding.kind = ShardingKind::contiguous;
  const Survey known = survey(spec, folder.path()).value();
  EXPECT_THAT(count_shards(spec.sharding, known.labels, 3, 3),
              ElementsAre(ElementsAre(3, 0, 0), ElementsAre(0, 3, 0), ElementsAre(0, 0, 3)));
}

TEST(Survey, fails_like_inspect) {
  DataSpec spec;
  spec.kind = DataKind::idx;
  spec.images = "nowhere", spec.labels = "nowhere";
  EXPECT_EQ(survey(spec, "/").error(), inspect(spec, "/").error());
  spec.kind = DataKind::digits;
  spec.train_samples = 0;
  EXPECT_EQ(survey(spec, "/").error(), inspect(spec, "/").error());
}

}  // namespace
}  // namespace trainyard::data
