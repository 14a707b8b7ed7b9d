// SPDX-License-Identifier: GPL-3.0-or-later
// Numbers with units as users type them: "4 GB", "50 µs", "0.1", "1e6", "8,000 samples". Formatted
// numbers are read back exactly.
#pragma once

#include <QString>
#include <optional>

namespace trainyard::ui {

// True for the units that are shown with an SI prefix: B, B/s, bit/s, flop/s and s.
bool takes_prefix(const QString& unit);

QString format_quantity(double value, const QString& unit);
// Parses a number, optionally followed by the unit, which may be singular. Units that are shown
// with an SI prefix may also be typed with one (u for µ). Returns nothing if the text cannot be
// parsed. Commas are ignored if they are group separators. "0,5 s" is refused, because it may mean
// half a second.
std::optional<double> parse_quantity(const QString& text, const QString& unit);

// Returns the next larger or smaller number of the sequence ... 0.1, 0.2, 0.5, 1, 2, 5, 10 ...
// Returns 0 instead of numbers below 1e-6.
double next_round(double value, bool up);

}  // namespace trainyard::ui
