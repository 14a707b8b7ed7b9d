// SPDX-License-Identifier: GPL-3.0-or-later
#include "backends/nccl/library.h"

#include <fmt/core.h>

#include "core/base/functions.h"

namespace trainyard::nccl {
namespace {

// Returns a version as text, such as "2.18.3", from its number in the encoding of NCCL 2.9 and
// later.
std::string describe(int version) {
  return fmt::format("{}.{}.{}", version / 10'000, version / 100 % 100, version % 100);
}

int version_of(const Library& library) {
  int version = 0;
  return library.version(&version) == ncclSuccess ? version : 0;
}

}  // namespace

std::string Library::name() const { return fmt::format("nccl {}", describe(version_of(*this))); }

base::Result<Library> open_library(const std::string& file) {
  base::Functions functions(file,
                            "Install NCCL (package libnccl2), or set strategy.engine to own.");
  Library library;
  functions.find(library.version, "ncclGetVersion");
  functions.find(library.error_string, "ncclGetErrorString");
  functions.find(library.unique_id, "ncclGetUniqueId");
  functions.find(library.join, "ncclCommInitRankConfig");
  functions.find(library.state, "ncclCommGetAsyncError");
  functions.find(library.finalize, "ncclCommFinalize");
  functions.find(library.destroy, "ncclCommDestroy");
  functions.find(library.abort, "ncclCommAbort");
  functions.find(library.all_reduce, "ncclAllReduce");
  functions.find(library.broadcast, "ncclBroadcast");
  functions.find(library.reduce, "ncclReduce");
  functions.find(library.all_gather, "ncclAllGather");
  functions.find(library.reduce_scatter, "ncclReduceScatter");
  functions.find(library.send, "ncclSend");
  functions.find(library.receive, "ncclRecv");
  functions.find(library.group_start, "ncclGroupStart");
  functions.find(library.group_end, "ncclGroupEnd");
  if (const auto found = functions.state(); !found) return base::fail(found.error());
  if (const int version = version_of(library);
      version / 10'000 != NCCL_MAJOR || version < kMinVersion)
    return base::fail(functions.unavailable(fmt::format(
        "the version of NCCL is {}, but {} or a later {}.x is needed (Trainyard was built with {})",
        describe(version), describe(kMinVersion), NCCL_MAJOR, describe(NCCL_VERSION_CODE))));
  return library;
}

}  // namespace trainyard::nccl
