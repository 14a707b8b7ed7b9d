// SPDX-License-Identifier: GPL-3.0-or-later
// Problems of connections by ssh, identified by what ssh prints.
#pragma once

#include <optional>
#include <string>

#include "core/base/result.h"

namespace trainyard::ssh {

// Returns the problem that `printed` states, with its remedy; nothing if it is none of these:
// host_key_unknown, host_key_changed, host_name_unknown, login_refused, host_unreachable,
// agent_missing.
std::optional<base::Problem> explain(const std::string& destination, const std::string& printed);

// Returns the last line of the text that is not empty.
std::string last_line(const std::string& printed);

}  // namespace trainyard::ssh
