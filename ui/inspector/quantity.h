// SPDX-License-Identifier: GPL-3.0-or-later
// Numbers with units as people type them: "4 GB", "50 µs", "0.1", "1e6", "8,000 samples". What is
// shown reads back exactly.
#pragma once

#include <QString>
#include <optional>

namespace trainyard::ui {

bool takes_prefix(const QString& unit);  // B, B/s, bit/s, flop/s, s: shown with an SI prefix

QString format_quantity(double value, const QString& unit);
// The unit, in the singular too, and for those above a prefix (u for µ), may follow the number;
// nothing when it cannot be read. Commas are of use to the eye alone; "0,5 s", which may be meant
// for half a second, is not read.
std::optional<double> parse_quantity(const QString& text, const QString& unit);

// The next number of ... 0.1, 0.2, 0.5, 1, 2, 5, 10 ... above or below; below 1e-6 comes 0.
double next_round(double value, bool up);

}  // namespace trainyard::ui
