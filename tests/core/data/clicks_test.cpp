// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/data/clicks.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>

#include "tests/core/data/files.h"
#include "tests/problem_matchers.h"

namespace trainyard::data {
namespace {

DataSpec clicks(std::int64_t train = 20'000, std::int64_t held_out = 10'000) {
  DataSpec spec;
  spec.kind = DataKind::clicks;
  spec.train_samples = train, spec.held_out_samples = held_out;
  return spec;
}

std::size_t width_of(const DataSpec& spec) {
  return static_cast<std::size_t>(spec.slot_count + spec.dense);
}

std::span<const float> row(const Samples& samples, std::size_t index, std::size_t width) {
  return std::span(samples.features).subspan(index * width, width);
}

double share_of_clicks(const Samples& samples) {
  return static_cast<double>(std::count(samples.labels.begin(), samples.labels.end(), 1)) /
         static_cast<double>(samples.labels.size());
}

// Share of labels that are the more likely one.
double best_accuracy(const ClickModel& truth, const Samples& samples, std::size_t width) {
  std::size_t right = 0;
  for (std::size_t i = 0; i < samples.labels.size(); ++i)
    right += (truth.probability(row(samples, i, width)) > 0.5) == (samples.labels[i] == 1);
  return static_cast<double>(right) / static_cast<double>(samples.labels.size());
}

// Expected accuracy of the best guess according to the generator: the Bayes rate.
double bayes_rate(const ClickModel& truth, const Samples& samples, std::size_t width) {
  double sum = 0;
  for (std::size_t i = 0; i < samples.labels.size(); ++i) {
    const double click = truth.probability(row(samples, i, width));
    sum += std::max(click, 1 - click);
  }
  return sum / static_cast<double>(samples.labels.size());
}

TEST(Clicks, are_rows_of_indices_and_numbers_in_two_classes) {
  DataSpec spec = clicks(100, 20);
  spec.slot_count = 3, spec.dense = 2, spec.vocabulary = 31;
  const auto set = make(spec);
  EXPECT_EQ(set->summary().sample_shape, (std::vector<std::int64_t>{5}));
  EXPECT_EQ(set->summary().classes, 2);
  EXPECT_EQ(indices_of(spec).slot_count, 3);
  EXPECT_EQ(indices_of(spec).vocabulary, 31);
  const Samples samples = read_all(*set, Split::train);
  for (std::size_t i = 0; i < 100; ++i)
    for (std::size_t slot = 0; slot < 3; ++slot) {
      const float index = row(samples, i, 5)[slot];
      EXPECT_EQ(index, std::floor(index));
      EXPECT_GE(index, 10 * static_cast<float>(slot)) << "each slot has a third of the vocabulary";
      EXPECT_LT(index, 10 * static_cast<float>(slot + 1));
    }
}

TEST(Clicks, of_other_data_sets_have_no_indices) {
  EXPECT_EQ(indices_of({}).slot_count, 0);
  EXPECT_EQ(indices_of({}).vocabulary, 0);
}

// 8 slots of 50 indices; each count is within five deviations of a binomial one.
TEST(Clicks, have_zipf_frequencies) {
  for (const double exponent : {0.0, 1.05, 2.0}) {
    DataSpec spec = clicks();
    spec.vocabulary = 400, spec.zipf_exponent = exponent;
    const Samples samples = read_all(*make(spec), Split::train);
    std::vector<double> found(400), expected(50);
    for (std::size_t i = 0; i < samples.labels.size(); ++i)
      for (std::size_t slot = 0; slot < 8; ++slot)
        ++found[static_cast<std::size_t>(row(samples, i, 16)[slot])];
    double sum = 0;
    for (std::size_t k = 0; k < 50; ++k)
      sum += expected[k] = std::pow(static_cast<double>(k + 1), -exponent);
    const double drawn = 20'000;
    for (std::size_t index = 0; index < 400; ++index) {
      const double share = expected[index % 50] / sum;
      EXPECT_NEAR(found[index], drawn * share, 5 * std::sqrt(drawn * share * (1 - share)))
          << "index " << index << ", exponent " << exponent;
    }
  }
}

TEST(Zipf, gives_every_number_a_rank_and_every_rank_its_probability) {
  const Zipf zipf(4, 1);  // 12 / 25, 6 / 25, 4 / 25, 3 / 25
  EXPECT_NEAR(zipf.probability(0), 0.48, 1e-15);
  EXPECT_NEAR(zipf.probability(3), 0.12, 1e-15);
  EXPECT_EQ(zipf.rank(0), 0);
  EXPECT_EQ(zipf.rank(0.479), 0);
  EXPECT_EQ(zipf.rank(0.481), 1);
  EXPECT_EQ(zipf.rank(0.719), 1);
  EXPECT_EQ(zipf.rank(0.721), 2);
  EXPECT_EQ(zipf.rank(std::nextafter(1.0, 0.0)), 3);
  EXPECT_EQ(Zipf(1, 1.05).rank(std::nextafter(1.0, 0.0)), 0);
}

TEST(Clicks, dense_columns_have_mean_zero_and_unit_deviation) {
  const Samples samples = read_all(*make(clicks()), Split::train);
  for (std::size_t column = 8; column < 16; ++column) {
    std::vector<float> values;
    for (std::size_t i = 0; i < samples.labels.size(); ++i)
      values.push_back(row(samples, i, 16)[column]);
    const auto [mean, deviation] = mean_and_deviation(values);
    EXPECT_NEAR(mean, 0, 0.03);
    EXPECT_NEAR(deviation, 1, 0.03);
  }
}

TEST(Clicks, are_25_to_35_percent_for_every_seed_and_size) {
  for (const double noise : {0.0, 1.0, 4.0})
    for (const std::int64_t seed : {1, 2, 3, 4, 5}) {
      DataSpec spec = clicks(8000, 0);
      spec.seed = seed, spec.noise = noise;
      for (const auto& [slots, vocabulary] :
           {std::pair<std::int64_t, std::int64_t>{8, 20'000}, {26, 100'000}, {3, 1000}}) {
        spec.slot_count = slots, spec.vocabulary = vocabulary;
        const double clicked = share_of_clicks(read_all(*make(spec), Split::train));
        EXPECT_GE(clicked, 0.25) << "seed " << seed << ", noise " << noise << ", slots " << slots;
        EXPECT_LE(clicked, 0.35) << "seed " << seed << ", noise " << noise << ", slots " << slots;
      }
    }
}

// Among samples with a click probability of about p, a share of p are clicks.
TEST(Clicks, follow_the_probabilities_of_the_generator) {
  const DataSpec spec = clicks(50'000);
  const ClickModel truth(spec);
  const Samples samples = read_all(*make(spec), Split::train);
  std::array<double, 10> expected{}, clicked{}, count{};
  for (std::size_t i = 0; i < samples.labels.size(); ++i) {
    const double probability = truth.probability(row(samples, i, width_of(spec)));
    const std::size_t tenth = std::min<std::size_t>(static_cast<std::size_t>(probability * 10), 9);
    expected[tenth] += probability, clicked[tenth] += samples.labels[i], ++count[tenth];
  }
  for (std::size_t tenth = 0; tenth < 10; ++tenth) {
    EXPECT_GT(count[tenth], 500) << "probabilities are spread";
    EXPECT_NEAR(clicked[tenth], expected[tenth],
                5 * std::sqrt(expected[tenth] * (1 - expected[tenth] / count[tenth])))
        << tenth;
  }
}

TEST(Clicks, without_noise_follow_the_score_only) {
  DataSpec spec = clicks(2000);
  spec.noise = 0;
  const ClickModel truth(spec);
  const Samples samples = read_all(*make(spec), Split::train);
  EXPECT_EQ(best_accuracy(truth, samples, width_of(spec)), 1);
  EXPECT_EQ(bayes_rate(truth, samples, width_of(spec)), 1);
}

// Logistic regression by plain gradient descent, a sample at a time: a weight for each index, and
// for each dense column.
class LogisticModel {
 public:
  explicit LogisticModel(const DataSpec& spec)
      : slots_(static_cast<std::size_t>(spec.slot_count)),
        of_index_(static_cast<std::size_t>(spec.vocabulary)),
        of_dense_(static_cast<std::size_t>(spec.dense)) {}

  void train(const Samples& samples, int epochs) {
    const std::size_t width = slots_ + of_dense_.size();
    for (int epoch = 0; epoch < epochs; ++epoch)
      for (std::size_t i = 0; i < samples.labels.size(); ++i)
        learn(row(samples, i, width), samples.labels[i], 0.05 / (1 + epoch));
  }

  double accuracy(const Samples& samples) const {
    const std::size_t width = slots_ + of_dense_.size();
    std::size_t right = 0;
    for (std::size_t i = 0; i < samples.labels.size(); ++i)
      right += (score(row(samples, i, width)) > 0) == (samples.labels[i] == 1);
    return static_cast<double>(right) / static_cast<double>(samples.labels.size());
  }

 private:
  double score(std::span<const float> sample) const {
    double sum = bias_;
    for (std::size_t slot = 0; slot < slots_; ++slot)
      sum += of_index_[static_cast<std::size_t>(sample[slot])];
    for (std::size_t d = 0; d < of_dense_.size(); ++d)
      sum += of_dense_[d] * static_cast<double>(sample[slots_ + d]);
    return sum;
  }

  void learn(std::span<const float> sample, std::int32_t label, double rate) {
    const double step = rate * (label - 1 / (1 + std::exp(-score(sample))));
    bias_ += step;
    for (std::size_t slot = 0; slot < slots_; ++slot)
      of_index_[static_cast<std::size_t>(sample[slot])] += step;
    for (std::size_t d = 0; d < of_dense_.size(); ++d)
      of_dense_[d] += step * static_cast<double>(sample[slots_ + d]);
  }

  std::size_t slots_;
  std::vector<double> of_index_, of_dense_;
  double bias_ = 0;
};

TEST(Clicks, can_be_learned_up_to_the_bayes_error) {
  for (const std::int64_t seed : {1, 2}) {
    DataSpec spec = clicks(40'000, 20'000);
    spec.seed = seed;
    const auto set = make(spec);
    const Samples held_out = read_all(*set, Split::held_out);
    LogisticModel model(spec);
    model.train(read_all(*set, Split::train), 10);
    const ClickModel truth(spec);
    const double base_rate = 1 - share_of_clicks(held_out),
                 bayes = bayes_rate(truth, held_out, width_of(spec)),
                 learned = model.accuracy(held_out);
    RecordProperty("learned", std::to_string(learned) + " of " + std::to_string(bayes) + ", base " +
                                  std::to_string(base_rate));
    EXPECT_GT(bayes, base_rate + 0.12);
    EXPECT_LT(bayes, 0.92) << "some clicks are chance";
    EXPECT_NEAR(best_accuracy(truth, held_out, width_of(spec)), bayes, 0.01);
    EXPECT_GT(learned, base_rate + 0.07) << "of " << bayes;
    EXPECT_LT(learned, bayes + 0.01);
  }
}

TEST(Clicks, depend_only_on_seed_split_and_index) {
  DataSpec spec = clicks();
  const auto set = make(spec), small = make(clicks(10, 10));
  EXPECT_EQ(read(*set, Split::train, {4, 9}).features, read(*small, Split::train, {4, 9}).features);
  EXPECT_EQ(read(*set, Split::train, {4, 9}).labels, read(*small, Split::train, {4, 9}).labels);
  EXPECT_EQ(read(*set, Split::train, {9}).features, read(*set, Split::train, {9}).features);
  EXPECT_NE(read(*set, Split::train, {4}).features, read(*set, Split::held_out, {4}).features);
  spec.seed = 99;
  EXPECT_NE(read(*set, Split::train, {4}).features, read(*make(spec), Split::train, {4}).features);
}

// The same people, as it were, are shown the same things; whether they click is another draw.
TEST(Clicks, with_other_noise_are_the_same_samples) {
  DataSpec spec = clicks();
  const Samples at_one = read_all(*make(spec), Split::train);
  spec.noise = 10;
  const Samples at_ten = read_all(*make(spec), Split::train);
  EXPECT_EQ(at_one.features, at_ten.features);
  EXPECT_NE(at_one.labels, at_ten.labels);
}

TEST(Clicks, of_training_and_held_out_sets_are_disjoint) {
  const auto set = make(clicks(2000, 2000));
  const auto rows = [&](Split split) {
    const Samples samples = read_all(*set, split);
    std::vector<std::vector<float>> list;
    for (std::size_t i = 0; i < samples.labels.size(); ++i)
      list.emplace_back(row(samples, i, 16).begin(), row(samples, i, 16).end());
    std::sort(list.begin(), list.end());
    return list;
  };
  const auto train = rows(Split::train), held_out = rows(Split::held_out);
  std::vector<std::vector<float>> both;
  std::set_intersection(train.begin(), train.end(), held_out.begin(), held_out.end(),
                        std::back_inserter(both));
  EXPECT_TRUE(both.empty());
  EXPECT_EQ(std::adjacent_find(train.begin(), train.end()), train.end());
}

TEST(Clicks, at_the_limits_of_their_fields_are_valid) {
  DataSpec spec = clicks(50, 1);
  spec.slot_count = 1, spec.vocabulary = 1, spec.dense = 0;
  for (const float feature : read_all(*make(spec), Split::train).features) EXPECT_EQ(feature, 0);
  spec.vocabulary = kMaxIndices, spec.zipf_exponent = 0;
  const auto features = read_all(*make(spec), Split::train).features;
  for (const float feature : features) EXPECT_EQ(feature, std::floor(feature));
  EXPECT_GT(*std::max_element(features.begin(), features.end()), 0.5F * kMaxIndices);
  EXPECT_LT(*std::max_element(features.begin(), features.end()), static_cast<float>(kMaxIndices));
}

TEST(Clicks, with_more_indices_than_float_can_represent_are_a_problem) {
  DataSpec spec = clicks();
  spec.vocabulary = kMaxIndices + 1;
  EXPECT_THAT(
      open(spec, "").error(),
      testing::AllOf(base::IsProblem("out_of_range", "data.vocabulary"), base::Reports("2^24")));
  EXPECT_EQ(inspect(spec, "").error(), open(spec, "").error());
  EXPECT_EQ(survey(spec, "").error(), open(spec, "").error());
  spec.vocabulary = 7;  // fewer than slots
  EXPECT_EQ(open(spec, "").error().where, "data.vocabulary");
  spec.slot_count = 0;
  EXPECT_EQ(open(spec, "").error().where, "data.slots");
  spec = clicks();
  spec.dense = -1;
  EXPECT_EQ(open(spec, "").error().where, "data.dense");
}

}  // namespace
}  // namespace trainyard::data
