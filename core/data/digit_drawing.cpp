// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/data/digit_drawing.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>

#include "core/base/random.h"
#include "core/data/digit_glyphs.h"

namespace trainyard::data {
namespace {

constexpr float kGlyphPixels = 18.0f;  // Size in pixels of the glyph's box before scaling.
constexpr float kCenter = (kDigitSide - 1) / 2.0f;

// Random number stream of one sample: returns the next number at each call.
class Draws {
 public:
  Draws(std::uint64_t seed, std::uint32_t item) : random_(seed, base::Purpose::generate, item) {}
  float uniform(double low, double high) {
    return static_cast<float>(random_.uniform(next_++, low, high));
  }
  float normal(double deviation) {
    return static_cast<float>(deviation * std::clamp(random_.normal(next_++), -2.5, 2.5));
  }
  std::size_t below(std::size_t bound) { return random_.below(next_++, bound); }

 private:
  base::Random random_;
  std::uint64_t next_ = 0;
};

struct Pen {
  float half_width;
  float ink;  // Darkness of the pen, from 0 to 1.
};

class Canvas {
 public:
  // Draws the pixels within the pen's width of the segment, with anti-aliasing over the last half
  // pixel.
  void segment(Point a, Point b, Pen pen) {
    const float reach = pen.half_width + 0.5f;
    const int left = first(std::min(a.x, b.x) - reach), right = last(std::max(a.x, b.x) + reach);
    const int top = first(std::min(a.y, b.y) - reach), bottom = last(std::max(a.y, b.y) + reach);
    const Point along{b.x - a.x, b.y - a.y};
    const float per_length = 1.0f / std::max(along.x * along.x + along.y * along.y, 1e-12f);
    for (int y = top; y <= bottom; ++y)
      for (int x = left; x <= right; ++x) {
        const float px = static_cast<float>(x) - a.x, py = static_cast<float>(y) - a.y;
        const float t = std::clamp((px * along.x + py * along.y) * per_length, 0.0f, 1.0f);
        const float dx = px - t * along.x, dy = py - t * along.y;
        const float coverage = std::min(reach - std::sqrt(dx * dx + dy * dy), 1.0f);
        float& ink = ink_[static_cast<std::size_t>(y) * kDigitSide + static_cast<std::size_t>(x)];
        ink = std::max(ink, pen.ink * coverage);
      }
  }

  const std::array<float, kDigitPixels>& ink() const { return ink_; }

 private:
  static int first(float edge) {
    return static_cast<int>(std::ceil(std::clamp(edge, 0.0f, float{kDigitSide})));
  }
  static int last(float edge) {
    return static_cast<int>(std::floor(std::clamp(edge, -1.0f, float{kDigitSide - 1})));
  }

  std::array<float, kDigitPixels> ink_{};
};

// Maps a point of the glyph's box to the canvas: distorts it by a wave of low frequency, then
// scales, slants, rotates and shifts it.
class GlyphTransform {
 public:
  GlyphTransform(Draws& draws, double noise)
      : wave_{draws.normal(0.05 * noise), draws.normal(0.05 * noise)},
        phase_{draws.uniform(0, 2 * std::numbers::pi), draws.uniform(0, 2 * std::numbers::pi)},
        size_{stretched(draws, noise), stretched(draws, noise)},
        slant_(draws.normal(0.16 * noise)),
        turn_(draws.normal(0.13 * noise)),
        move_{draws.normal(1.15 * noise), draws.normal(1.15 * noise)} {}

  Point place(Point p, Point jitter) const {
    const float bent_x = p.x - 0.5f + jitter.x + wave_.x * std::sin(phase_.x + 5.0f * p.y);
    const float bent_y = p.y - 0.5f + jitter.y + wave_.y * std::sin(phase_.y + 5.0f * p.x);
    const float x = size_.x * (bent_x - slant_ * bent_y), y = size_.y * bent_y;
    const float c = std::cos(turn_), s = std::sin(turn_);
    return {kCenter + move_.x + c * x - s * y, kCenter + move_.y + s * x + c * y};
  }

 private:
  // Returns a scale factor, mostly below 1, so that the glyph stays on the canvas.
  static float stretched(Draws& draws, double noise) {
    return kGlyphPixels * std::max(0.3f, 1.0f + draws.uniform(-0.30 * noise, 0.14 * noise));
  }

  Point wave_, phase_, size_;
  float slant_, turn_;
  Point move_;
};

Point catmull_rom(Point before, Point from, Point to, Point after, float t) {
  const auto blend = [t](float p0, float p1, float p2, float p3) {
    return p1 + 0.5f * t *
                    (p2 - p0 + t * (2 * p0 - 5 * p1 + 4 * p2 - p3 + t * (3 * (p1 - p2) + p3 - p0)));
  };
  return {blend(before.x, from.x, to.x, after.x), blend(before.y, from.y, to.y, after.y)};
}

void draw_curve(Canvas& canvas, std::span<const Point> points, Pen pen) {
  constexpr int kPieces = 4;
  const std::size_t last = points.size() - 1;
  for (std::size_t i = 0; i < last; ++i) {
    Point from = points[i];
    for (int piece = 1; piece <= kPieces; ++piece) {
      const float t = static_cast<float>(piece) / kPieces;
      const Point to = catmull_rom(points[i == 0 ? 0 : i - 1], points[i], points[i + 1],
                                   points[std::min(i + 2, last)], t);
      canvas.segment(from, to, pen);
      from = to;
    }
  }
}

void draw_stroke(Canvas& canvas, Draws& draws, const GlyphTransform& hand, const Stroke& stroke,
                 double noise, Pen pen) {
  std::array<Point, 16> placed;
  const std::size_t count = std::min(stroke.points.size(), placed.size());
  for (std::size_t i = 0; i < count; ++i)
    placed[i] =
        hand.place(stroke.points[i], {draws.normal(0.022 * noise), draws.normal(0.022 * noise)});
  const std::span<const Point> points(placed.data(), count);
  if (stroke.kind == Stroke::Kind::smooth) return draw_curve(canvas, points, pen);
  for (std::size_t i = 1; i < count; ++i) canvas.segment(points[i - 1], points[i], pen);
}

// Draws random strokes: short, thin and pale, anywhere.
void draw_noise(Canvas& canvas, Draws& draws, double noise) {
  const std::size_t count = draws.below(1 + static_cast<std::size_t>(std::lround(3 * noise)));
  for (std::size_t i = 0; i < count; ++i) {
    const Point from{draws.uniform(0, kDigitSide), draws.uniform(0, kDigitSide)};
    const Point to{from.x + draws.normal(4.0), from.y + draws.normal(4.0)};
    canvas.segment(from, to, {draws.uniform(0.2, 0.7), draws.uniform(0.3, 0.8)});
  }
}

// Converts ink to bytes and adds uniform noise (paper grain). Uses one block of random words for
// sixteen pixels.
void quantize_ink(const Canvas& canvas, const base::Random& grain, double noise,
                  std::span<std::uint8_t, kDigitPixels> pixels) {
  const float depth = static_cast<float>(std::min(36.0 * noise, 255.0)) / 255.0f;
  for (std::size_t start = 0; start < kDigitPixels; start += 16) {
    const auto words = grain.block(start / 16);
    for (std::size_t i = 0; i < 16; ++i) {
      const float speck = depth * static_cast<float>((words[i / 4] >> (8 * (i % 4))) & 0xff);
      pixels[start + i] = static_cast<std::uint8_t>(
          std::lround(std::min(255.0f * canvas.ink()[start + i] + speck, 255.0f)));
    }
  }
}

}  // namespace

void draw_digit(std::uint64_t seed, std::uint32_t item, int digit, double noise,
                std::span<std::uint8_t, kDigitPixels> pixels) {
  Draws draws(seed, item);
  Canvas canvas;
  const auto& glyphs = glyphs_of(digit);
  const Glyph& glyph = glyphs[draws.below(glyphs.size())];
  const GlyphTransform hand(draws, noise);
  const double spread = std::min(noise, 1.0);
  const Pen pen{draws.uniform(1.1 - 0.45 * spread, 1.1 + 0.6 * spread),
                draws.uniform(1.0 - 0.35 * spread, 1.0)};
  for (const Stroke& stroke : glyph) draw_stroke(canvas, draws, hand, stroke, noise, pen);
  draw_noise(canvas, draws, noise);
  quantize_ink(canvas, base::Random(seed, base::Purpose::noise, item), noise, pixels);
}

}  // namespace trainyard::data
