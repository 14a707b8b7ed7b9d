// SPDX-License-Identifier: GPL-3.0-or-later
// NCCL as an engine of GPUs ("NCCL User Guide": in-place operations, non-blocking communicators,
// fault tolerance). Its library is opened at run time. Each group is a communicator, which its
// first member names by a unique id: that is what its endpoint says. It has a stream of its own, on
// which its calls are one after another; to begin one holds nobody up, though its peers may have to
// come to it first. A build without NCCL's header has no_nccl.cpp in its place.
//
// One owner of the end: whoever aborts first, or the destructor, ends every communicator once;
// nothing is asked of one after that. A call is complete when it is through on this rank's stream,
// while NCCL's proxy may still be sending what a peer waits for. So the destructor finalizes them
// all ("Finalizing a communicator") and destroys those that are through; one that failed, or is not
// through in time, is aborted, and after `abort` all are. NCCL's destroy waits for its proxy: where
// a peer hangs just then, only the end of the process ends that.
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "core/comm/bell.h"
#include "core/comm/collectives.h"
#include "core/compute/streams.h"

namespace trainyard::nccl {

inline constexpr const char* kLibrary = "libnccl.so.2";

struct Options {
  int rank = 0;
  std::vector<std::vector<int>>
      groups;                 // ranks by position; those without this rank are passed over
  comm::Patience patience{};  // of who waits
  std::chrono::milliseconds parting =
      std::chrono::minutes(1);  // for peers to take what was sent last, when this rank leaves
  std::string library = kLibrary;
};

// `streams` are those of the rank's GPU. Problems, `unavailable`: no such library, one that lacks a
// function, or is of no version that would do (library.h); `bad_input`: CUDA_LAUNCH_BLOCKING is
// set.
base::Result<std::unique_ptr<comm::BoundCollectives>> bind(
    const Options& options, std::unique_ptr<compute::Streams> streams);

// fp16, bf16, fp32, fp64 and int32, summed or averaged: its minimum and maximum say nothing of what
// is no number. Bytes travel, and are not summed.
bool supports(comm::CollectiveKind kind, base::Reduction reduction, base::DType dtype);

}  // namespace trainyard::nccl
