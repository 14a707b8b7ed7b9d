// SPDX-License-Identifier: GPL-3.0-or-later
// NCCL as a collective engine for GPUs ("NCCL User Guide": in-place operations, non-blocking
// communicators, fault tolerance). Its library is opened at run time. Each group is a communicator
// with a unique id from its first member; endpoints carry these ids. Each group has its own stream,
// on which its calls run in order. Starting a call does not block, even if peers have to join it
// first. A build without NCCL's header uses no_nccl.cpp instead.
//
// Shutdown has one owner: the first abort, or the destructor, ends every communicator once, and
// nothing uses it after that. A call is complete when it is complete on this rank's stream, while
// NCCL's proxy may still be sending data that a peer waits for. The destructor therefore finalizes
// all communicators ("Finalizing a communicator") and destroys those that complete. One that failed
// or does not complete in time is aborted; after `abort` all are. NCCL's destroy waits for its
// proxy: if a peer hangs at that moment, only the end of the process ends that wait.
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
  comm::SpinPolicy patience{};           // of waits
  std::chrono::milliseconds parting =
      std::chrono::minutes(1);  // Time for peers to receive the last data when this rank leaves.
  std::string library = kLibrary;
};

// Prepares the engine on `streams` of the rank's GPU. Problems, `unavailable`: no such library, a
// missing function, or an unsuitable version (library.h); `bad_input`: CUDA_LAUNCH_BLOCKING is set.
base::Result<std::unique_ptr<comm::BoundCollectives>> bind(
    const Options& options, std::unique_ptr<compute::Streams> streams);

// True if the call is supported: fp16, bf16, fp32, fp64 and int32 with sum or mean. NCCL's min and
// max do not propagate NaN. Bytes can be moved but not reduced.
bool supports(comm::CollectiveKind kind, base::Reduction reduction, base::DType dtype);

}  // namespace trainyard::nccl
