// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/data/clicks.h"

#include <cmath>
#include <numbers>
#include <numeric>

#include "core/base/random.h"
#include "core/data/generated.h"

namespace trainyard::data {
namespace {

using base::Purpose;
using base::Random;

constexpr double kClicks = 0.3;  // Fraction of samples that are clicks.
// Standard deviation of the score over all samples. With noise 1, the Bayes accuracy is about 0.86.
constexpr double kScoreDeviation = 3;
// Standard deviation of the weights by which dense features determine the label. The weights of
// indices have standard deviation 1, so the label depends mostly on the indices.
constexpr double kDenseDeviation = 0.5;

std::vector<double> draw_weights(std::uint64_t seed, std::uint32_t item, std::int64_t count,
                                 double deviation) {
  const Random random(seed, Purpose::label, item);
  std::vector<double> weights(as_size(count));
  for (std::size_t i = 0; i < weights.size(); ++i) weights[i] = deviation * random.normal(i);
  return weights;
}

// Returns the bias at which a fraction kClicks of the samples are clicks. Assumes that scores are
// normal: the mean of logistic curves over a normal distribution is approximately a logistic curve
// of larger scale (MacKay, "The evidence framework applied to classification networks", 1992).
double bias_for(double noise) {
  return std::log(kClicks / (1 - kClicks)) *
         std::sqrt(noise * noise + std::numbers::pi / 8 * kScoreDeviation * kScoreDeviation);
}

class Clicks : public Dataset {
 public:
  explicit Clicks(const DataSpec& spec) : summary_(summarize_generated(spec)), truth_(spec) {}

  const DataSummary& summary() const override { return summary_; }

  void fill(Split split, std::span<const std::int64_t> indices, std::span<float> features,
            std::span<std::int32_t> labels) const override {
    const std::size_t width = as_size(summary_.features());
    for (std::size_t row = 0; row < indices.size(); ++row)
      labels[row] = truth_.draw(split, indices[row], features.subspan(row * width, width));
  }

 private:
  DataSummary summary_;
  ClickModel truth_;
};

}  // namespace

ClickModel::ClickModel(const DataSpec& spec)
    : seed_(static_cast<std::uint64_t>(spec.seed)),
      slots_(spec.slot_count),
      noise_(spec.noise),
      popularity_(spec.vocabulary / spec.slot_count, spec.zipf_exponent),
      of_index_(draw_weights(seed_, 0, spec.slot_count * popularity_.size(), 1)),
      of_dense_(draw_weights(seed_, 1, spec.dense, kDenseDeviation)) {
  center_and_scale();
}

// Scales the weights and sets the bias, so that the score has the wanted mean and variance over all
// samples. Both are computed exactly, from weights and index probabilities.
void ClickModel::center_and_scale() {
  double mean = 0,
         variance = std::inner_product(of_dense_.begin(), of_dense_.end(), of_dense_.begin(), 0.0);
  for (std::int64_t slot = 0; slot < slots_; ++slot) {
    double of_slot = 0, square = 0;
    for (std::int64_t rank = 0; rank < popularity_.size(); ++rank) {
      const double weight = of_index_[as_size(first_index(slot) + rank)],
                   share = popularity_.probability(rank);
      of_slot += share * weight;
      square += share * weight * weight;
    }
    mean += of_slot;
    variance += square - of_slot * of_slot;
  }
  // If there is one index per slot and no dense number, all samples are equal and the variance is
  // 0.
  const double scale = variance > 0 ? kScoreDeviation / std::sqrt(variance) : 1;
  for (double& weight : of_index_) weight *= scale;
  for (double& weight : of_dense_) weight *= scale;
  bias_ = bias_for(noise_) - scale * mean;
}

double ClickModel::score(std::span<const float> sample) const {
  double sum = bias_;
  for (const float index : sample.first(as_size(slots_)))
    sum += of_index_[static_cast<std::size_t>(index)];
  const auto dense = sample.subspan(as_size(slots_));
  return std::inner_product(dense.begin(), dense.end(), of_dense_.begin(), sum);
}

double ClickModel::probability(std::span<const float> sample) const {
  const double score = this->score(sample);
  if (noise_ == 0) return score > 0 ? 1 : 0;
  return 1 / (1 + std::exp(-score / noise_));
}

std::int32_t ClickModel::draw(Split split, std::int64_t index, std::span<float> sample) const {
  const std::uint32_t item = item_of(split, index);
  const Random random(seed_, Purpose::generate, item);
  for (std::int64_t slot = 0; slot < slots_; ++slot)
    sample[as_size(slot)] = static_cast<float>(
        first_index(slot) + popularity_.rank(random.uniform(static_cast<std::uint64_t>(slot))));
  for (std::size_t column = as_size(slots_); column < sample.size(); ++column)
    sample[column] = static_cast<float>(random.normal(column));
  return Random(seed_, Purpose::noise, item).uniform(0) < probability(sample) ? 1 : 0;
}

std::shared_ptr<const Dataset> make_clicks(const DataSpec& spec) {
  return std::make_shared<Clicks>(spec);
}

std::vector<std::int32_t> click_labels(const DataSpec& spec) {
  const ClickModel truth(spec);
  std::vector<float> sample(as_size(spec.slot_count + spec.dense));
  std::vector<std::int32_t> labels(as_size(spec.train_samples));
  for (std::size_t i = 0; i < labels.size(); ++i)
    labels[i] = truth.draw(Split::train, static_cast<std::int64_t>(i), sample);
  return labels;
}

}  // namespace trainyard::data
