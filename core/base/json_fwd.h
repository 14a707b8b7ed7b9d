// SPDX-License-Identifier: GPL-3.0-or-later
// Forward declaration of JSON, for headers that only pass it on: the library's full header takes
// seconds to compile.
#pragma once

#include <nlohmann/json_fwd.hpp>

namespace trainyard::base {

using Json = nlohmann::ordered_json;  // keeps the order of field tables

}  // namespace trainyard::base
