// SPDX-License-Identifier: GPL-3.0-or-later
// Draws one handwritten digit: a distorted and slanted glyph, with a pen of random width, among
// short random strokes.
#pragma once

#include <cstdint>
#include <span>

namespace trainyard::data {

constexpr int kDigitSide = 28;
constexpr int kDigitPixels = kDigitSide * kDigitSide;

// Writes the pixels, row-major: 0 is paper, 255 full ink. `item` identifies the sample. `noise`: 0:
// the printed glyph; 1: the default difficulty. A pure function of its arguments; does not
// allocate.
void draw_digit(std::uint64_t seed, std::uint32_t item, int digit, double noise,
                std::span<std::uint8_t, kDigitPixels> pixels);

}  // namespace trainyard::data
