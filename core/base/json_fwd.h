// SPDX-License-Identifier: GPL-3.0-or-later
// The name of JSON, for headers that only pass it on: its own takes seconds to compile.
#pragma once

#include <nlohmann/json_fwd.hpp>

namespace trainyard::base {

using Json = nlohmann::ordered_json;  // keeps the order of the field tables

}  // namespace trainyard::base
