// SPDX-License-Identifier: GPL-3.0-or-later
// Examples that many tests run, and what is known of them.
#pragma once

#include "cli_program.h"

namespace trainyard::process {

inline const std::string kOne = example("one_device_digits"),
                         kMirrored = example("four_devices_mirrored_digits"),
                         kServed = example("four_workers_parameter_server_digits"),
                         kGossip = example("eight_devices_gossip_digits");

inline constexpr std::int64_t kElements = 235'146;  // of the model of digits
inline constexpr int kServer = 4;                   // the rank that serves the four workers

}  // namespace trainyard::process
