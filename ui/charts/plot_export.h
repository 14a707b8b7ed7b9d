// SPDX-License-Identifier: GPL-3.0-or-later
// Export of a chart. PNG and SVG show the visible range, drawn with every point. CSV contains all
// logged points, also those that are hidden, outside of the zoomed range, or thinned.
#pragma once

#include <QString>
#include <string>

#include "core/base/result.h"
#include "ui/charts/plot_model.h"

namespace trainyard::ui {

class PlotView;

// Saves in the format given by the suffix of `file`. Errors: an unknown suffix, or a file that
// cannot be written.
base::Result<void> save_plot(PlotView& view, const QString& file);

// Returns all points as CSV. Columns: series, step, samples, bytes, seconds, simulated_seconds,
// value. Numbers have 17 significant digits, so that every double is read back exactly.
std::string csv_of(const PlotModel& model);
// Returns all points as CSV for a chart whose x axis is a count. Columns: series, the name of the
// count (`counts`, such as "ranks"), value.
std::string csv_of(const PlotModel& model, const QString& counts);

}  // namespace trainyard::ui
