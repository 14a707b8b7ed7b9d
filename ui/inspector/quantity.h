// SPDX-License-Identifier: GPL-3.0-or-later
// Numbers with units as users type them: "4 GB", "50 µs", "0.1", "1e6", "8,000 samples". Formatted
// numbers are read back exactly.
#pragma once

#include <QString>
#include <optional>

namespace trainyard::ui {

// true for the units B, B/s, bit/s, flop/s and s, which are shown with an SI prefix
bool takes_prefix(const QString& unit);

QString format_quantity(double value, const QString& unit);
// Parses a number, optionally followed by the unit (also in the singular). Units that take a prefix
// may have one (u for µ). Returns nothing if the text cannot be parsed. Commas are ignored as group
// separators. "0,5 s" is refused, because it may mean half a second.
std::optional<double> parse_quantity(const QString& text, const QString& unit);

// Returns the next larger or smaller of the numbers ... 0.1, 0.2, 0.5, 1, 2, 5, 10 ... Below 1e-6
// it is 0.
double next_round(double value, bool up);

}  // namespace trainyard::ui
