// SPDX-License-Identifier: GPL-3.0-or-later
// What a picture of a widget shows.
#pragma once

#include <QImage>
#include <algorithm>

#include "ui/theme/theme.h"

namespace trainyard::ui::test {

// Of the text on it with its ground, which is in the upper left corner: strokes of letters have
// pixels of their whole colour.
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
