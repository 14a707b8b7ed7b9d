// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define TRAINYARD_SANITIZED
#endif

namespace trainyard::conformance {

#ifdef TRAINYARD_SANITIZED
inline constexpr bool kCounted = false;
#else
inline constexpr bool kCounted = true;
#endif

// Number of operator new calls in this thread; stays 0 in a program that does not include
// count_allocations.h.
inline thread_local long allocations = 0;

}  // namespace trainyard::conformance
