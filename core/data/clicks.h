// SPDX-License-Identifier: GPL-3.0-or-later
// A generated click log, as ad servers keep: who was shown what, and whether they clicked. A sample
// is [slots indices..., dense numbers...], all of them floats, so that an index is exact only below
// 2^24: no vocabulary is larger.
//
// The vocabulary is shared out evenly: slot s (a categorical feature: a site, a country) draws from
// the `vocabulary / slots` indices that begin at s * (vocabulary / slots), by Zipf's law, the
// lowest the most often; what is left over, fewer than there are slots, never comes. Dense numbers
// are normal, of mean 0 and variance 1. So index i is row i of one table for all slots.
//
// The label is 1, a click, with the probability 1 / (1 + exp(-score / noise)): a logistic truth,
// whose score is a bias, and a weight for every index and for every dense number. Its mean and
// variance over samples are the same for every seed, and so, unless a few indices are nearly all
// that come, are clicks: about 30 %.
#pragma once

#include <span>
#include <vector>

#include "core/data/dataset.h"
#include "core/data/zipf.h"

namespace trainyard::data {

constexpr std::int64_t kMostIndices = 1 << 24;

// What the columns of a click log are drawn from, and what their clicks follow from. Of a spec that
// `inspect` accepts.
class ClickTruth {
 public:
  explicit ClickTruth(const DataSpec& spec);

  const Zipf& popularity() const { return popularity_; }  // of the indices of any slot
  std::int64_t first_index(std::int64_t slot) const { return slot * popularity_.size(); }
  double probability(std::span<const float> sample) const;  // of a click
  std::int32_t draw(Split split, std::int64_t index,
                    std::span<float> sample) const;  // writes the sample; its label

 private:
  double score(std::span<const float> sample) const;
  void centre_and_scale();

  std::uint64_t seed_;
  std::int64_t slots_;
  double noise_;
  Zipf popularity_;
  std::vector<double> of_index_, of_dense_;  // weights
  double bias_ = 0;
};

}  // namespace trainyard::data
