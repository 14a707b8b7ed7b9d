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
  next_mark(events_[(marks_ + 1) % kEvents]);
  note(cudaEventRecord(event(marks_), stream_.handle));
  return marks_;
}

std::uint64_t GpuQueue::launch(cudaGraphExec_t graph, std::span<const cudaEvent_t> events) {
  const std::uint64_t first = marks_ + 1;
  for (const cudaEvent_t event : events) next_mark(event);
  note(cudaGraphLaunch(graph, stream_.handle));
  return first;
}

void GpuQueue::next_mark(cudaEvent_t event) {
  const std::uint64_t before = ++marks_ - kEvents;
  if (marks_ > kEvents && before > reached_) note(cudaEventSynchronize(this->event(marks_)));
  this->event(marks_) = event;
}

// After an error nothing runs any more: then every mark counts as reached, and state() says why.
bool GpuQueue::reached(std::uint64_t mark) {
  if (mark <= reached_ || error_ != cudaSuccess || mark + kEvents <= marks_) return true;
  note(cudaPeekAtLastError());
  const cudaError_t now = cudaEventQuery(event(mark));
  if (now == cudaErrorNotReady) {
    cudaGetLastError();  // CUDA keeps that as an error, which would pass for a launch's
    return false;
  }
  note(now);
  reached_ = mark;
  return true;
}

std::int64_t GpuQueue::between(std::uint64_t mark, std::uint64_t later) {
  float milliseconds = 0;
  if (mark >= later || later + kEvents / 2 <= marks_) return 0;
  if (cudaEventElapsedTime(&milliseconds, event(mark), event(later)) == cudaSuccess) return static_cast<std::int64_t>(milliseconds * 1e6);
  cudaGetLastError();
  return 0;
}

base::Result<void> GpuQueue::state() {
  if (error_ == cudaSuccess && stream_.refused) return base::fail(*stream_.refused);
  return check(error_, "run what was asked of GPU " + std::to_string(gpu_));
}

void GpuQueue::note(cudaError_t error) {
  if (error_ == cudaSuccess) error_ = error;
}

}  // namespace trainyard::cuda::module
