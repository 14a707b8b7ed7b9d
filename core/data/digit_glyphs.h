// SPDX-License-Identifier: GPL-3.0-or-later
// Glyphs of the digits 0 to 9: a few handwritten variants of each, as pen strokes.
#pragma once

#include <vector>

namespace trainyard::data {

struct Point {
  float x = 0, y = 0;
};

// Control points in the glyph's box, x to the right and y down, each about 0 to 1.
struct Stroke {
  enum class Kind { straight, smooth };  // A polyline, or a Catmull-Rom curve through the points.
  Kind kind;
  std::vector<Point> points;
};

using Glyph = std::vector<Stroke>;

const std::vector<Glyph>& glyphs_of(int digit);

}  // namespace trainyard::data
