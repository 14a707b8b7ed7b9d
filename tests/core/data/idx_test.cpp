// SPDX-License-Identifier: GPL-3.0-or-later
#include <gmock/gmock.h>

#include <cstring>
#include <functional>
#include <limits>
#include <set>

#include "tests/core/data/files.h"
#include "tests/problem_matchers.h"

namespace trainyard::data {
namespace {

using base::Accepts;
using base::Advises;
using base::IsProblem;
using base::ProblemCode;
using base::Reports;
using testing::AllOf;

// Ten images of 2 x 3: all pixels of image i are 20 i, its label is i modulo 3.
constexpr std::int64_t kImages = 10, kPixels = 6;

std::string pixels() {
  std::string bytes;
  for (int i = 0; i < kImages; ++i) bytes += std::string(kPixels, static_cast<char>(20 * i));
  return bytes;
}

std::string label_bytes() {
  std::string bytes;
  for (int i = 0; i < kImages; ++i) bytes += static_cast<char>(i % 3);
  return bytes;
}

std::string good_images() { return idx({kImages, 2, 3}, pixels()); }
std::string good_labels() { return idx({kImages}, label_bytes()); }

class Idx : public testing::Test {
 protected:
  Idx() {
    spec_.kind = DataKind::idx;
    spec_.images = "images", spec_.labels = "labels";
    spec_.train_samples = 0, spec_.held_out_samples = 4;
    write(good_images(), good_labels());
  }
  void write(const std::string& images, const std::string& labels) {
    folder_.write("images", images), folder_.write("labels", labels);
  }
  // The problem of opening the files, or one without an id when there is none.
  base::Problem problem() {
    const auto opened = open(spec_, folder_.path());
    return opened ? base::Problem{} : opened.error();
  }
  std::string path(const std::string& name) const { return (folder_.path() / name).string(); }

  Folder folder_;
  DataSpec spec_;
};

TEST_F(Idx, reads_uncompressed_files) {
  const auto set = open(spec_, folder_.path());
  ASSERT_TRUE(set) << base::to_string(set.error());
  EXPECT_EQ((*set)->summary().sample_shape, (std::vector<std::int64_t>{2, 3}));
  EXPECT_EQ((*set)->summary().classes, 3);
  EXPECT_EQ((*set)->summary().train_samples, 6);
  EXPECT_EQ((*set)->summary().held_out_samples, 4);
}

// The pixel tells the image: standardizing keeps their order, so sorting the values of both splits
// numbers the images.
TEST_F(Idx, assigns_every_image_to_one_split_with_its_label) {
  const auto set = open(spec_, folder_.path()).value();
  std::vector<std::pair<float, std::int32_t>> seen;
  for (const Split split : {Split::train, Split::held_out}) {
    const auto samples = read_all(*set, split);
    for (std::size_t i = 0; i < samples.labels.size(); ++i) {
      for (std::size_t p = 1; p < kPixels; ++p)
        EXPECT_EQ(samples.features[i * kPixels + p], samples.features[i * kPixels]);
      seen.emplace_back(samples.features[i * kPixels], samples.labels[i]);
    }
  }
  std::sort(seen.begin(), seen.end());
  ASSERT_EQ(std::ssize(seen), kImages);
  for (std::size_t i = 0; i < seen.size(); ++i)
    EXPECT_EQ(seen[i].second, static_cast<std::int32_t>(i % 3));
  for (std::size_t i = 1; i < seen.size(); ++i) EXPECT_LT(seen[i - 1].first, seen[i].first);
}

TEST_F(Idx, standardizes_pixels_with_statistics_of_the_training_split) {
  const auto [mean, deviation] =
      mean_and_deviation(read_all(*open(spec_, folder_.path()).value(), Split::train).features);
  EXPECT_NEAR(mean, 0, 1e-6);
  EXPECT_NEAR(deviation, 1, 1e-6);
}

TEST_F(Idx, maps_bytes_to_the_standardized_pixels) {
  const auto set = open(spec_, folder_.path()).value();
  ASSERT_NE(set->byte_values(), nullptr);
  for (const Split split : {Split::train, Split::held_out}) {
    const auto samples = read_all(*set, split);
    std::vector<std::int64_t> indices(samples.labels.size());
    std::iota(indices.begin(), indices.end(), std::int64_t{0});
    std::vector<std::uint8_t> bytes(samples.features.size());
    std::vector<std::int32_t> labels(samples.labels.size());
    set->fill_bytes(split, indices, bytes, labels);
    EXPECT_EQ(labels, samples.labels);
    for (std::size_t i = 0; i < bytes.size(); ++i)
      ASSERT_EQ((*set->byte_values())[bytes[i]], samples.features[i]) << i;
  }
}

TEST_F(Idx, reads_compressed_files_with_any_name) {
  const auto plain = read_all(*open(spec_, folder_.path()).value(), Split::train);
  write(gzip(good_images()), gzip(good_labels().substr(0, 3)) + gzip(good_labels().substr(3)));
  const auto set = open(spec_, folder_.path());
  ASSERT_TRUE(set) << base::to_string(set.error());
  EXPECT_EQ(read_all(**set, Split::train).features, plain.features);
  EXPECT_EQ(read_all(**set, Split::train).labels, plain.labels);
}

TEST_F(Idx, splits_by_the_seed) {
  const auto first = read_all(*open(spec_, folder_.path()).value(), Split::held_out).features;
  EXPECT_EQ(read_all(*open(spec_, folder_.path()).value(), Split::held_out).features, first);
  std::set<std::vector<float>> seen;
  for (spec_.seed = 1; spec_.seed < 6; ++spec_.seed)
    seen.insert(read_all(*open(spec_, folder_.path()).value(), Split::held_out).features);
  EXPECT_GT(seen.size(), 2u);
}

TEST_F(Idx, inspect_gives_the_same_summary) {
  write(good_images().substr(0, 16) + std::string(kImages * kPixels, 'x'), good_labels());
  const auto summary = inspect(spec_, folder_.path());
  ASSERT_TRUE(summary) << base::to_string(summary.error());
  EXPECT_EQ(summary->sample_shape, (std::vector<std::int64_t>{2, 3}));
  EXPECT_EQ(summary->train_samples, 6);
  EXPECT_EQ(summary->classes, 3);
}

TEST_F(Idx, missing_file_has_advice_with_source_destination_and_alternative) {
  spec_.images = "mnist/train-images-idx3-ubyte.gz";
  const auto found = problem();
  EXPECT_EQ(found.code, ProblemCode::unavailable);
  EXPECT_THAT(found,
              AllOf(IsProblem("missing_file", path("mnist/train-images-idx3-ubyte.gz")),
                    Advises("train-images-idx3-ubyte.gz"), Advises("t10k-labels-idx1-ubyte.gz"),
                    Advises(path("mnist")), Advises("digits")));
  EXPECT_EQ(inspect(spec_, folder_.path()).error(), found);
}

TEST_F(Idx, missing_name_directory_and_empty_file_are_problems) {
  spec_.images = "";
  EXPECT_THAT(problem(), IsProblem("file_not_set", "data.images"));
  spec_.images = ".";
  EXPECT_THAT(problem(), IsProblem("not_a_regular_file", path("")));
  spec_.images = "images";
  write("", good_labels());
  EXPECT_THAT(problem(), AllOf(IsProblem("bad_data_file", path("images")), Reports("empty")));
}

TEST_F(Idx, truncation_at_any_byte_is_a_problem) {
  for (const bool packed : {false, true}) {
    const std::string images = packed ? gzip(good_images()) : good_images(),
                      labels = packed ? gzip(good_labels()) : good_labels();
    for (std::size_t length = 0; length < images.size(); ++length) {
      write(images.substr(0, length), labels);
      EXPECT_FALSE(open(spec_, folder_.path())) << length << " bytes of the images";
    }
    for (std::size_t length = 0; length < labels.size(); ++length) {
      write(images, labels.substr(0, length));
      EXPECT_FALSE(open(spec_, folder_.path())) << length << " bytes of the labels";
    }
  }
  write(gzip(good_images()).substr(0, 40), gzip(good_labels()));
  EXPECT_THAT(problem(), AllOf(IsProblem("bad_data_file", path("images")), Reports("truncated")));
}

TEST_F(Idx, wrong_magic_is_reported_with_the_accepted_one) {
  write("PK\x03\x04 not idx at all", good_labels());
  EXPECT_THAT(problem(), AllOf(IsProblem("bad_data_file", path("images")), Reports("50 4b 03 04"),
                               Accepts("00 00"), testing::Not(Advises("swapped"))));
  write("<!DOCTYPE html>", good_labels());
  EXPECT_THAT(problem(), AllOf(IsProblem("bad_data_file", path("images")), Reports("web page"),
                               testing::Not(Advises("swapped"))));
  write(std::string("\0\0\x0a\x03", 4) + good_images().substr(4), good_labels());
  EXPECT_THAT(problem(), AllOf(IsProblem("bad_data_file", path("images")), Reports("00 00 0a 03")));
}

TEST_F(Idx, swapped_files_are_reported) {
  write(good_labels(), good_images());
  EXPECT_THAT(problem(), AllOf(IsProblem("bad_data_file", path("images")), Reports("1 dimension"),
                               Advises("swapped")));
  write(good_images(), good_images());
  EXPECT_THAT(problem(), AllOf(IsProblem("bad_data_file", path("labels")), Reports("3 dimensions"),
                               Advises("swapped")));
}

// Bytes of a number in IDX order.
template <class Number>
std::string big_endian(Number number) {
  std::string bytes(sizeof number, '\0');
  std::memcpy(bytes.data(), &number, sizeof number);
  std::ranges::reverse(bytes);
  return bytes;
}

TEST_F(Idx, reads_all_element_types) {
  const auto of_bytes = read_all(*open(spec_, folder_.path()).value(), Split::train).features;
  const auto expect_equal = [&](char code, const std::function<std::string(int)>& element) {
    std::string elements;
    for (int i = 0; i < kImages; ++i)
      for (std::int64_t p = 0; p < kPixels; ++p) elements += element(10 * i);
    std::string images = idx({kImages, 2, 3}, elements);
    images[2] = code;
    write(images, good_labels());
    const auto set = open(spec_, folder_.path());
    ASSERT_TRUE(set) << base::to_string(set.error());
    EXPECT_EQ((*set)->byte_values(), nullptr);
    const auto features = read_all(**set, Split::train).features;
    ASSERT_EQ(features.size(), of_bytes.size());
    for (std::size_t i = 0; i < features.size(); ++i)
      EXPECT_NEAR(features[i], of_bytes[i], 1e-6) << i << ", type " << int{code};
  };
  expect_equal('\x09', [](int v) { return big_endian(static_cast<std::int8_t>(v)); });
  expect_equal('\x0b', [](int v) { return big_endian(static_cast<std::int16_t>(-300 + v)); });
  expect_equal('\x0c', [](int v) { return big_endian(std::int32_t{70'000 + v}); });
  expect_equal('\x0d', [](int v) { return big_endian(static_cast<float>(v) / 8); });
  expect_equal('\x0e', [](int v) { return big_endian(1e9 + v); });
}

TEST_F(Idx, refuses_numbers_that_are_not_finite) {
  std::string elements;
  for (std::int64_t i = 0; i < kImages * kPixels; ++i)
    elements += big_endian(i == 13 ? std::numeric_limits<float>::quiet_NaN() : float(i));
  std::string images = idx({kImages, 2, 3}, elements);
  images[2] = '\x0d';
  write(images, good_labels());
  EXPECT_THAT(problem(), AllOf(IsProblem("bad_data_file", path("images")), Reports("sample 2")));
  const auto surveyed = survey(spec_, folder_.path());
  ASSERT_FALSE(surveyed);
  EXPECT_THAT(surveyed.error(),
              AllOf(IsProblem("bad_data_file", path("images")), Reports("sample 2")));
}

TEST_F(Idx, survey_refuses_numbers_that_are_too_large) {
  std::string elements;
  for (std::int64_t i = 0; i < kImages * kPixels; ++i)
    elements += big_endian(i == 20 ? 1e300 : static_cast<double>(i));
  std::string images = idx({kImages, 2, 3}, elements);
  images[2] = '\x0e';
  write(images, good_labels());
  const auto surveyed = survey(spec_, folder_.path());
  ASSERT_FALSE(surveyed);
  EXPECT_THAT(surveyed.error(),
              AllOf(IsProblem("bad_data_file", path("images")), Reports("sample 3")));
}

// QMNIST: eight int32 numbers for each label; the first is the class.
TEST_F(Idx, reads_labels_of_two_dimensions) {
  std::string elements;
  for (int i = 0; i < kImages; ++i)
    for (int column = 0; column < 8; ++column)
      elements += big_endian(std::int32_t{column == 0 ? i % 3 : 1000 + i});
  std::string labels = idx({kImages, 8}, elements);
  labels[2] = '\x0c';
  const auto expected = read_all(*open(spec_, folder_.path()).value(), Split::train).labels;
  write(good_images(), labels);
  const auto set = open(spec_, folder_.path());
  ASSERT_TRUE(set) << base::to_string(set.error());
  EXPECT_EQ(read_all(**set, Split::train).labels, expected);
  EXPECT_THAT((*set)->notes(), testing::ElementsAre(testing::HasSubstr("8 columns")));
}

TEST_F(Idx, survey_detects_truncated_images) {
  write(gzip(good_images()).substr(0, 50), good_labels());
  EXPECT_FALSE(survey(spec_, folder_.path()));
  write(good_images().substr(0, good_images().size() - 1), good_labels());
  EXPECT_FALSE(inspect(spec_, folder_.path()));
  write(good_images(), good_labels());
  EXPECT_TRUE(inspect(spec_, folder_.path()));
  write(good_images().substr(0, good_images().size() - 1), good_labels());
  EXPECT_FALSE(inspect(spec_, folder_.path())) << "the file changed after it was checked";
}

// Only the used samples are stored, so their features must be those of the full file.
TEST_F(Idx, samples_that_are_not_used_change_nothing) {
  const auto all = read_all(*open(spec_, folder_.path()).value(), Split::held_out);
  spec_.train_samples = 3;
  const auto set = open(spec_, folder_.path()).value();
  const auto samples = read_all(*set, Split::held_out);
  EXPECT_EQ(samples.labels, all.labels);
  EXPECT_EQ(set->summary().train_samples, 3);
  const auto order = [](std::vector<float> values) {
    std::vector<std::size_t> positions(values.size());
    std::iota(positions.begin(), positions.end(), std::size_t{0});
    std::ranges::stable_sort(positions, {}, [&](std::size_t i) { return values[i]; });
    return positions;
  };
  EXPECT_EQ(order(samples.features), order(all.features)) << "the same images in the same order";
}

TEST_F(Idx, wrong_header_is_refused_before_memory_is_allocated) {
  write(idx({0xffffffff, 0xffffffff, 0xffffffff}, pixels()), good_labels());
  EXPECT_THAT(problem(), AllOf(IsProblem("bad_data_file", path("images")), Reports("header"),
                               Reports("elements")));
  write(idx({100'000'000, 8, 8}, pixels()), good_labels());
  EXPECT_THAT(problem(),
              AllOf(IsProblem("bad_data_file", path("images")), Reports("6,400,000,000")));
  write(gzip(idx({1'000'000'000, 2, 3}, pixels())), good_labels());
  EXPECT_THAT(problem(),
              AllOf(IsProblem("bad_data_file", path("images")), Reports("6,000,000,000")));
  write(idx({0, 2, 3}, ""), good_labels());
  EXPECT_THAT(problem(), AllOf(IsProblem("bad_data_file", path("images")), Reports("extent of 0")));
}

TEST_F(Idx, compressed_header_may_not_exceed_the_decompressed_data) {
  write(gzip(idx({kImages + 1, 2, 3}, pixels())), gzip(idx({kImages + 1}, label_bytes() + '\1')));
  EXPECT_THAT(problem(), AllOf(IsProblem("bad_data_file", path("images")), Reports("truncated"),
                               Reports("elements")));
}

TEST_F(Idx, bytes_after_the_end_are_a_problem) {
  write(good_images() + "x", good_labels());
  EXPECT_THAT(problem(), AllOf(IsProblem("bad_data_file", path("images")), Reports("60")));
  write(gzip(good_images()) + "garbage", good_labels());
  EXPECT_THAT(problem(), AllOf(IsProblem("bad_data_file", path("images")), Reports("gzip")));
  write(gzip(good_images() + std::string(5'000'000, '\0')),
        good_labels());  // a small bomb: not unpacked beyond the claim
  EXPECT_THAT(problem(), AllOf(IsProblem("bad_data_file", path("images")), Reports("60")));
}

TEST_F(Idx, damaged_gzip_is_a_problem) {
  std::string packed = gzip(good_images());
  packed[packed.size() - 6] = static_cast<char>(packed[packed.size() - 6] ^ 1);  // in the checksum
  write(packed, good_labels());
  EXPECT_THAT(problem(), AllOf(IsProblem("bad_data_file", path("images")), Reports("gzip"),
                               Reports("incorrect data check")));
}

TEST_F(Idx, labels_must_match_the_images_and_be_in_range) {
  write(good_images(), idx({kImages - 1}, label_bytes().substr(1)));
  EXPECT_THAT(problem(), AllOf(IsProblem("labels_differ", path("labels")), Reports("9 labels"),
                               Reports("10 images")));
  write(good_images(), idx({kImages}, label_bytes().substr(1) + '\xc8'));
  EXPECT_THAT(problem(), AllOf(IsProblem("bad_data_file", path("labels")), Reports("label 200"),
                               Reports("sample 9"), Accepts("0 to 99")));
  write(good_images(), idx({kImages}, std::string(kImages, '\0')));
  EXPECT_THAT(problem(),
              AllOf(IsProblem("bad_data_file", path("labels")), Reports("0"), Accepts("classes")));
}

// Packed, a GB of one label is a MB.
TEST_F(Idx, labels_are_counted_before_they_are_read) {
  write(good_images(), gzip(idx({5'000}, "")));
  EXPECT_THAT(problem(), AllOf(IsProblem("labels_differ", path("labels")), Reports("5,000 labels"),
                               Reports("10 images")));
}

TEST_F(Idx, more_samples_than_the_file_has_are_a_problem) {
  spec_.train_samples = 7;
  EXPECT_THAT(problem(), AllOf(IsProblem("too_few_samples", "data.train_samples"),
                               Reports("7 training"), Reports("images has 10")));
  EXPECT_EQ(inspect(spec_, folder_.path()).error(), problem());
  spec_.train_samples = 0, spec_.held_out_samples = 11;
  EXPECT_THAT(problem(), AllOf(IsProblem("too_few_samples", "data.held_out_samples"), Reports("11"),
                               Accepts("at most 10")));
  spec_.held_out_samples = 10;
  EXPECT_THAT(problem(), AllOf(IsProblem("too_few_samples", "data.held_out_samples"),
                               Accepts("less than 10")));
}

}  // namespace
}  // namespace trainyard::data
