// SPDX-License-Identifier: GPL-3.0-or-later
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>

#include "tests/core/data/files.h"

namespace trainyard::data {
namespace {

DataSpec points(DataKind kind, std::int64_t classes, std::int64_t features = 2, double noise = 1) {
  DataSpec spec;
  spec.kind = kind, spec.classes = classes, spec.features = features, spec.noise = noise;
  spec.train_samples = 3000, spec.held_out_samples = 500;
  return spec;
}

double squared_distance(std::span<const float> a, std::span<const float> b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += (double{a[i]} - b[i]) * (double{a[i]} - b[i]);
  return sum;
}

double nearest_neighbor_accuracy(const Dataset& set) {
  const auto known = read_all(set, Split::train), asked = read_all(set, Split::held_out);
  const auto width = static_cast<std::size_t>(set.summary().features());
  std::size_t right = 0;
  for (std::size_t i = 0; i < asked.labels.size(); ++i) {
    double best = std::numeric_limits<double>::infinity();
    std::int32_t label = -1;
    for (std::size_t j = 0; j < known.labels.size(); ++j) {
      const double distance = squared_distance(std::span(asked.features).subspan(i * width, width),
                                               std::span(known.features).subspan(j * width, width));
      if (distance < best) best = distance, label = known.labels[j];
    }
    right += label == asked.labels[i];
  }
  return static_cast<double>(right) / static_cast<double>(asked.labels.size());
}

TEST(Points, have_the_shape_and_classes_of_the_spec) {
  const auto spirals = open(points(DataKind::spirals, 5), "").value()->summary();
  EXPECT_EQ(spirals.sample_shape, (std::vector<std::int64_t>{2}));
  EXPECT_EQ(spirals.classes, 5);
  EXPECT_EQ(open(points(DataKind::blobs, 4, 7), "").value()->summary().features(), 7);
}

TEST(Points, have_about_zero_mean_and_unit_deviation) {
  for (const auto& spec : {points(DataKind::spirals, 3), points(DataKind::blobs, 3),
                           points(DataKind::blobs, 10, 20), points(DataKind::blobs, 2, 1)}) {
    const auto [mean, deviation] =
        mean_and_deviation(read_all(*open(spec, "").value(), Split::train).features);
    EXPECT_NEAR(mean, 0, 0.08);
    EXPECT_NEAR(deviation, 1, 0.08);
  }
}

TEST(Points, depend_only_on_seed_split_and_index) {
  for (const DataKind kind : {DataKind::spirals, DataKind::blobs}) {
    auto spec = points(kind, 3);
    const auto set = open(spec, "").value();
    spec.train_samples = 10;
    const auto small = open(spec, "").value();
    EXPECT_EQ(read(*set, Split::train, {4, 9}).features,
              read(*small, Split::train, {4, 9}).features);
    EXPECT_NE(read(*set, Split::train, {4}).features, read(*set, Split::held_out, {4}).features);
    spec.seed = 99;
    EXPECT_NE(read(*set, Split::train, {4}).features,
              read(*open(spec, "").value(), Split::train, {4}).features);
  }
}

TEST(Points, with_default_noise_can_be_separated) {
  for (const std::uint64_t seed : {1, 2, 3})
    for (auto spec : {points(DataKind::spirals, 3), points(DataKind::blobs, 3)}) {
      spec.seed = static_cast<std::int64_t>(seed);
      EXPECT_GT(nearest_neighbor_accuracy(*open(spec, "").value()), 0.9)
          << base::name_of(spec.kind) << ", seed " << seed;
    }
}

TEST(Points, are_harder_to_separate_with_more_noise) {
  for (const DataKind kind : {DataKind::spirals, DataKind::blobs})
    EXPECT_LT(nearest_neighbor_accuracy(*open(points(kind, 3, 2, 10), "").value()),
              nearest_neighbor_accuracy(*open(points(kind, 3, 2, 0), "").value()));
}

TEST(Points, of_an_empty_set_or_one_class_are_a_problem) {
  auto spec = points(DataKind::blobs, 1);
  EXPECT_EQ(open(spec, "").error().where, "data.classes");
  spec = points(DataKind::blobs, 2, 0);
  EXPECT_EQ(open(spec, "").error().where, "data.features");
  spec = points(DataKind::spirals, 2);
  spec.train_samples = 0;
  EXPECT_EQ(inspect(spec, "").error().where, "data.train_samples");
}

}  // namespace
}  // namespace trainyard::data
