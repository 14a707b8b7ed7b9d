// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

namespace trainyard::conformance {

// Of operator new in this thread; stays 0 in a program that does not include count_allocations.h.
inline thread_local long allocations = 0;

}  // namespace trainyard::conformance
