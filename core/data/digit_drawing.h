// SPDX-License-Identifier: GPL-3.0-or-later
// Draws one digit as a hand would: a glyph, bent and slanted, with a pen of some width, among
// scraps of other strokes.
#pragma once

#include <cstdint>
#include <span>

namespace trainyard::data {

constexpr int kDigitSide = 28;
constexpr int kDigitPixels = kDigitSide * kDigitSide;

// 0 is paper, 255 full ink; row-major. `item` names the sample. `noise`: 0 the printed glyph, 1 the
// default difficulty. A pure function of its arguments; allocates nothing.
void draw_digit(std::uint64_t seed, std::uint32_t item, int digit, double noise,
                std::span<std::uint8_t, kDigitPixels> pixels);

}  // namespace trainyard::data
