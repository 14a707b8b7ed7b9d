// SPDX-License-Identifier: GPL-3.0-or-later
// The NCCL library, opened at run time, so that programs start on machines without it.
#pragma once

#include <nccl.h>

#include <string>

#include "core/base/result.h"

namespace trainyard::nccl {

inline constexpr int kMinVersion = 22'600;  // minimum version: 2.26.0

struct Library {
  decltype(&::ncclGetVersion) version = nullptr;
  decltype(&::ncclGetErrorString) error_string = nullptr;
  decltype(&::ncclGetUniqueId) unique_id = nullptr;
  decltype(&::ncclCommInitRankConfig) join = nullptr;
  decltype(&::ncclCommGetAsyncError) state = nullptr;
  decltype(&::ncclCommFinalize) finalize = nullptr;
  decltype(&::ncclCommDestroy) destroy = nullptr;
  decltype(&::ncclCommAbort) abort = nullptr;
  decltype(&::ncclAllReduce) all_reduce = nullptr;
  decltype(&::ncclBroadcast) broadcast = nullptr;
  decltype(&::ncclReduce) reduce = nullptr;
  decltype(&::ncclAllGather) all_gather = nullptr;
  decltype(&::ncclReduceScatter) reduce_scatter = nullptr;
  decltype(&::ncclSend) send = nullptr;
  decltype(&::ncclRecv) receive = nullptr;
  decltype(&::ncclGroupStart) group_start = nullptr;
  decltype(&::ncclGroupEnd) group_end = nullptr;

  std::string name() const;  // name and version: "nccl 2.28.9"
};

// Opens NCCL's library. The library is never closed. Problems, all `unavailable`: the library
// cannot be opened, lacks a function, has another major version than the header, or is older than
// kMinVersion. kMinVersion introduced NCCL_LAUNCH_ORDER_IMPLICIT, the newest feature in use; an
// older library would silently ignore that setting.
base::Result<Library> open_library(const std::string& file);

}  // namespace trainyard::nccl
