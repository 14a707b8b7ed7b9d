// SPDX-License-Identifier: GPL-3.0-or-later
// Formats numbers for people: "2.7 MB", "3.4 ms", "10 Gbit/s". SI prefixes, three significant
// digits.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace trainyard::base {

std::string with_unit(double value, const char* unit);  // with_unit(2.7e6, "B") == "2.7 MB"
std::string format_bytes(double bytes);                 // "2.7 MB"
std::string format_seconds(double seconds);             // "3.4 ms", "2 min 5 s"
std::string format_count(std::int64_t count);           // "668,672"

// Formats the number with a printf format for one double, such as "%.4f". NaN and infinities are
// "nan", "inf" and "-inf", whatever the sign of NaN and the format.
std::string number_text(double value, const char* format);

// counted(1, "layer") == "1 layer", counted(3, "layer") == "3 layers". `plural` is the noun with an
// s unless given: counted(2, "class", "classes").
std::string counted(std::int64_t count, std::string_view noun, std::string_view plural = {});

}  // namespace trainyard::base
