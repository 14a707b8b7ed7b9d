// SPDX-License-Identifier: GPL-3.0-or-later
// The real files, where they are: $TRAINYARD_TEST_DATA/mnist, or ../shared/data/mnist beside the
// sources.
#include <gtest/gtest.h>

#include "tests/core/data/files.h"

namespace trainyard::data {
namespace {

std::filesystem::path test_data() {
  const char* named = std::getenv("TRAINYARD_TEST_DATA");
  return named != nullptr ? named : TRAINYARD_SOURCE_DIR "/../shared/data";
}

TEST(Mnist, test_set_is_read_and_split) {
  DataSpec spec;
  spec.kind = DataKind::idx;
  spec.images = "mnist/t10k-images-idx3-ubyte.gz", spec.labels = "mnist/t10k-labels-idx1-ubyte.gz";
  if (!std::filesystem::exists(test_data() / spec.images))
    GTEST_SKIP() << "no MNIST: put " << spec.images << " and " << spec.labels << " into "
                 << test_data() << ", or name another folder in TRAINYARD_TEST_DATA";
  const auto opened = open(spec, test_data());
  ASSERT_TRUE(opened) << base::to_string(opened.error());
  const DataSummary& summary = (*opened)->summary();
  EXPECT_EQ(summary.sample_shape, (std::vector<std::int64_t>{28, 28}));
  EXPECT_EQ(summary.classes, 10);
  EXPECT_EQ(summary.train_samples, 8000);
  EXPECT_EQ(summary.held_out_samples, 2000);
  const auto train = read_all(**opened, Split::train),
             held_out = read_all(**opened, Split::held_out);
  std::vector<int> times(10);
  for (const auto* samples : {&train, &held_out})
    for (const std::int32_t label : samples->labels) ++times[static_cast<std::size_t>(label)];
  EXPECT_EQ(times, (std::vector<int>{980, 1135, 1032, 1010, 982, 892, 958, 1028, 974, 1009}))
      << "the published counts of the test set";
  EXPECT_NEAR(mean_and_deviation(train.features).first, 0, 1e-4);
  EXPECT_NEAR(mean_and_deviation(train.features).second, 1, 1e-4);
}

}  // namespace
}  // namespace trainyard::data
