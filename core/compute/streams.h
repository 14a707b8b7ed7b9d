// SPDX-License-Identifier: GPL-3.0-or-later
// Streams of a device, for libraries that enqueue their own work (such as NCCL).
#pragma once

#include "core/base/result.h"

namespace trainyard::compute {

class Streams {
 public:
  virtual ~Streams() = default;
  // Makes this device the current one of the calling thread.
  virtual base::Result<void> enter() = 0;
  // Returns a new stream, for CUDA a cudaStream_t. It lives as long as this object.
  virtual base::Result<void*> stream() = 0;
  // Calls `done` in another thread once all earlier work of the stream is complete. Never calls it
  // if the device has failed. `done` must not call the device.
  virtual base::Result<void> then(void* stream, void (*done)(void*), void* of) = 0;
  virtual void finish(void* stream) = 0;  // Waits for all work of the stream.
};

}  // namespace trainyard::compute
