// SPDX-License-Identifier: GPL-3.0-or-later
// Functions that trainyard-cuda.so exports.
#include "backends/cuda/module/gpu.h"
#include "backends/cuda/module/gpus.h"
#include "backends/cuda/module/streams.h"

namespace module = trainyard::cuda::module;

// NOLINTBEGIN(readability-identifier-naming): kModuleSymbol
extern "C" [[gnu::visibility("default")]] const trainyard::cuda::Module trainyard_cuda{
    TRAINYARD_VERSION, module::gpus, module::make_compute, module::make_streams};
// NOLINTEND(readability-identifier-naming)
