// SPDX-License-Identifier: GPL-3.0-or-later
// The smallest plans with a collective: every rank writes a bucket, and takes part.
#pragma once

#include "core/collective/expand.h"
#include "core/plan/text.h"

namespace trainyard::collective {

// `token`: of the coarse op; `after`: lines of what follows it.
inline plan::Plan one_bucket(
    int members, std::int64_t elements, const std::string& token = "AR.b0",
    const std::string& after = "UPD.s0 @compute reads grads after comm.g0:1\n") {
  const std::string n = std::to_string(elements);
  std::string text = "plan 1\nschedule steps 9 full 9\ngroup g0:";
  for (int r = 0; r < members; ++r) text += " " + std::to_string(r);
  text += "\n";
  for (int r = 0; r < members; ++r)
    text += "rank " + std::to_string(r) +
            "\nlane compute compute\nlane comm.g0 comm g0\nbuffer grads fp32 " + n +
            " shared\nprogram train samples 1 of " + std::to_string(members) +
            "\nW.s0 @compute writes grads after comm.g0:1@-1\n" + token +
            " @comm.g0 group g0 reads grads writes grads after compute:1\n" + after;
  return plan::parse(text).value();
}

inline plan::Plan one_bucket_expanded(const Method& method, int members, std::int64_t elements) {
  return expand(one_bucket(members, elements), method);
}

// `hosts` of `devices` each, rank after rank.
inline Method on_hosts(Algorithm algorithm, int hosts, int devices) {
  Method method(algorithm);
  for (int r = 0; r < hosts * devices; ++r) method.hosts.push_back(r / devices);
  return method;
}

inline constexpr Algorithm kAlgorithms[] = {Algorithm::ring,
                                            Algorithm::direct,
                                            Algorithm::halving_doubling,
                                            Algorithm::binary_tree,
                                            Algorithm::double_binary_tree,
                                            Algorithm::star,
                                            Algorithm::all_to_all,
                                            Algorithm::leader_hierarchical,
                                            Algorithm::sharded_hierarchical,
                                            Algorithm::torus};

}  // namespace trainyard::collective
