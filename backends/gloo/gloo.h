// SPDX-License-Identifier: GPL-3.0-or-later
// Gloo as a collective engine: the library that PyTorch uses on CPUs, over TCP. Endpoints of ranks
// list a port for each peer. If Gloo is not in this build (no_gloo.cpp), bind() fails.
//
// Gloo does not authenticate connections to these ports.
#pragma once

#include "core/comm/collectives.h"
#include "core/comm/futex_event.h"

namespace trainyard::gloo {

struct Options {
  int rank = 0;
  std::string address =
      "127.0.0.1";  // IPv4 address or host name of this rank, at which its ports are bound
  std::vector<std::vector<int>> groups;  // Ranks by position. Groups without this rank are skipped.
  comm::SpinPolicy patience{};           // how long calls spin before they sleep
};

// Binds the ports of a rank. Problems: Gloo is not in this build (unavailable); the address does
// not belong to this machine.
base::Result<std::unique_ptr<comm::BoundCollectives>> bind(const Options& options);

// Returns the version, for example "0.5.0"; empty if Gloo is not in this build.
std::string version();

// True if the call is supported. reduce_scatter is not supported, because Gloo assigns the shards
// of the result to other ranks than our own collectives do.
bool supports(comm::CollectiveKind kind, base::Reduction reduction, base::DType dtype);

}  // namespace trainyard::gloo
