// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>

#include "core/base/json_fwd.h"
#include "core/base/result.h"

namespace trainyard::base {

// Strict JSON. A syntax error says the line and column; `where` names the file in it. Depth and size are bounded.
Result<Json> parse_json(std::string_view text, const std::string& where);

Result<Json> read_json(const std::filesystem::path& path);

}  // namespace trainyard::base
