// SPDX-License-Identifier: GPL-3.0-or-later
#include <algorithm>
#include <array>
#include <atomic>

#include "core/data/digit_drawing.h"
#include "core/data/generated.h"

namespace trainyard::data {
namespace {

constexpr std::int64_t kClasses = 10;
// Maximum number of cached samples per split; about 235 MB.
constexpr std::int64_t kKeptAtMost = 300'000;

// Mean and standard deviation of pixels, measured on 8,000 samples at the default difficulty. Both
// are constants, so that a sample does not depend on other samples.
constexpr float kMeanPixel = 46.0f, kPixelDeviation = 66.0f;

using Pixels = std::array<std::uint8_t, kDigitPixels>;

// Cache of the drawn samples of one split. Memory of samples that are never drawn is reserved but
// not used.
class DigitCache {
 public:
  explicit DigitCache(std::int64_t samples)
      : kept_(std::min(samples, kKeptAtMost)),
        states_(std::make_unique<std::atomic<State>[]>(static_cast<std::size_t>(kept_))),
        pixels_(std::make_unique_for_overwrite<Pixels[]>(static_cast<std::size_t>(kept_))) {}

  const Pixels* find(std::int64_t index) const {
    if (index >= kept_ || states_[at(index)].load(std::memory_order_acquire) != State::kept)
      return nullptr;
    return &pixels_[at(index)];
  }

  // Stores a sample. If several threads drew it at the same time, the first one stores it; the
  // others discard their equal copies.
  void keep(std::int64_t index, const Pixels& pixels) {
    State expected = State::blank;
    if (index >= kept_ || !states_[at(index)].compare_exchange_strong(expected, State::writing))
      return;
    pixels_[at(index)] = pixels;
    states_[at(index)].store(State::kept, std::memory_order_release);
  }

 private:
  enum class State : std::uint8_t { blank, writing, kept };
  static std::size_t at(std::int64_t index) { return static_cast<std::size_t>(index); }

  std::int64_t kept_;
  std::unique_ptr<std::atomic<State>[]> states_;
  std::unique_ptr<Pixels[]> pixels_;
};

class Digits : public Dataset {
 public:
  explicit Digits(const DataSpec& spec)
      : summary_(summarize_generated(spec)),
        seed_(static_cast<std::uint64_t>(spec.seed)),
        noise_(spec.noise),
        train_(summary_.train_samples),
        held_out_(summary_.held_out_samples) {}

  const DataSummary& summary() const override { return summary_; }

  void fill(Split split, std::span<const std::int64_t> indices, std::span<float> features,
            std::span<std::int32_t> labels) const override {
    for_each(split, indices, labels, [&](const Pixels& pixels, std::size_t first) {
      std::ranges::transform(pixels, features.begin() + static_cast<std::ptrdiff_t>(first),
                             [this](std::uint8_t pixel) { return value_of_[pixel]; });
    });
  }
  const ByteValues* byte_values() const override { return &value_of_; }
  void fill_bytes(Split split, std::span<const std::int64_t> indices,
                  std::span<std::uint8_t> features, std::span<std::int32_t> labels) const override {
    for_each(split, indices, labels, [&](const Pixels& pixels, std::size_t first) {
      std::copy_n(pixels.data(), pixels.size(), features.data() + first);
    });
  }

 private:
  // Calls use(pixels, offset of the sample's features in the output) for each of the requested
  // samples.
  template <class Use>
  void for_each(Split split, std::span<const std::int64_t> indices, std::span<std::int32_t> labels,
                const Use& use) const {
    Pixels drawn;
    for (std::size_t row = 0; row < indices.size(); ++row) {
      labels[row] = static_cast<std::int32_t>(indices[row] % kClasses);
      use(pixels_of(split, indices[row], labels[row], drawn), row * kDigitPixels);
    }
  }

  // Returns the pixels of a sample from the cache; draws the sample if it is not in the cache.
  const Pixels& pixels_of(Split split, std::int64_t index, std::int32_t digit,
                          Pixels& drawn) const {
    DigitCache& cache = split == Split::train ? train_ : held_out_;
    if (const Pixels* kept = cache.find(index)) return *kept;
    draw_digit(seed_, item_of(split, index), digit, noise_, drawn);
    cache.keep(index, drawn);
    return drawn;
  }

  static ByteValues standardized() {
    ByteValues values{};
    for (std::size_t pixel = 0; pixel < values.size(); ++pixel)
      values[pixel] = (static_cast<float>(pixel) - kMeanPixel) * (1.0f / kPixelDeviation);
    return values;
  }

  DataSummary summary_;
  std::uint64_t seed_;
  double noise_;
  ByteValues value_of_ = standardized();
  mutable DigitCache train_, held_out_;
};

}  // namespace

std::shared_ptr<const Dataset> make_digits(const DataSpec& spec) {
  return std::make_shared<Digits>(spec);
}

}  // namespace trainyard::data
