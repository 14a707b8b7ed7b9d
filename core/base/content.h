// SPDX-License-Identifier: GPL-3.0-or-later
// Recognizes files that are not what their reader expects, by their first bytes.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "core/base/result.h"

namespace trainyard::base {

// Returns a problem if the bytes at the start of `file` show that it is UTF-16 or UTF-32 text.
std::optional<Problem> wide_text(std::string_view start, const std::string& file);

// Returns a problem if the bytes at the start of `file` are those of a web page, which is often an
// error message of a server, saved under the name of a data file.
std::optional<Problem> web_page(std::string_view start, const std::string& file);

// Returns a problem if the bytes at the start of `file` are those of a spreadsheet, an archive, a
// PDF or a table of Parquet or Arrow, which are no text.
std::optional<Problem> binary_document(std::string_view start, const std::string& file);

// Length of a UTF-8 byte order mark at the start of a text; 0 if there is none.
std::size_t byte_order_mark(std::string_view text);

// Returns the problem of a text that is not UTF-8; nothing if it is. `start`: position of the text
// in the file, in bytes.
std::optional<Problem> not_utf8(std::string_view text, const std::string& file,
                                std::int64_t start = 0);

// Returns Windows-1252 text, such as Latin-1 (ISO 8859-1), as UTF-8.
std::string utf8_of_windows1252(std::string_view text);

}  // namespace trainyard::base
