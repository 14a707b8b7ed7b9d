// SPDX-License-Identifier: GPL-3.0-or-later
// Where an axis begins and ends, where its ticks are and what they say. Pure. On a logarithmic axis
// a span holds decimal logarithms.
#pragma once

#include <QString>
#include <vector>

#include "ui/model/series_thinning.h"

namespace trainyard::ui {

struct Tick {
  double at = 0;  // as the span: a value, or its decimal logarithm
  QString label;
};

// How numbers of an axis are written: value / factor, in `unit`.
struct AxisUnit {
  double factor = 1;
  QString text;
};

// SI prefixes for "B", "B/s", "bit/s", "s" and the like ("MB/s"); other units ("", "samples/s")
// stay as they are.
AxisUnit axis_unit(const QString& unit, double greatest);
// Of the x axis: steps, samples, bytes, or time in s, min or h, simulated time also in parts of a
// second.
AxisUnit x_axis_unit(XAxis axis, double width);
double least_width(XAxis axis);  // that is worth showing

double nice_interval(double width,
                     int about);  // 1, 2 or 5 times a power of ten; about `about` of them
// The least span of whole half-intervals that holds the data and a margin; starts at 0 when the
// data nearly do.
Span value_range(Span data);
Span log_range(Span data);                    // whole decades; data above 0; decimal logarithms
Span x_range(Span data, double least_width);  // the last point is never under the frame

// About as many as asked for, and two at least: one says nothing of the scale.
std::vector<Tick> linear_ticks(Span range, int about, double factor);
std::vector<Tick> log_ticks(Span range, int about, double factor);

// A number as a read-out shows it: up to five significant digits, "NaN", "Inf".
QString number_text(double value);

}  // namespace trainyard::ui
