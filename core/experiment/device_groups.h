// SPDX-License-Identifier: GPL-3.0-or-later
// Device groups of saved experiments: one entry with a count stands for several equal devices.
//
//   {"name": "cpu", "count": 3}     cpu0, cpu1, cpu2
//   {"name": "gpu4", "count": 2}    gpu4, gpu5: a number at the end of the name is the first one
//
// If the field `gpu` of a group is set, it is the index of the first device; the following devices
// have the following indices. Everything else in the program sees the expanded list: --set,
// problems, links and messages name single devices.
#pragma once

#include "core/base/json_fwd.h"
#include "core/base/result.h"

namespace trainyard::experiment {

inline constexpr std::size_t kMaxDevicesPerHost = 4096;

// Replaces each group in the hosts of `document` by its devices. Returns a problem for each count
// that is not an integer of at least 1, or that exceeds the number of devices a host may have. An
// entry with such a count becomes one device.
base::Problems expand_device_groups(base::Json& document);

// Replaces consecutive devices by a group if they differ only in consecutive numbers at the end of
// their names and in `gpu`. The inverse of `expand_device_groups`.
void group_devices(base::Json& document);

}  // namespace trainyard::experiment
