// SPDX-License-Identifier: GPL-3.0-or-later
// The log: one line per event, to standard error. If a run has a directory, lines also go to a file
// in it. Do not log in a hot loop.
#pragma once

#include <string>
#include <string_view>

namespace trainyard::base {

enum class LogLevel { debug, info, warning, error };

void log(LogLevel level, std::string_view text);
inline void log_info(std::string_view text) { log(LogLevel::info, text); }
inline void log_warning(std::string_view text) { log(LogLevel::warning, text); }
inline void log_error(std::string_view text) { log(LogLevel::error, text); }

// sets the name of this process, such as "rank 2" or "coordinator"
void set_log_name(std::string_view name);
void set_log_level(LogLevel least);  // minimum level; default info
bool add_log_file(
    const std::string& path);  // appends lines also to this file; false if it cannot be opened

}  // namespace trainyard::base
