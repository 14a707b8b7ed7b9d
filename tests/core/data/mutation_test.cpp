// SPDX-License-Identifier: GPL-3.0-or-later
// Readers against damaged files: flipped, cut, doubled and inserted bytes, from fixed seeds. A file
// may still be accepted; what is then read must be whole. The sanitizers watch.
#include <gtest/gtest.h>

#include <cmath>

#include "core/base/random.h"
#include "tests/core/data/files.h"

namespace trainyard::data {
namespace {

constexpr std::uint32_t kRounds = 2000;

std::string mutate(std::string bytes, const base::Random& random) {
  const std::uint64_t changes = 1 + random.below(0, 4);
  for (std::uint64_t change = 1; change <= changes && !bytes.empty(); ++change) {
    const std::size_t at = random.below(4 * change, bytes.size()),
                      length = random.below(4 * change + 1, 16);
    const auto value = static_cast<char>(random.below(4 * change + 2, 256));
    switch (random.below(4 * change + 3, 6)) {
      case 0: bytes.resize(at); break;
      case 1: bytes.erase(at, length); break;
      case 2: bytes.insert(at, length, value); break;
      case 3: bytes.insert(at, bytes.substr(at, length)); break;
      case 4: bytes[at] = static_cast<char>(bytes[at] ^ (1 << (value & 7))); break;
      default: bytes[at] = value;
    }
  }
  return bytes;
}

// True when the file was accepted. Either way the answer must make sense.
bool accepted(const DataSpec& spec, const Folder& folder) {
  const auto summary = inspect(spec, folder.path());
  const auto set = open(spec, folder.path());
  if (!set) {
    EXPECT_FALSE(set.error().what.empty());
    return false;
  }
  EXPECT_TRUE(summary);
  const auto samples = read_all(**set, Split::train);
  for (const std::int32_t label : samples.labels)
    EXPECT_TRUE(label >= 0 && label < (*set)->summary().classes);
  for (const float feature : samples.features) EXPECT_TRUE(std::isfinite(feature));
  return true;
}

// Mutates one of the files at a time; some mutants must be refused, else nothing was tried.
void expect_no_crash(const DataSpec& spec,
                     const std::vector<std::pair<std::string, std::string>>& files,
                     std::uint64_t seed) {
  const Folder folder;
  for (const auto& [name, bytes] : files) folder.write(name, bytes);
  ASSERT_TRUE(accepted(spec, folder));
  std::uint32_t refused = 0;
  for (std::uint32_t round = 0; round < kRounds; ++round) {
    const auto& [name, bytes] = files[round % files.size()];
    folder.write(name, mutate(bytes, base::Random(seed, base::Purpose::generate, round)));
    refused += !accepted(spec, folder);
    folder.write(name, bytes);
  }
  EXPECT_GT(refused, kRounds / 4);
}

DataSpec idx_spec() {
  DataSpec spec;
  spec.kind = DataKind::idx;
  spec.images = "images", spec.labels = "labels";
  spec.train_samples = 0, spec.held_out_samples = 1;
  return spec;
}

const std::string kLabelFile = idx({4}, std::string("\0\1\2\1", 4));
const std::string kImageFile = idx({4, 3, 3}, "abcdefghijklmnopqrstuvwxyz0123456789");

TEST(Mutation, idx_files_never_crash_the_reader) {
  expect_no_crash(idx_spec(), {{"images", kImageFile}, {"labels", kLabelFile}}, 1);
}

TEST(Mutation, packed_idx_files_never_crash_the_reader) {
  expect_no_crash(idx_spec(), {{"images", gzip(kImageFile)}, {"labels", gzip(kLabelFile)}}, 2);
}

// Damage under a correct checksum: the header lies, zlib is content.
TEST(Mutation, idx_files_packed_after_the_damage_never_crash_the_reader) {
  const Folder folder;
  folder.write("labels", kLabelFile);
  std::uint32_t refused = 0;
  for (std::uint32_t round = 0; round < kRounds; ++round) {
    folder.write("images",
                 gzip(mutate(kImageFile, base::Random(3, base::Purpose::generate, round))));
    refused += !accepted(idx_spec(), folder);
  }
  EXPECT_GT(refused, kRounds / 4);
  EXPECT_LT(refused, kRounds) << "a changed pixel is no damage";
}

TEST(Mutation, csv_files_never_crash_the_reader) {
  DataSpec spec;
  spec.kind = DataKind::csv;
  spec.file = "table.csv";
  spec.train_samples = 0, spec.held_out_samples = 1;
  expect_no_crash(
      spec,
      {{"table.csv",
        "x,\"the, y\",kind\n1.5,2e3,apple\r\n-7,.25,\"a \"\"pear\"\"\"\n+3,4,fig\n0,1,apple\n"}},
      4);
}

}  // namespace
}  // namespace trainyard::data
