// SPDX-License-Identifier: GPL-3.0-or-later
#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

#include "core/base/random.h"
#include "core/data/generated.h"

namespace trainyard::data {
namespace {

using base::Purpose;
using base::Random;

// Base class of sets whose samples are so cheap that they are recomputed on each access.
class Points : public Dataset {
 public:
  explicit Points(const DataSpec& spec)
      : seed_(static_cast<std::uint64_t>(spec.seed)),
        noise_(spec.noise),
        summary_(summarize_generated(spec)) {}

  const DataSummary& summary() const override { return summary_; }

  void fill(Split split, std::span<const std::int64_t> indices, std::span<float> features,
            std::span<std::int32_t> labels) const override {
    const std::size_t width = as_size(summary_.features());
    for (std::size_t row = 0; row < indices.size(); ++row) {
      labels[row] = static_cast<std::int32_t>(indices[row] % summary_.classes);
      make(Random(seed_, Purpose::generate, item_of(split, indices[row])), as_size(labels[row]),
           features.subspan(row * width, width));
    }
  }

 protected:
  virtual void make(const Random& random, std::size_t label, std::span<float> point) const = 0;

  std::uint64_t seed_;
  double noise_;
  DataSummary summary_;
};

class Spirals : public Points {
 public:
  using Points::Points;

 private:
  // Random number 0 is the position along the arm, 1 and 2 are the offset from it. Points are
  // uniform in radius, so a coordinate's variance is E[r^2] / 2 = 1 / 6.
  void make(const Random& random, std::size_t label, std::span<float> point) const override {
    constexpr double kTurns = 0.75, kOffTheArm = 0.03;
    const double radius = random.uniform(0);
    const double angle =
        2 * std::numbers::pi *
        (kTurns * radius + static_cast<double>(label) / static_cast<double>(summary_.classes));
    const double x = radius * std::cos(angle) + noise_ * kOffTheArm * random.normal(1);
    const double y = radius * std::sin(angle) + noise_ * kOffTheArm * random.normal(2);
    const double scale = std::sqrt(6.0);
    point[0] = static_cast<float>(scale * x);
    point[1] = static_cast<float>(scale * y);
  }
};

double distance_squared(std::span<const double> a, std::span<const double> b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += (a[i] - b[i]) * (a[i] - b[i]);
  return sum;
}

// Returns centers that are far apart, by best-candidate sampling (Mitchell, "Spectrally optimal
// sampling for distribution ray tracing", SIGGRAPH 1991): of a few random points, takes the one
// farthest from all existing centers. Each center has `width` numbers.
std::vector<double> spread_centers(std::uint64_t seed, std::size_t classes, std::size_t width) {
  constexpr std::size_t kCandidates = 12;
  const Random random(seed, Purpose::label, 0);
  std::vector<double> centers, candidate(width), best(width);
  for (std::size_t label = 0; label < classes; ++label) {
    double best_distance = -1;
    for (std::size_t trial = 0; trial < kCandidates; ++trial) {
      for (std::size_t i = 0; i < width; ++i)
        candidate[i] = random.uniform((label * kCandidates + trial) * width + i, -1, 1);
      double nearest = std::numeric_limits<double>::infinity();
      for (std::size_t other = 0; other < label; ++other)
        nearest = std::min(
            nearest, distance_squared(candidate, std::span(centers).subspan(other * width, width)));
      if (nearest > best_distance) best_distance = nearest, best = candidate;
    }
    centers.insert(centers.end(), best.begin(), best.end());
  }
  return centers;
}

class Blobs : public Points {
 public:
  explicit Blobs(const DataSpec& spec)
      : Points(spec),
        centers_(spread_centers(seed_, as_size(summary_.classes), as_size(summary_.features()))) {
    center_and_scale();
  }

 private:
  void make(const Random& random, std::size_t label, std::span<float> point) const override {
    for (std::size_t i = 0; i < point.size(); ++i)
      point[i] =
          static_cast<float>(centers_[label * point.size() + i] + deviation_ * random.normal(i));
  }

  // Moves the centers so that their mean is zero. Scales them so that samples (center plus cloud)
  // have unit variance.
  void center_and_scale() {
    const std::size_t width = as_size(summary_.features());
    const double classes = static_cast<double>(summary_.classes);
    double square = 0;
    for (std::size_t i = 0; i < width; ++i) {
      double mean = 0;
      for (std::size_t at = i; at < centers_.size(); at += width) mean += centers_[at] / classes;
      for (std::size_t at = i; at < centers_.size(); at += width)
        square += (centers_[at] -= mean) * centers_[at];
    }
    deviation_ = 0.2 * noise_;
    const double scale =
        1.0 / std::sqrt(square / static_cast<double>(centers_.size()) + deviation_ * deviation_);
    for (double& value : centers_) value *= scale;
    deviation_ *= scale;
  }

  std::vector<double> centers_;  // classes x features
  double deviation_ = 0;
};

}  // namespace

std::shared_ptr<const Dataset> make_spirals(const DataSpec& spec) {
  return std::make_shared<Spirals>(spec);
}
std::shared_ptr<const Dataset> make_blobs(const DataSpec& spec) {
  return std::make_shared<Blobs>(spec);
}

}  // namespace trainyard::data
