// SPDX-License-Identifier: GPL-3.0-or-later
// Gloo as an engine: the library that PyTorch uses on CPUs, over TCP. Ranks find each other by what
// their endpoints say: a port for each peer. It may not be in this build (no_gloo.cpp); then
// nothing can be bound.
//
// Gloo asks who connects to these ports for no key.
#pragma once

#include "core/comm/bell.h"
#include "core/comm/collectives.h"

namespace trainyard::gloo {

struct Options {
  int rank = 0;
  std::string address =
      "127.0.0.1";  // of this rank, an IPv4 address or a host name; its ports are bound there
  std::vector<std::vector<int>>
      groups;                 // ranks by position; those without this rank are passed over
  comm::Patience patience{};  // of who waits
};

// Problems: Gloo is not in this build (unavailable); the address is none of this machine.
base::Result<std::unique_ptr<comm::BoundCollectives>> bind(const Options& options);

// "0.5.0"; empty where Gloo is not in this build.
std::string version();

// reduce_scatter it has in a form that shares out other parts only: not supported.
bool supports(comm::CollectiveKind kind, base::Reduction reduction, base::DType dtype);

}  // namespace trainyard::gloo
