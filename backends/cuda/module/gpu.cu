// SPDX-License-Identifier: GPL-3.0-or-later
#include <algorithm>

#include "backends/cuda/module/cudnn/cudnn.h"
#include "backends/cuda/module/error.h"
#include "backends/cuda/module/gpu.h"
#include "backends/cuda/module/gpus.h"
#include "backends/cuda/module/graph_chain.h"
#include "backends/cuda/module/memory.h"
#include "backends/cuda/module/nvml.h"
#include "backends/cuda/module/order.h"
#include "backends/cuda/module/product.h"
#include "backends/cuda/module/stream_queue.h"
#include "core/base/units.h"
#include "core/compute/half_precision.h"

namespace trainyard::cuda::module {
namespace {

using base::Problem;
using base::ProblemCode;
using base::Result;
using compute::DType;
using compute::Tensor;

class GpuDevice final : public Device {
 public:
  static Result<std::unique_ptr<GpuDevice>> make(int number) {
    if (const auto ok = check(cudaSetDevice(number), "use GPU " + std::to_string(number)); !ok)
      return base::fail(ok.error());
    std::unique_ptr<GpuDevice> device(new GpuDevice(number));
    auto products = Products::make(*device);
    if (!products) return base::fail(products.error());
    device->products_ = std::move(*products);
    auto convolutions =
        cudnn::open([own = device.get()](std::int64_t bytes) { return own->allocate(bytes); });
    if (convolutions) device->convolutions_ = std::move(*convolutions);
    else device->no_convolutions_ = convolutions.error().what;
    return device;
  }

  // Returns the names and versions of the libraries in use.
  std::string libraries() const {
    return "cuBLASLt " + std::to_string(cublasLtGetVersion()) +
           (convolutions_ ? ", " + convolutions_->name() : ", no cuDNN: " + no_convolutions_);
  }

  bool reaches(const std::byte* place) override { return module::reaches(number_, place); }

  // True if cuBLASLt fuses the activation: it adds bias and relu to the fp32 sum.
  bool fuses(DType result, compute::Activation activation) const override {
    return result != DType::fp64 && activation != compute::Activation::tanh;
  }
  Result<Run> product(const Product& product) override { return products_->product(product); }
  Result<std::optional<Run>> convolution(const Convolution& convolution) override {
    if (!convolutions_) return std::nullopt;
    return convolutions_->convolution(convolution)
        .map([](std::optional<cudnn::Work> work) -> std::optional<Run> {
          if (!work)
            static_cast<void>(
                // Clears CUDA's error of the failed preparation, which a queue would otherwise
                // report.
                cudaGetLastError());
          if (!work) return std::nullopt;
          return [work = std::move(*work)](Stream& stream) {
            if (auto made = work(stream.handle); !made && !stream.refused)
              stream.refused = std::move(made.error());
          };
        });
  }
  Result<Run> order(const std::int32_t* keys, std::int32_t* places, std::int64_t count,
                    std::int32_t below) override {
    return module::order(*this, keys, places, count, below);
  }

 private:
  explicit GpuDevice(int number) : number_(number) {}
  Result<Memory> take(std::int64_t bytes) override { return allocate_on_gpu(number_, bytes); }
  Result<Memory> take_zeros(std::int64_t bytes) override {
    return allocate_zeros_on_gpu(number_, bytes);
  }

  int number_;
  std::unique_ptr<Products> products_;
  // Convolutions by cuDNN. Null if cuDNN is not available; the next member says why.
  std::unique_ptr<cudnn::Convolutions> convolutions_;
  std::string no_convolutions_;
};

// Copies bytes between host and device memory in either direction, in the order of the stream.
cudaError_t copy_async(Stream& stream, std::byte* to, const std::byte* from, std::int64_t bytes) {
  return cudaMemcpyAsync(to, from, static_cast<std::size_t>(bytes), cudaMemcpyDefault,
                         stream.handle);
}

// Converts a host array of samples to `dtype`, in page-locked memory.
void convert(DType dtype, std::span<const float> source, std::byte* to) {
  const auto count = static_cast<std::int64_t>(source.size());
  if (dtype == DType::fp32) std::copy(source.begin(), source.end(), reinterpret_cast<float*>(to));
  if (dtype == DType::fp64) std::copy(source.begin(), source.end(), reinterpret_cast<double*>(to));
  if (dtype == DType::int32)
    std::transform(source.begin(), source.end(), reinterpret_cast<std::int32_t*>(to),
                   [](float x) { return static_cast<std::int32_t>(x); });
  if (compute::is_half(dtype)) compute::round(dtype, source.data(), to, count);
}

constexpr std::int64_t kStageBytes = std::int64_t{16} << 20,
                       kPieceUnit = 64;  // elements; pieces begin at aligned addresses

class GpuCompute final : public compute::Compute {
 public:
  GpuCompute(Gpu gpu, std::unique_ptr<GpuDevice> device, std::unique_ptr<GpuQueue> queue,
             Memory stage)
      : gpu_(std::move(gpu)),
        device_(std::move(device)),
        queue_(std::move(queue)),
        stage_(std::move(stage)) {
    if (auto meter = GpuMeter::watch(gpu_.bus)) meter_ = std::move(*meter);
  }

  std::string name() const override {
    return "cuda (GPU " + std::to_string(gpu_.number) + ", " + gpu_.name + ", " +
           std::to_string(gpu_.capability / 10) + "." + std::to_string(gpu_.capability % 10) +
           ", " + device_->libraries() + ")";
  }
  // Creates a queue. If that fails, the queue refuses all work, and its state() returns the reason.
  std::unique_ptr<compute::Queue> make_queue() override {
    auto made = GpuQueue::make(gpu_.number, failed_);
    return made ? std::move(*made) : GpuQueue::broken(gpu_.number, made.error());
  }
  Result<std::unique_ptr<compute::Kernel>> prepare(const compute::Op& op) override {
    cudaSetDevice(gpu_.number);
    return cuda::prepare(*device_, op);
  }
  std::unique_ptr<compute::Chain> chain(std::vector<std::vector<compute::Kernel*>> ops) override {
    return make_graph_chain(gpu_.number, std::move(ops));
  }

  Result<Memory> allocate(std::int64_t bytes, const std::string& where) override {
    cudaSetDevice(gpu_.number);
    return allocate_zeros_on_gpu(gpu_.number, bytes).map_error([&](const Problem& problem) {
      return at(where, problem);
    });
  }
  Result<Memory> allocate_host_visible(std::int64_t bytes, const std::string& where) override {
    cudaSetDevice(gpu_.number);
    return module::allocate_on_host(bytes)
        .map_error([&](const Problem& problem) { return at(where, problem); })
        .map([bytes](Memory memory) {
          std::fill_n(memory.get(), bytes, std::byte{});
          return memory;
        });
  }
  Result<std::shared_ptr<void>> reach(std::span<std::byte> memory) override {
    return lock(gpu_.number, memory);
  }
  Result<compute::ExportedMemory> allocate_exported(std::int64_t bytes, std::span<const int> to,
                                                    const std::string& where) override {
    cudaSetDevice(gpu_.number);
    return module::allocate_exported(gpu_.number, bytes, to).map_error([&](const Problem& problem) {
      return at(where, problem);
    });
  }
  Result<Memory> import_memory(const std::string& name, const std::string& where) override {
    cudaSetDevice(gpu_.number);
    return module::import_memory(gpu_.number, name).map_error([&](const Problem& problem) {
      return at(where, problem);
    });
  }
  bool on_host() const override { return false; }
  std::optional<compute::DeviceUse> use() const override {
    return meter_ ? meter_->use() : std::nullopt;
  }

  // Sums the sources. Some are first copied to the GPU, piece by piece: those that the GPU cannot
  // access (messages from sockets), and those that the destination would overwrite before they are
  // read.
  void sum(DType dtype, std::byte* destination, std::span<const std::byte* const> sources,
           std::int64_t elements) override {
    cudaSetDevice(gpu_.number);
    const auto size = static_cast<std::int64_t>(base::size_of(dtype));
    std::int64_t away = 0;
    for (std::size_t s = 0; s < sources.size(); ++s)
      away += is_remote(sources, s, destination) ? 1 : 0;
    const std::int64_t piece =
        away == 0
            ? elements
            : std::max<std::int64_t>(1, kStageBytes / (away * size) / kPieceUnit) * kPieceUnit;
    for (std::int64_t done = 0; done < elements; done += piece) {
      const std::int64_t some = std::min(piece, elements - done);
      cuda::sum(queue_->stream(), dtype, destination + done * size,
                staged_sources(sources, destination, done * size, some * size), some);
    }
    finish();
  }
  void copy(std::byte* destination, const std::byte* source, std::int64_t bytes) override {
    cudaSetDevice(gpu_.number);
    failed_->note(copy_async(queue_->stream(), destination, source, bytes));
    finish();
  }
  void load(const Tensor& destination, std::span<const float> source) override {
    if (destination.bytes() > room_bytes_) make_room(destination.bytes());
    convert(destination.dtype, source, room_.get());
    copy(destination.data, room_.get(), destination.bytes());
  }
  // Sends samples as bytes over the bus instead of as fp32 values, which are four times as much
  // data.
  void load_bytes(const Tensor& destination, std::span<const std::uint8_t> source,
                  std::span<const float, 256> value_of) override {
    cudaSetDevice(gpu_.number);
    if (destination.dtype == DType::int32 || source.empty() ||
        !reaches(gpu_.number, reinterpret_cast<const std::byte*>(source.data())))
      return Compute::load_bytes(destination, source, value_of);
    failed_->note(copy_async(queue_->stream(), stage_.get(),
                             reinterpret_cast<const std::byte*>(value_of.data()),
                             static_cast<std::int64_t>(value_of.size_bytes())));
    decode(queue_->stream(), destination, source.data(),
           reinterpret_cast<const float*>(stage_.get()));
    finish();
  }

 private:
  static Problem at(const std::string& where, Problem problem) {
    problem.where = where + ", " + problem.where;
    return problem;
  }

  bool is_remote(std::span<const std::byte* const> sources, std::size_t s,
                 const std::byte* destination) const {
    return !reaches(gpu_.number, sources[s]) || (s >= kMaxSources && sources[s] == destination);
  }

  // Returns bytes [from, from + bytes) of each source, copied where necessary so that the GPU can
  // access them.
  std::span<const std::byte* const> staged_sources(std::span<const std::byte* const> sources,
                                                   const std::byte* destination, std::int64_t from,
                                                   std::int64_t bytes) {
    brought_.clear();
    std::byte* free = stage_.get();
    for (std::size_t s = 0; s < sources.size(); ++s) {
      brought_.push_back(sources[s] + from);
      if (!is_remote(sources, s, destination)) continue;
      failed_->note(copy_async(queue_->stream(), free, sources[s] + from, bytes));
      brought_.back() = free;
      free += bytes;
    }
    return brought_;
  }

  // Allocates page-locked memory. Falls back to slower pageable memory if no more can be locked.
  void make_room(std::int64_t bytes) {
    auto locked = allocate_on_host(bytes);
    room_ = locked ? std::move(*locked)
                   : Memory(new std::byte[static_cast<std::size_t>(bytes)],
                            std::default_delete<std::byte[]>());
    room_bytes_ = bytes;
  }
  void finish() { failed_->note(cudaStreamSynchronize(queue_->stream().handle)); }

  Gpu gpu_;
  std::unique_ptr<GpuMeter> meter_;  // null if NVML is not available
  std::unique_ptr<GpuDevice> device_;
  std::unique_ptr<GpuQueue> queue_;  // for sums and copies
  // First CUDA error of sums and copies.
  const std::shared_ptr<FirstError> failed_ = std::make_shared<FirstError>();
  Memory stage_;  // kStageBytes bytes on the GPU
  std::vector<const std::byte*> brought_;
  Memory room_;
  std::int64_t room_bytes_ = 0;
};

}  // namespace

Result<std::unique_ptr<compute::Compute>> make_compute(int number) {
  const auto all = gpus();
  if (!all) return base::fail(all.error());
  if (number < 0 || number >= std::ssize(*all))
    return base::fail({"unknown_gpu", ProblemCode::bad_input, "GPU " + std::to_string(number),
                       "this machine has no such GPU", "0 to " + std::to_string(all->size() - 1),
                       ""});
  if (const std::string why = unusable((*all)[static_cast<std::size_t>(number)]); !why.empty())
    return base::fail({"gpu_unavailable", ProblemCode::unavailable, "GPU " + std::to_string(number),
                       why, "", "Use a newer GPU, or the CPU."});
  auto device = GpuDevice::make(number);
  if (!device) return base::fail(device.error());
  auto queue = GpuQueue::make(number);
  if (!queue) return base::fail(queue.error());
  auto stage = allocate_on_gpu(number, kStageBytes);
  if (!stage) return base::fail(stage.error());
  return std::make_unique<GpuCompute>((*all)[static_cast<std::size_t>(number)], std::move(*device),
                                      std::move(*queue), std::move(*stage));
}

}  // namespace trainyard::cuda::module
