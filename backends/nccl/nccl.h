// SPDX-License-Identifier: GPL-3.0-or-later
// NCCL as a collective engine for GPUs ("NCCL User Guide": in-place operations, non-blocking
// communicators, fault tolerance). NCCL's library is opened at run time. Each group is a
// communicator. The group's first member creates the unique id, and the other members read it from
// that rank's endpoint. Each group has its own stream, on which its calls run in order. Starting a
// call does not block, even if peers have yet to join the call. A build without NCCL's header uses
// no_nccl.cpp instead.
//
// Shutdown: the first abort, or the destructor, ends every communicator once; nothing uses a
// communicator after that. A call is complete when it is complete on this rank's stream, but NCCL's
// proxy thread may still be sending data that a peer waits for. So the destructor finalizes all
// communicators ("Finalizing a communicator"), and destroys those whose finalization completes. It
// aborts a communicator that failed, or whose finalization does not complete in time. `abort`
// aborts all communicators. NCCL's destroy waits for its proxy thread. If a peer hangs at that
// moment, only the end of the process ends that wait.
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "core/comm/collectives.h"
#include "core/comm/futex_event.h"
#include "core/compute/streams.h"

namespace trainyard::nccl {

inline constexpr const char* kLibrary = "libnccl.so.2";

struct Options {
  int rank = 0;
  std::vector<std::vector<int>> groups;  // Ranks by position. Groups without this rank are skipped.
  comm::SpinPolicy patience{};           // how long calls spin before they sleep
  std::chrono::milliseconds parting =
      std::chrono::minutes(1);  // Time for peers to receive the last data when this rank leaves.
  std::string library = kLibrary;
};

// Prepares the engine on `streams` of the rank's GPU. Problems: `unavailable` if the library is
// missing, lacks a function, or has an unsuitable version (library.h); `bad_input` if
// CUDA_LAUNCH_BLOCKING is set.
base::Result<std::unique_ptr<comm::BoundCollectives>> bind(
    const Options& options, std::unique_ptr<compute::Streams> streams);

// True if the call is supported: sum or mean of fp16, bf16, fp32, fp64 and int32. min and max are
// not, because NCCL's do not propagate NaN. Bytes can be moved, but not reduced.
bool supports(comm::CollectiveKind kind, base::Reduction reduction, base::DType dtype);

}  // namespace trainyard::nccl
