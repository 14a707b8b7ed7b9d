// SPDX-License-Identifier: GPL-3.0-or-later
#include "backends/cuda/module/error.h"
#include "backends/cuda/module/stream_queue.h"

namespace trainyard::cuda::module {

base::Result<std::unique_ptr<GpuQueue>> GpuQueue::make(int gpu,
                                                       std::shared_ptr<const FirstError> beside) {
  std::unique_ptr<GpuQueue> queue(new GpuQueue(gpu));
  queue->beside_ = std::move(beside);
  if (const auto ok = check(cudaSetDevice(gpu), "use GPU " + std::to_string(gpu)); !ok)
    return base::fail(ok.error());
  if (const auto ok =
          check(cudaStreamCreateWithFlags(&queue->stream_.handle, cudaStreamNonBlocking),
                "create a stream");
      !ok)
    return base::fail(ok.error());
  for (cudaEvent_t& event : queue->events_)
    if (const auto ok = check(cudaEventCreate(&event), "create an event"); !ok)
      return base::fail(ok.error());
  return queue;
}

std::unique_ptr<GpuQueue> GpuQueue::broken(int gpu, base::Problem why) {
  std::unique_ptr<GpuQueue> queue(new GpuQueue(gpu));
  queue->stream_.refused = std::move(why);
  return queue;
}

GpuQueue::~GpuQueue() {
  for (const cudaEvent_t event : events_)
    if (event != nullptr) cudaEventDestroy(event);
  if (stream_.handle != nullptr) cudaStreamDestroy(stream_.handle);
}

// Returns the stream for enqueueing. Sets the thread's current GPU, because launches go to that
// GPU.
Stream& GpuQueue::stream() {
  cudaSetDevice(gpu_);
  return stream_;
}

// Records an event. Also checks for refused launches, which CUDA reports only on request.
std::uint64_t GpuQueue::record() {
  if (is_broken()) return ++marks_;
  error_.note(cudaPeekAtLastError());
  next_mark({next_event()});
  error_.note(cudaEventRecord(place(marks_).event, stream_.handle));
  return marks_;
}

std::uint64_t GpuQueue::launch(cudaGraphExec_t graph, std::span<const cudaEvent_t> events) {
  const std::uint64_t before = marks_, end = before + events.size() + 1;
  for (const cudaEvent_t event : events) next_mark({event, before, end});
  error_.note(cudaGraphLaunch(graph, stream_.handle));
  record();
  return before + 1;
}

cudaEvent_t GpuQueue::next_event() { return events_[(marks_ + 1) % kEvents]; }

void GpuQueue::next_mark(const MarkEvent& next) {
  const std::uint64_t before = ++marks_ - kEvents;
  if (const MarkEvent& old = place(marks_); marks_ > kEvents && before > reached_)
    error_.note(cudaEventSynchronize(old.end > 0 ? place(old.end).event : old.event));
  place(marks_) = next;
}

// True if the mark is reached. After an error no further op runs; all marks then count as reached,
// and state() returns the error.
bool GpuQueue::reached(std::uint64_t mark) {
  if (mark <= reached_ || error_.get() != cudaSuccess || is_broken() || mark + kEvents <= marks_)
    return true;
  error_.note(cudaPeekAtLastError());
  const MarkEvent& at = place(mark);
  const cudaError_t now = cudaEventQuery(at.event);
  if (now == cudaErrorNotReady) {
    // Clears cudaErrorNotReady, which CUDA keeps as the last error. It would look like a failed
    // launch.
    cudaGetLastError();
    return false;
  }
  error_.note(now);
  if (now == cudaSuccess && at.end > 0 && !is_of_this_launch(at)) return reached(at.end);
  reached_ = mark;
  return true;
}

bool GpuQueue::is_of_this_launch(const MarkEvent& of_graph) {
  float milliseconds = 0;
  if (cudaEventElapsedTime(&milliseconds, place(of_graph.before).event, of_graph.event) ==
      cudaSuccess)
    return milliseconds > 0;
  cudaGetLastError();  // the mark before the graph is not reached yet
  return false;
}

std::int64_t GpuQueue::between(std::uint64_t mark, std::uint64_t later) {
  float milliseconds = 0;
  if (mark >= later || later + kEvents / 2 <= marks_ || is_broken()) return 0;
  if (cudaEventElapsedTime(&milliseconds, place(mark).event, place(later).event) == cudaSuccess)
    return static_cast<std::int64_t>(milliseconds * 1e6);
  cudaGetLastError();
  return 0;
}

base::Result<void> GpuQueue::state() {
  if (stream_.refused) return base::fail(*stream_.refused);
  const cudaError_t error = error_.get() == cudaSuccess && beside_ ? beside_->get() : error_.get();
  return check(error, "run the enqueued ops on GPU " + std::to_string(gpu_));
}

}  // namespace trainyard::cuda::module
