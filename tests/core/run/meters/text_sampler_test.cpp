// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/run/meters/text_sampler.h"

#include <gtest/gtest.h>

#include <limits>

#include "core/compute/reference/reference.h"
#include "core/data/text.h"

namespace trainyard::run {
namespace {

class TextSampling : public testing::Test {
 protected:
  TextSampling() : values_(static_cast<std::size_t>(model_.elements)) {
    model::initialize(model_, 3, parameters(), {});
  }

  compute::Tensor parameters() {
    return {base::DType::fp64, {model_.elements}, reinterpret_cast<std::byte*>(values_.data())};
  }
  TextSampler sampler() {
    std::vector<std::string> vocabulary;
    for (const char character : alphabet_) vocabulary.emplace_back(1, character);
    return TextSampler::make(
               {&model_, device_.get(), parameters(), {}, compute::Multiplies::full, vocabulary})
        .value();
  }
  // Bias of the last layer: what is predicted whatever the text before is.
  double& bias(char character) {
    return values_[static_cast<std::size_t>(model_.segments.back().bias_offset()) +
                   alphabet_.find(character)];
  }

  std::string alphabet_ = data::grammar_alphabet();
  model::Model model_ =
      *model::build({{{.kind = model::LayerKind::embedding, .rows = 0, .width = 4},
                      {.kind = model::LayerKind::transformer, .heads = 2, .blocks = 1},
                      {model::LayerKind::linear, 0}}},
                    9, std::ssize(alphabet_));
  std::vector<double> values_;
  std::unique_ptr<compute::Compute> device_ = compute::reference::make();
};

TEST_F(TextSampling, generates_the_requested_characters_reproducibly) {
  TextSampler one = sampler();
  const std::string text = one.sample(40, 1, 7, 100);
  EXPECT_EQ(text.size(), 40u);
  for (const char character : text) EXPECT_NE(alphabet_.find(character), std::string::npos);
  EXPECT_EQ(one.sample(40, 1, 7, 100), text);
  EXPECT_EQ(sampler().sample(40, 1, 7, 100), text);
  EXPECT_NE(one.sample(40, 1, 7, 101), text);
  EXPECT_NE(one.sample(40, 1, 8, 100), text);
  EXPECT_EQ(one.sample(0, 1, 7, 100), "");
}

TEST_F(TextSampling, follows_the_predictions_of_the_model) {
  bias('g') = 50;
  EXPECT_EQ(sampler().sample(12, 1, 1, 1), "gggggggggggg");
}

TEST_F(TextSampling, uses_the_current_parameters) {
  TextSampler one = sampler();
  bias('g') = 50;
  EXPECT_EQ(one.sample(3, 1, 1, 1), "ggg");
  bias('h') = 200;
  EXPECT_EQ(one.sample(3, 1, 1, 1), "hhh");
}

TEST_F(TextSampling, with_temperature_zero_is_the_most_likely_text_for_any_seed) {
  TextSampler one = sampler();
  EXPECT_EQ(one.sample(20, 0, 1, 1), one.sample(20, 0, 2, 5));
  bias('s') = bias('t') = 50;
  EXPECT_EQ(one.sample(30, 1, 1, 1).find_first_not_of("st"), std::string::npos);
  EXPECT_NE(one.sample(30, 1, 1, 1).find('s'), std::string::npos) << "both are equally likely";
  EXPECT_NE(one.sample(30, 1, 1, 1).find('t'), std::string::npos);
}

TEST_F(TextSampling, stops_if_no_character_has_a_finite_prediction) {
  bias('a') = std::numeric_limits<double>::quiet_NaN();
  EXPECT_EQ(sampler().sample(5, 1, 1, 1), "");
}

}  // namespace
}  // namespace trainyard::run
