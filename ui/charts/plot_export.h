// SPDX-License-Identifier: GPL-3.0-or-later
// Export of a chart: PNG or SVG of the visible range, drawn with every point; CSV of all logged
// points, whatever is hidden, zoomed or thinned.
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

// Columns: series, step, samples, bytes, seconds, simulated_seconds, value. 17 significant digits,
// so that every double is read back exactly.
std::string csv_of(const PlotModel& model);
// Returns the CSV of a chart whose x axis is a count, such as "ranks". Columns: series, the count,
// value.
std::string csv_of(const PlotModel& model, const QString& counts);

}  // namespace trainyard::ui
