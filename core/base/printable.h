// SPDX-License-Identifier: GPL-3.0-or-later
// Text from files and documents in a form that is safe to print.
#pragma once

#include <string>
#include <string_view>

namespace trainyard::base {

// True for control characters, including those that change the direction of writing.
bool is_control(char32_t c);

// True if UTF-8 text contains control characters (see `printable`) or line feeds or tabs, which no
// name needs.
bool has_control_characters(std::string_view text);

// Returns text for a terminal: control characters, which could move the cursor or change what a
// terminal shows, and bytes that are not UTF-8 become U+FFFD. Keeps line feeds and tabs.
std::string printable(std::string_view text);

// As `printable`, for text that must stay on one line: line feeds become \n, and tabs blanks.
std::string printable_line(std::string_view text);

// Returns text in a form for display: shortened, quoted, with control characters and bytes that are
// not UTF-8 as \xNN.
std::string shown(std::string_view text);

}  // namespace trainyard::base
