// SPDX-License-Identifier: GPL-3.0-or-later
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <span>
#include <thread>

#include "core/data/digit_drawing.h"
#include "core/data/permutation.h"
#include "tests/core/data/files.h"

namespace trainyard::data {
namespace {

DataSpec digits(std::int64_t train, std::int64_t held_out, double noise = 1) {
  DataSpec spec;
  spec.train_samples = train, spec.held_out_samples = held_out, spec.noise = noise;
  return spec;
}

TEST(Digits, are_28_by_28_images_in_ten_balanced_classes) {
  const auto set = make(digits(1000, 200));
  EXPECT_EQ(set->summary().sample_shape, (std::vector<std::int64_t>{28, 28}));
  EXPECT_EQ(set->summary().classes, 10);
  const auto labels = read_all(*set, Split::train).labels;
  for (int digit = 0; digit < 10; ++digit)
    EXPECT_EQ(std::count(labels.begin(), labels.end(), digit), 100);
}

TEST(Digits, have_about_zero_mean_and_unit_deviation) {
  const auto [mean, deviation] =
      mean_and_deviation(read_all(*make(digits(2000, 1)), Split::train).features);
  EXPECT_NEAR(mean, 0, 0.05);
  EXPECT_NEAR(deviation, 1, 0.05);
}

TEST(Digits, depend_only_on_seed_split_and_index) {
  const auto small = make(digits(50, 10)), large = make(digits(5000, 1000));
  EXPECT_EQ(read(*small, Split::train, {7, 3, 49}).features,
            read(*large, Split::train, {7, 3, 49}).features);
  EXPECT_EQ(read(*small, Split::held_out, {9}).features,
            read(*large, Split::held_out, {9}).features);
  EXPECT_NE(read(*small, Split::held_out, {9}).features, read(*small, Split::train, {9}).features);
  auto other_seed = digits(50, 10);
  other_seed.seed = 2;
  EXPECT_NE(read(*small, Split::train, {7}).features,
            read(*make(other_seed), Split::train, {7}).features);
}

TEST(Digits, are_the_same_in_any_order_of_reading) {
  const auto set = make(digits(100, 1));
  const auto first = read(*set, Split::train, {5}).features;
  const auto all = read_all(*set, Split::train).features;
  EXPECT_TRUE(std::equal(first.begin(), first.end(), all.begin() + 5 * kDigitPixels));
  EXPECT_EQ(read(*set, Split::train, {5}).features, first);
}

TEST(Digits, are_the_same_for_concurrent_threads) {
  const auto set = make(digits(400, 1));
  std::array<Samples, 4> seen;
  {
    std::vector<std::jthread> threads;
    for (auto& samples : seen)
      threads.emplace_back([&] { samples = read_all(*set, Split::train); });
  }
  const auto alone = read_all(*make(digits(400, 1)), Split::train);
  for (const auto& samples : seen) EXPECT_EQ(samples.features, alone.features);
}

TEST(Digits, of_one_class_are_all_different) {
  const auto all = read_all(*make(digits(1000, 1)), Split::train).features;
  std::vector<std::vector<float>> images;
  for (std::size_t i = 0; i < 1000; ++i)
    images.emplace_back(all.begin() + static_cast<std::ptrdiff_t>(i * kDigitPixels),
                        all.begin() + static_cast<std::ptrdiff_t>((i + 1) * kDigitPixels));
  std::sort(images.begin(), images.end());
  EXPECT_EQ(std::adjacent_find(images.begin(), images.end()), images.end());
}

TEST(Digits, without_noise_are_clean_glyphs_on_blank_paper) {
  std::array<std::uint8_t, kDigitPixels> pixels{};
  for (std::uint32_t item = 0; item < 50; ++item) {
    draw_digit(1, item, static_cast<int>(item % 10), 0, pixels);
    EXPECT_EQ(*std::max_element(pixels.begin(), pixels.end()), 255);
    for (std::size_t x = 0; x < kDigitSide; ++x)
      EXPECT_EQ(pixels[x] + pixels[kDigitPixels - 1 - x], 0) << "the border row has ink";
  }
}

TEST(Digits, stay_on_the_canvas_with_extreme_noise) {
  constexpr std::size_t kAround = 28 * 28;
  constexpr std::uint8_t kUntouched = 77;
  std::array<std::uint8_t, kAround + kDigitPixels + kAround> memory{};
  memory.fill(kUntouched);
  const auto pixels = std::span(memory).subspan<kAround, kDigitPixels>();
  for (std::uint32_t item = 0; item < 300; ++item) {
    draw_digit(1, item, static_cast<int>(item % 10), 10, pixels);
    EXPECT_GT(std::ranges::max(pixels) - std::ranges::min(pixels), 0)
        << "nothing was drawn for item " << item;
  }
  const auto untouched = [](std::uint8_t value) { return value == kUntouched; };
  EXPECT_TRUE(std::ranges::all_of(std::span(memory).first(kAround), untouched));
  EXPECT_TRUE(std::ranges::all_of(std::span(memory).last(kAround), untouched));
}

// Multinomial logistic regression by minibatch gradient descent with a falling rate: the linear
// model of a person in haste.
class LinearModel {
 public:
  void train(const Samples& samples, int epochs) {
    std::vector<std::int64_t> order(samples.labels.size());
    for (int epoch = 0; epoch < epochs; ++epoch) {
      permute(order, base::Random(1, base::Purpose::permute, static_cast<std::uint32_t>(epoch)));
      const float rate = 0.02f / static_cast<float>(1 + epoch);
      for (const std::int64_t index : order)
        learn(row(samples, index), samples.labels[static_cast<std::size_t>(index)], rate / 8);
    }
  }

  double accuracy(const Samples& samples) const {
    std::int64_t right = 0;
    for (std::int64_t i = 0; i < std::ssize(samples.labels); ++i) {
      const auto scores = score(row(samples, i));
      right += std::max_element(scores.begin(), scores.end()) - scores.begin() ==
               samples.labels[static_cast<std::size_t>(i)];
    }
    return static_cast<double>(right) / static_cast<double>(samples.labels.size());
  }

 private:
  using Scores = std::array<float, 10>;

  static std::span<const float> row(const Samples& samples, std::int64_t index) {
    return std::span(samples.features)
        .subspan(static_cast<std::size_t>(index) * kDigitPixels, kDigitPixels);
  }

  Scores score(std::span<const float> pixels) const {
    Scores scores = bias_;
    for (std::size_t i = 0; i < pixels.size(); ++i)
      for (std::size_t c = 0; c < 10; ++c) scores[c] += pixels[i] * weight_[i][c];
    return scores;
  }

  void learn(std::span<const float> pixels, std::int32_t label, float rate) {
    Scores gradient = score(pixels);
    const float largest = *std::max_element(gradient.begin(), gradient.end());
    float sum = 0;
    for (float& g : gradient) sum += g = std::exp(g - largest);
    for (float& g : gradient) g /= sum;
    gradient[static_cast<std::size_t>(label)] -= 1;
    for (std::size_t c = 0; c < 10; ++c) bias_[c] -= rate * gradient[c];
    for (std::size_t i = 0; i < pixels.size(); ++i)
      for (std::size_t c = 0; c < 10; ++c) weight_[i][c] -= rate * gradient[c] * pixels[i];
  }

  std::array<Scores, kDigitPixels> weight_{};
  Scores bias_{};
};

TEST(Digits, are_too_hard_for_a_linear_model) {
  const auto set = make(digits(8000, 2000));
  const auto train = read_all(*set, Split::train);
  LinearModel model;
  model.train(train, 6);
  const double accuracy = model.accuracy(read_all(*set, Split::held_out));
  RecordProperty("held_out_accuracy", std::to_string(accuracy));
  EXPECT_LT(accuracy, 0.93);
  EXPECT_GT(accuracy, 0.85)
      << "the model did not learn what a linear model can, so the bound above shows nothing";
  EXPECT_GT(model.accuracy(train), 0.90);
}

TEST(Digits, without_noise_are_easy_for_a_linear_model) {
  const auto set = make(digits(500, 500, 0));
  LinearModel model;
  model.train(read_all(*set, Split::train), 3);
  EXPECT_GT(model.accuracy(read_all(*set, Split::held_out)), 0.99);
}

}  // namespace
}  // namespace trainyard::data
