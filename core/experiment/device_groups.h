// SPDX-License-Identifier: GPL-3.0-or-later
// Device groups of saved experiments: one entry with a count stands for several equal devices.
//
//   {"name": "cpu", "count": 3}     cpu0, cpu1, cpu2
//   {"name": "gpu4", "count": 2}    gpu4, gpu5: a number at the end of the name is the first one
//
// The field `gpu` of a group counts up, too, if it is set. Everything else in the program sees the
// expanded list: --set, problems, links and messages name single devices.
#pragma once

#include "core/base/json_fwd.h"
#include "core/base/result.h"

namespace trainyard::experiment {

inline constexpr std::size_t kMaxDevicesPerHost = 4096;

// Replaces each group in the hosts of `document` by its devices. Returns a problem for each count
// that is no whole number of at least 1, or exceeds the devices of a host; its entry then remains
// one device.
base::Problems expand_device_groups(base::Json& document);

// Joins consecutive devices that differ only by consecutive numbers at the end of their names, and
// in `gpu`, to groups. The inverse of `expand_device_groups`.
void group_devices(base::Json& document);

}  // namespace trainyard::experiment
