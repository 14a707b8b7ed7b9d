// SPDX-License-Identifier: GPL-3.0-or-later
// How people write the digits 0 to 9: a few ways each, as strokes of a pen.
#pragma once

#include <vector>

namespace trainyard::data {

struct Point {
  float x = 0, y = 0;
};

// Control points in the glyph's box, x to the right and y down, each about 0 to 1.
struct Stroke {
  enum class Kind { straight, smooth };  // a polyline, or a Catmull-Rom curve through the points
  Kind kind;
  std::vector<Point> points;
};

using Glyph = std::vector<Stroke>;

const std::vector<Glyph>& glyphs_of(int digit);

}  // namespace trainyard::data
