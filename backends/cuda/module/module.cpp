// SPDX-License-Identifier: GPL-3.0-or-later
// What trainyard-cuda.so offers.
#include "backends/cuda/module/gpus.h"

extern "C" [[gnu::visibility("default")]] const trainyard::cuda::Module trainyard_cuda{TRAINYARD_VERSION, trainyard::cuda::module::gpus};
