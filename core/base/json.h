// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>

#include "core/base/json_fwd.h"
#include "core/base/result.h"

namespace trainyard::base {

// Strict JSON. A syntax error says the line and column; `where` names the file in it. Depth and
// size are bounded, and how many keys an object has.
Result<Json> parse_json(std::string_view text, const std::string& where,
                        std::size_t most_keys = 10'000);

// In one line, or indented. A name or path may hold bytes that are no UTF-8: in their place stands
// U+FFFD.
std::string to_text(const Json& json, int indent = -1);

Result<Json> read_json(const std::filesystem::path& path);

}  // namespace trainyard::base
