// SPDX-License-Identifier: GPL-3.0-or-later
// Zipf's law: of `size` items, the item of rank r (0 the most frequent) is drawn with a probability
// proportional to (r + 1)^-exponent. Zipf, "Human Behavior and the Principle of Least Effort",
// 1949. Uses 8 bytes per item.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

namespace trainyard::data {

class Zipf {
 public:
  Zipf(std::int64_t size, double exponent) : cumulative_(static_cast<std::size_t>(size)) {
    double sum = 0;
    for (std::size_t r = 0; r < cumulative_.size(); ++r)
      cumulative_[r] = sum += std::pow(static_cast<double>(r + 1), -exponent);
  }

  std::int64_t size() const { return std::ssize(cumulative_); }

  double probability(std::int64_t rank) const {
    const auto r = static_cast<std::size_t>(rank);
    return (cumulative_[r] - (r > 0 ? cumulative_[r - 1] : 0)) / cumulative_.back();
  }

  // Maps a uniform number in [0, 1) to a Zipf rank, from 0 for the most frequent item (inverse
  // transform sampling).
  std::int64_t rank(double uniform) const {
    const auto at =
        std::upper_bound(cumulative_.begin(), cumulative_.end(), uniform * cumulative_.back());
    // Limits the result to the last item: the random number times the total weight may round up to
    // the total weight.
    return std::min<std::int64_t>(at - cumulative_.begin(), size() - 1);
  }

 private:
  std::vector<double> cumulative_;
};

}  // namespace trainyard::data
