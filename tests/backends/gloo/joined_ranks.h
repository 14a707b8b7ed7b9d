// SPDX-License-Identifier: GPL-3.0-or-later
// Ranks that are threads of this process, joined by Gloo.
#pragma once

#include "backends/gloo/gloo.h"
#include "tests/backends/joined_ranks.h"

namespace trainyard::gloo {

using comm::in_threads;
using comm::Ranks;
using comm::wait_for;

inline Ranks joined(int count, const std::vector<std::vector<int>>& groups) {
  return comm::joined_by(count, [&](int rank) {
    Options options;
    options.rank = rank;
    options.groups = groups;
    return bind(options);
  });
}

inline Ranks joined(int count) { return joined(count, {comm::everyone(count)}); }

}  // namespace trainyard::gloo
