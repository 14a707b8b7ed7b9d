// SPDX-License-Identifier: GPL-3.0-or-later
// Generated click log of an ad server: features of an impression, and whether it was clicked. A
// sample is [slots indices..., dense numbers...]. All are floats, so an index is exact only below
// 2^24, which bounds the vocabulary.
//
// The vocabulary is divided evenly among slots. A slot is a categorical feature, such as a site or
// a country. Slot s draws from the `vocabulary / slots` indices that begin at s * (vocabulary /
// slots), by Zipf's law, with the lowest index most frequent. So index i is row i of one table for
// all slots. A remainder smaller than the number of slots is unused. Dense numbers are normal with
// mean 0 and variance 1.
//
// The label is 1 (a click) with probability 1 / (1 + exp(-score / noise)). This is a logistic
// model; its score is a bias plus a weight for every index and for every dense number. Mean and
// variance of the score over samples are the same for every seed. So is the click rate of about 30
// %, unless a few indices dominate.
#pragma once

#include <span>
#include <vector>

#include "core/data/dataset.h"
#include "core/data/zipf.h"

namespace trainyard::data {

constexpr std::int64_t kMaxIndices = 1 << 24;

// Distribution of the columns and of the clicks. Expects a spec that `inspect` accepts.
class ClickModel {
 public:
  explicit ClickModel(const DataSpec& spec);

  // Zipf distribution of the indices within a slot (categorical feature); all slots have the same.
  const Zipf& popularity() const { return popularity_; }
  std::int64_t first_index(std::int64_t slot) const { return slot * popularity_.size(); }
  double probability(std::span<const float> sample) const;  // Probability of a click.
  std::int32_t draw(Split split, std::int64_t index,
                    std::span<float> sample) const;  // Writes the sample and returns its label.

 private:
  double score(std::span<const float> sample) const;
  void center_and_scale();

  std::uint64_t seed_;
  std::int64_t slots_;
  double noise_;
  Zipf popularity_;
  std::vector<double> of_index_, of_dense_;  // Weights of indices and of dense numbers.
  double bias_ = 0;
};

}  // namespace trainyard::data
