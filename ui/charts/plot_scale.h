// SPDX-License-Identifier: GPL-3.0-or-later
// Range, ticks and tick labels of axes. Pure. On a logarithmic axis a span holds decimal
// logarithms.
#pragma once

#include <QString>
#include <vector>

#include "ui/model/series/series_thinning.h"

namespace trainyard::ui {

struct Tick {
  double at = 0;  // a value, or its decimal logarithm, as in the span
  QString label;
};

// Format of an axis' numbers: value / factor, in `unit`.
struct AxisUnit {
  double factor = 1;
  QString text;
};

// Returns the SI prefix for "B", "B/s", "bit/s", "s" and the like ("MB/s"); other units ("",
// "samples/s") are unchanged.
AxisUnit axis_unit(const QString& unit, double greatest);
// Returns the unit of the x axis: steps, samples, bytes, or time in s, min or h; simulated time
// also in fractions of a second.
AxisUnit x_axis_unit(XAxis axis, double width);
double min_width(XAxis axis);  // minimum width of the x range on screen

double nice_interval(double width,
                     int about);  // 1, 2 or 5 times a power of ten; about `about` intervals
// Returns the smallest span of half-intervals that contains the data and a margin; starts at 0 if
// the data nearly do.
Span value_range(Span data);
// Returns the full decades that contain the data, as decimal logarithms. Data must be above 0.
Span log_range(Span data);
// Returns the data's range, extended so that the last point is inside of the frame.
Span x_range(Span data, double min_width);

// Return about the requested number of ticks, but at least two, because one shows no scale.
std::vector<Tick> linear_ticks(Span range, int about, double factor);
std::vector<Tick> log_ticks(Span range, int about, double factor);

// Formats a number for a read-out: up to five significant digits, "NaN", "Inf".
QString number_text(double value);

}  // namespace trainyard::ui
