// SPDX-License-Identifier: GPL-3.0-or-later
#include "backends/cuda/module/streams.h"

#include <vector>

#include "backends/cuda/module/error.h"

namespace trainyard::cuda::module {
namespace {

class GpuStreams final : public compute::Streams {
 public:
  explicit GpuStreams(int number) : number_(number) {}
  ~GpuStreams() override {
    static_cast<void>(enter());
    for (cudaStream_t stream : streams_) cudaStreamDestroy(stream);
  }
  GpuStreams(const GpuStreams&) = delete;
  GpuStreams& operator=(const GpuStreams&) = delete;

  base::Result<void> enter() override {
    return check(cudaSetDevice(number_), "use GPU " + std::to_string(number_));
  }

  // Creates a stream that does not synchronize with the default stream.
  base::Result<void*> stream() override {
    cudaStream_t stream = nullptr;
    if (auto ok =
            check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "create a stream");
        !ok)
      return base::fail(ok.error());
    return streams_.emplace_back(stream);
  }

  base::Result<void> then(void* stream, void (*done)(void*), void* of) override {
    return check(cudaLaunchHostFunc(static_cast<cudaStream_t>(stream), done, of),
                 "add a callback to a stream");
  }

  void finish(void* stream) override { cudaStreamSynchronize(static_cast<cudaStream_t>(stream)); }

 private:
  int number_;
  std::vector<cudaStream_t> streams_;
};

}  // namespace

base::Result<std::unique_ptr<compute::Streams>> make_streams(int number) {
  auto streams = std::make_unique<GpuStreams>(number);
  if (auto ok = streams->enter(); !ok) return base::fail(ok.error());
  return streams;
}

}  // namespace trainyard::cuda::module
