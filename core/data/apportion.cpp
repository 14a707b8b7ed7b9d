// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/data/apportion.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace trainyard::data {
namespace {

// Returns the logarithm of a Gamma(shape, 1) variate, for a shape of at least 1 (Marsaglia and
// Tsang 2000). Each trial uses two random numbers.
double log_gamma_variate(const base::Random& random, std::uint64_t first_element, double shape) {
  const double d = shape - 1.0 / 3.0, c = 1.0 / std::sqrt(9.0 * d);
  for (std::uint64_t element = first_element;; element += 2) {
    const double x = random.normal(element), root = 1.0 + c * x;
    if (root <= 0) continue;
    const double v = root * root * root;
    if (std::log1p(-random.uniform(element + 1)) < 0.5 * x * x + d - d * v + d * std::log(v))
      return std::log(d * v);
  }
}

}  // namespace

std::vector<std::int64_t> apportion(std::int64_t total, std::span<const double> weights) {
  const double sum = std::accumulate(weights.begin(), weights.end(), 0.0);
  std::vector<std::int64_t> parts(weights.size());
  std::vector<double> remainders(weights.size());
  for (std::size_t i = 0; i < weights.size(); ++i) {
    const double exact = static_cast<double>(total) * (weights[i] / sum);
    parts[i] = static_cast<std::int64_t>(exact);
    remainders[i] = exact - std::floor(exact);
  }
  std::vector<std::size_t> order(weights.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return remainders[a] > remainders[b]; });
  const std::int64_t left = total - std::accumulate(parts.begin(), parts.end(), std::int64_t{0});
  for (std::int64_t i = 0; i < left; ++i) ++parts[order[static_cast<std::size_t>(i)]];
  return parts;
}

// Draws the weights in logarithms, so that even a tiny concentration causes no underflow. A
// Gamma(a) variate is computed as a Gamma(a + 1) variate times U^(1/a), with U uniform.
std::vector<double> dirichlet(const base::Random& random, double alpha, std::int64_t count) {
  std::vector<double> weights;
  for (std::uint64_t i = 0; i < static_cast<std::uint64_t>(count); ++i) {
    const std::uint64_t own = (i + 1) << 32;
    const double boost = std::log1p(-random.uniform(own)) / alpha;
    weights.push_back(log_gamma_variate(random, own + 1, alpha + 1) + boost);
  }
  const double largest = *std::max_element(weights.begin(), weights.end());
  for (double& weight : weights) weight = std::exp(weight - largest);
  return weights;
}

}  // namespace trainyard::data
