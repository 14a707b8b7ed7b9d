// SPDX-License-Identifier: GPL-3.0-or-later
// How large things are in the model view, by what is written in them in the theme's letters.
#pragma once

#include <QSize>

#include "ui/modelview/model_geometry.h"

namespace trainyard::ui {

int pixels(double length);  // at the theme's scale

inline constexpr double kModelLetters = 0.92;  // times those of the application

// `overview`: rows without words, so low that all fit the room, as far as they can be made out.
ModelMetrics model_metrics(const ModelPicture& picture, const QSize& room, bool overview);

}  // namespace trainyard::ui
