// SPDX-License-Identifier: GPL-3.0-or-later
// Range, ticks and tick labels of axes. Pure. On a logarithmic axis, a range is given in decimal
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

// Unit of an axis: a number on the axis is the value divided by `factor`, and `text` is the unit.
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
// Returns the smallest range that contains the data and a margin, and begins and ends at half
// intervals of the axis. The range starts at 0 if the data start near 0.
Span value_range(Span data);
// Returns the range from power of ten to power of ten that contains the data, as decimal
// logarithms. Data must be above 0.
Span log_range(Span data);
// Returns the data's range, extended so that the last point is inside the frame. The range is at
// least `min_width` wide.
Span x_range(Span data, double min_width);

// Return the ticks of a linear or logarithmic axis: `about` ticks, but at least two, because one
// tick shows no scale.
std::vector<Tick> linear_ticks(Span range, int about, double factor);
std::vector<Tick> log_ticks(Span range, int about, double factor);

// Formats a number for a read-out: up to five significant digits, "NaN", "Inf".
QString number_text(double value);

}  // namespace trainyard::ui
