// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/collective/algorithm.h"

namespace trainyard::collective {

Rounds all_reduce(Algorithm algorithm, int members, int position) {
  switch (algorithm) {
    case Algorithm::ring: return ring(members, position);
    case Algorithm::direct: return direct(members, position);
  }
  return {};
}

int chunks(Algorithm, int members) { return members; }

}  // namespace trainyard::collective
