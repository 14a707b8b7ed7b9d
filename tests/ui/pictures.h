// SPDX-License-Identifier: GPL-3.0-or-later
// Measurements of a widget's picture.
#pragma once

#include <QImage>
#include <algorithm>

#include "ui/theme/theme.h"

namespace trainyard::ui::test {

// Contrast of the text with the background, whose color is that of the upper left corner. Strokes
// of letters have pixels in the full text color.
inline double text_contrast(const QImage& picture) {
  double best = 1;
  const QColor ground = picture.pixelColor(0, 0);
  for (int y = 0; y < picture.height(); ++y)
    for (int x = 0; x < picture.width(); ++x)
      best = std::max(best, contrast(picture.pixelColor(x, y), ground));
  return best;
}

constexpr double kReadable = 4.5;  // WCAG 2.1, of text

}  // namespace trainyard::ui::test
