// SPDX-License-Identifier: GPL-3.0-or-later
// QR codes (ISO/IEC 18004), by libqrencode.
#pragma once

#include <string>
#include <vector>

namespace trainyard::cli {

// Returns the modules of the code, row by row: '1' is dark. Empty if the text is too long.
std::vector<std::string> qr_code(const std::string& text);

// Returns lines for a terminal with a dark background. A character shows two modules, and a margin
// of four light modules surrounds the code, as the standard requires.
std::string terminal_text_of(const std::vector<std::string>& modules);

}  // namespace trainyard::cli
