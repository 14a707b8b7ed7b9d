// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/address_space.h"

#include <sched.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdlib>
#include <cstring>

namespace trainyard::app {
namespace {

constexpr rlim_t kMegabyte = 1'000'000;
// Memory mapped by programs and libraries, and by each thread of OpenBLAS: its buffer of 128 MiB
// and its stack.
constexpr rlim_t kProgram = 300 * kMegabyte, kOfThread = 160 * kMegabyte;

// Returns the number of threads that OpenBLAS starts.
rlim_t blas_threads(char** environment) {
  constexpr const char* kName = "OPENBLAS_NUM_THREADS=";
  for (char** at = environment; at != nullptr && *at != nullptr; ++at)
    if (std::strncmp(*at, kName, std::strlen(kName)) == 0)
      return static_cast<rlim_t>(std::max(1L, std::strtol(*at + std::strlen(kName), nullptr, 10)));
  cpu_set_t cores;
  return ::sched_getaffinity(0, sizeof cores, &cores) == 0
             ? static_cast<rlim_t>(std::max(1, CPU_COUNT(&cores)))
             : 1;
}

void write_text(const char* text) {
  static_cast<void>(!::write(STDERR_FILENO, text, std::strlen(text)));
}

void write_megabytes(rlim_t bytes) {
  std::array<char, 32> digits{};
  std::size_t at = digits.size() - 1;
  rlim_t number = bytes / kMegabyte;
  do digits[--at] = static_cast<char>('0' + number % 10);
  while ((number /= 10) > 0 && at > 0);
  write_text(&digits[at]);
  write_text(" MB");
}

// Uses only system calls, because no library is initialized yet.
void check_address_space(int, char**, char** environment) {
  rlimit limit{};
  if (::getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return;
  const rlim_t needed = kProgram + kOfThread * blas_threads(environment);
  if (limit.rlim_cur >= needed) return;
  write_text("error: ulimit -v: the address space is limited to ");
  write_megabytes(limit.rlim_cur);
  write_text(" (accepted: ");
  write_megabytes(needed);
  write_text(" or more). Raise the limit (ulimit -v), or set OPENBLAS_NUM_THREADS=1.\n");
  ::_exit(3);
}

[[gnu::section(".preinit_array"), gnu::used]] void (*const at_start)(int, char**,
                                                                     char**) = check_address_space;

}  // namespace

void add_address_space_check() {}

}  // namespace trainyard::app
