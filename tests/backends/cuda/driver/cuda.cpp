// SPDX-License-Identifier: GPL-3.0-or-later
// In the place of a driver's libcuda.so.1, as far as CUDA's runtime asks it: one that is too old;
// or, where TRAINYARD_DRIVER_SAYS is a CUresult, one that is not, and answers whatever is asked of
// it with that.
#include <cstdint>
#include <cstdlib>
#include <cstring>

namespace {

int said() {
  const char* const result = std::getenv("TRAINYARD_DRIVER_SAYS");
  return result != nullptr ? std::atoi(result) : 0;
}

constexpr int kUninitialized = 3;  // CUDA_ERROR_NOT_INITIALIZED
int refuse() { return said() != 0 ? said() : kUninitialized; }

}  // namespace

extern "C" {

int cuDriverGetVersion(int* version) { return *version = said() == 0 ? 11'040 : 13'000, 0; }
int cuInit(unsigned) { return said(); }
int cuGetProcAddress_v2(const char* name, void** function, int, std::uint64_t, int* status) {
  if (status != nullptr) *status = 0;
  *function =
      std::strcmp(name, "cuGetProcAddress") == 0     ? reinterpret_cast<void*>(cuGetProcAddress_v2)
      : std::strcmp(name, "cuDriverGetVersion") == 0 ? reinterpret_cast<void*>(cuDriverGetVersion)
                                                     : reinterpret_cast<void*>(refuse);
  return 0;
}

}  // extern "C"
