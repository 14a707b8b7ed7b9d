// SPDX-License-Identifier: GPL-3.0-or-later
// A chart as a file: PNG or SVG of what is shown, drawn with every point; CSV of all points that
// were logged, whatever is shown, hidden, zoomed or thinned.
#pragma once

#include <QString>
#include <string>

#include "core/base/result.h"
#include "ui/charts/plot_model.h"

namespace trainyard::ui {

class PlotView;

// By the suffix of `file`. Problems: another suffix, or a file that cannot be written.
base::Result<void> save_plot(PlotView& view, const QString& file);

// Columns series, step, samples, seconds, value; 17 significant digits, so that every double reads
// back as it was.
std::string csv_of(const PlotModel& model);
// Of a chart over a count of things ("ranks"): columns series, that count, value.
std::string csv_of(const PlotModel& model, const QString& counts);

}  // namespace trainyard::ui
