// SPDX-License-Identifier: GPL-3.0-or-later
#include "backends/nccl/library.h"

#include <dlfcn.h>

namespace trainyard::nccl {
namespace {

base::Problem unavailable(const std::string& file, const std::string& what) {
  return {base::ProblemCode::unavailable, file, what, "", "Install NCCL, as libnccl2, or choose strategy.engine=own."};
}

// As NCCL counts versions from 2.9 on.
std::string in_words(int version) { return std::to_string(version / 10'000) + "." + std::to_string(version / 100 % 100) + "." + std::to_string(version % 100); }

int version_of(const Library& library) {
  int version = 0;
  return library.version(&version) == ncclSuccess ? version : 0;
}

}  // namespace

std::string Library::name() const { return "nccl " + in_words(version_of(*this)); }

base::Result<Library> open_library(const std::string& file) {
  void* const opened = ::dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (opened == nullptr) return base::fail(unavailable(file, std::string("cannot be opened: ") + ::dlerror()));
  Library library;
  std::string lacks;
  const auto find = [&](auto& function, const char* name) {
    void* const found = ::dlsym(opened, name);
    if (found == nullptr && lacks.empty()) lacks = name;
    function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(found);
  };
  find(library.version, "ncclGetVersion");
  find(library.error_string, "ncclGetErrorString");
  find(library.unique_id, "ncclGetUniqueId");
  find(library.join, "ncclCommInitRankConfig");
  find(library.state, "ncclCommGetAsyncError");
  find(library.abort, "ncclCommAbort");
  find(library.all_reduce, "ncclAllReduce");
  find(library.broadcast, "ncclBroadcast");
  find(library.reduce, "ncclReduce");
  find(library.all_gather, "ncclAllGather");
  find(library.reduce_scatter, "ncclReduceScatter");
  find(library.send, "ncclSend");
  find(library.receive, "ncclRecv");
  find(library.group_start, "ncclGroupStart");
  find(library.group_end, "ncclGroupEnd");
  if (!lacks.empty()) return base::fail(unavailable(file, "has no " + lacks));
  if (const int version = version_of(library); version / 10'000 != NCCL_MAJOR || version < NCCL_VERSION_CODE)
    return base::fail(unavailable(file, "is " + in_words(version) + ", and this was built by " + in_words(NCCL_VERSION_CODE)));
  return library;
}

}  // namespace trainyard::nccl
