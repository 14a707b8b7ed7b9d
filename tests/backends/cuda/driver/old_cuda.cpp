// SPDX-License-Identifier: GPL-3.0-or-later
// In the place of a driver's libcuda.so.1, as far as CUDA's runtime asks it: one that is too old.
extern "C" {

int cuDriverGetVersion(int* version) { return *version = 11'040, 0; }
int cuInit(unsigned) { return 0; }

}  // extern "C"
