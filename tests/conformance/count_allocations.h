// SPDX-License-Identifier: GPL-3.0-or-later
// Counts what operator new is asked for in this thread. Replaces operator new, so one file of a
// program includes it; not inlined, or GCC pairs the free inside one with the new outside the
// other. Nothing is counted under a sanitizer, which has an operator new of its own.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <new>

#include "tests/conformance/allocations.h"

#ifndef TRAINYARD_SANITIZED

__attribute__((noinline)) void* operator new(std::size_t bytes) {
  ++trainyard::conformance::allocations;
  if (void* memory = std::malloc(bytes == 0 ? 1 : bytes)) return memory;
  throw std::bad_alloc();
}
__attribute__((noinline)) void operator delete(void* memory) noexcept { std::free(memory); }
__attribute__((noinline)) void operator delete(void* memory, std::size_t) noexcept {
  std::free(memory);
}

#endif
