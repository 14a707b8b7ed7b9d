// SPDX-License-Identifier: GPL-3.0-or-later
#include "backends/cuda/module/error.h"
#include "backends/cuda/module/stream_queue.h"

namespace trainyard::cuda::module {

base::Result<std::unique_ptr<GpuQueue>> GpuQueue::make(int gpu) {
  std::unique_ptr<GpuQueue> queue(new GpuQueue(gpu));
  if (const auto ok = check(cudaSetDevice(gpu), "use GPU " + std::to_string(gpu)); !ok) return base::fail(ok.error());
  if (const auto ok = check(cudaStreamCreateWithFlags(&queue->stream_.handle, cudaStreamNonBlocking), "make a stream"); !ok) return base::fail(ok.error());
  for (cudaEvent_t& event : queue->events_)
    if (const auto ok = check(cudaEventCreate(&event), "make an event"); !ok) return base::fail(ok.error());
  return queue;
}

GpuQueue::~GpuQueue() {
  for (const cudaEvent_t event : events_)
    if (event != nullptr) cudaEventDestroy(event);
  if (stream_.handle != nullptr) cudaStreamDestroy(stream_.handle);
}

// A launch that was refused says so only when it is asked for.
std::uint64_t GpuQueue::record() {
  note(cudaPeekAtLastError());
  if (marks_ >= kEvents) note(cudaEventSynchronize(event(marks_ + 1)));
  ++marks_;
  note(cudaEventRecord(event(marks_), stream_.handle));
  return marks_;
}

// After an error nothing runs any more: then every mark counts as reached, and state() says why.
bool GpuQueue::reached(std::uint64_t mark) {
  if (mark <= reached_ || error_ != cudaSuccess || mark + kEvents <= marks_) return true;
  const cudaError_t now = cudaEventQuery(event(mark));
  if (now == cudaErrorNotReady) return false;
  note(now);
  reached_ = mark;
  return true;
}

std::int64_t GpuQueue::between(std::uint64_t mark, std::uint64_t later) {
  float milliseconds = 0;
  if (mark >= later || later + kEvents / 2 <= marks_) return 0;
  return cudaEventElapsedTime(&milliseconds, event(mark), event(later)) == cudaSuccess ? static_cast<std::int64_t>(milliseconds * 1e6) : 0;
}

base::Result<void> GpuQueue::state() { return check(error_, "run what was asked of GPU " + std::to_string(gpu_)); }

void GpuQueue::note(cudaError_t error) {
  if (error_ == cudaSuccess) error_ = error;
}

}  // namespace trainyard::cuda::module
