// SPDX-License-Identifier: GPL-3.0-or-later
// Substitute for a driver's libcuda.so.1, as far as CUDA's runtime calls it. By default it is a
// driver that is too old. If TRAINYARD_DRIVER_SAYS is a CUresult, the driver is recent and answers
// every call with that result.
#include <cstdint>
#include <cstdlib>
#include <cstring>

namespace {

int status() {
  const char* const result = std::getenv("TRAINYARD_DRIVER_SAYS");
  return result != nullptr ? std::atoi(result) : 0;
}

constexpr int kUninitialized = 3;  // CUDA_ERROR_NOT_INITIALIZED
int refuse() { return status() != 0 ? status() : kUninitialized; }

}  // namespace

extern "C" {

int cuDriverGetVersion(int* version) { return *version = status() == 0 ? 11'040 : 13'000, 0; }
int cuInit(unsigned) { return status(); }
int cuGetProcAddress_v2(const char* name, void** function, int, std::uint64_t, int* status) {
  if (status != nullptr) *status = 0;
  *function =
      std::strcmp(name, "cuGetProcAddress") == 0     ? reinterpret_cast<void*>(cuGetProcAddress_v2)
      : std::strcmp(name, "cuDriverGetVersion") == 0 ? reinterpret_cast<void*>(cuDriverGetVersion)
                                                     : reinterpret_cast<void*>(refuse);
  return 0;
}

}  // extern "C"
