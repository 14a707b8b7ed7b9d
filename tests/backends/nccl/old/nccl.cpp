// SPDX-License-Identifier: GPL-3.0-or-later
// The part of NCCL 2.13 that shows that it is too old: it has no non-blocking communicators, and
// cannot finalize one.
extern "C" {

int ncclGetVersion(int* version) { return *version = 21304, 0; }
const char* ncclGetErrorString(int) { return "an error"; }
int ncclGetUniqueId(void*) { return 0; }

}  // extern "C"
