// SPDX-License-Identifier: GPL-3.0-or-later
// A module as an older Trainyard left it behind.
#include "backends/cuda/cuda.h"

extern "C" [[gnu::visibility("default")]] const trainyard::cuda::Module trainyard_cuda{
    "0.0.1", nullptr, nullptr, nullptr};
