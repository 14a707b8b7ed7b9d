// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>

#include "core/base/json_fwd.h"
#include "core/base/result.h"

namespace trainyard::base {

// Parses strict JSON. A syntax error gives line and column, and `where` as the name of the file.
// Depth, size, and the number of keys of an object are limited.
Result<Json> parse_json(std::string_view text, const std::string& where,
                        std::size_t max_keys = 10'000);

// Serializes on one line, or indented. Escapes control characters. Invalid UTF-8 becomes U+FFFD.
std::string to_text(const Json& json, int indent = -1);

Result<Json> read_json(const std::filesystem::path& path);

}  // namespace trainyard::base
