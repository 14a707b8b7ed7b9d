// SPDX-License-Identifier: GPL-3.0-or-later
// Output files that are written completely or not at all.
#pragma once

#include <functional>
#include <iosfwd>
#include <string>

#include "core/base/result.h"

namespace trainyard::cli {

// Calls `write` with a stream, and replaces the file `name` by what was written. Writes to a
// temporary file first, so that a failure leaves an existing file unchanged. Writes directly if the
// name is a device or a pipe. If it is a symbolic link, writes to its target.
base::Result<void> write_output_file(
    const std::string& name, const std::function<base::Result<void>(std::ostream& out)>& write);

}  // namespace trainyard::cli
