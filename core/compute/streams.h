// SPDX-License-Identifier: GPL-3.0-or-later
// Streams of a device, for a library that brings its own work for it.
#pragma once

#include "core/base/result.h"

namespace trainyard::compute {

class Streams {
 public:
  virtual ~Streams() = default;
  // The thread that asks works with this device from now on.
  virtual base::Result<void> enter() = 0;
  // A new one, which lives as long as this. What it is, the library knows: of CUDA a cudaStream_t.
  virtual base::Result<void*> stream() = 0;
  // Calls `done`, in another thread, once all that the stream was given before is through; never
  // where the device is broken. `done` asks nothing of the device.
  virtual base::Result<void> then(void* stream, void (*done)(void*), void* of) = 0;
  virtual void finish(void* stream) = 0;  // waits for all of it
};

}  // namespace trainyard::compute
