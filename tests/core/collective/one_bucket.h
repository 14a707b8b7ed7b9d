// SPDX-License-Identifier: GPL-3.0-or-later
// The smallest plan that reduces: every rank writes its gradient, sums it with the others, and updates from it.
#pragma once

#include "core/collective/expand.h"
#include "core/plan/text.h"

namespace trainyard::collective {

inline plan::Plan one_bucket(int members, std::int64_t elements) {
  const std::string n = std::to_string(elements);
  std::string text = "plan 1\nschedule steps 9 full 9\ngroup g0:";
  for (int r = 0; r < members; ++r) text += " " + std::to_string(r);
  text += "\n";
  for (int r = 0; r < members; ++r)
    text += "rank " + std::to_string(r) + "\nlane compute compute\nlane comm.g0 comm g0\nbuffer grads fp32 " + n + " shared\nprogram train samples 1 of " +
            std::to_string(members) +
            "\nW.s0 @compute writes grads after comm.g0:1@-1\nAR.b0 @comm.g0 group g0 reads grads writes grads after compute:1\nUPD.s0 @compute reads grads "
            "after comm.g0:1\n";
  return plan::parse(text).value();
}

inline plan::Plan one_bucket_expanded(Algorithm algorithm, int members, std::int64_t elements) { return expand(one_bucket(members, elements), algorithm); }

}  // namespace trainyard::collective
