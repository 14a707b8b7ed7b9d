// SPDX-License-Identifier: GPL-3.0-or-later
// Sizes in the model view. They depend on the texts and the theme's font.
#pragma once

#include <QSize>

#include "ui/modelview/model_geometry.h"

namespace trainyard::ui {

int pixels(double length);  // scales a length by the theme's scale

inline constexpr double kModelLetters = 0.92;  // font size relative to the application's

// Returns the sizes for a view of the size `room`. `overview`: true if rows have no text and are so
// low that all of them fit, down to a minimum height.
ModelMetrics model_metrics(const ModelPicture& picture, const QSize& room, bool overview);

}  // namespace trainyard::ui
