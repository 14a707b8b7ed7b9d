// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/backends/cuda/host/host_device.h"

#include <algorithm>
#include <barrier>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <mutex>
#include <thread>
#include <vector>

#include "backends/cuda/module/cudnn/cudnn.h"
#include "backends/cuda/module/numbers.h"
#include "backends/cuda/module/prepare.h"
#include "core/base/units.h"
#include "tests/backends/cuda/host/exported_memory.h"
#include "tests/backends/cuda/library/tf32.h"

namespace trainyard::cuda {
namespace {

using base::Result;

// Returns element (row, column) of a factor after its transposition, if it is transposed.
double factor_at(const Tensor& factor, bool transposed, std::int64_t rows, std::int64_t columns,
                 std::int64_t row, std::int64_t column, bool tf32) {
  const auto number =
      get<double>(factor, transposed ? column * rows + row : row * columns + column);
  return tf32 && factor.dtype == DType::fp32 ? stand_in::to_tf32(static_cast<float>(number))
                                             : number;
}

void multiply(const Product& p) {
  for (std::int64_t row = 0; row < p.m; ++row)
    for (std::int64_t column = 0; column < p.n; ++column) {
      const std::int64_t at = row * p.n + column;
      double sum = (p.accumulates ? get<double>(p.result, at) : 0) +
                   (p.bias.empty() ? 0 : get<double>(p.bias, column));
      for (std::int64_t i = 0; i < p.k; ++i)
        sum += factor_at(p.left, p.left_transposed, p.m, p.k, row, i, p.tf32) *
               factor_at(p.right, p.right_transposed, p.k, p.n, i, column, p.tf32);
      put(p.result, at, activate(p.activation, sum));
    }
}

class Threads final : public ThreadTeam {
 public:
  explicit Threads(int size) : meet_(size) {
    for (int rank = 1; rank < size; ++rank) others_.emplace_back([this, rank] { serve(rank); });
  }
  ~Threads() override { run(nullptr, nullptr); }

  int size() const override { return static_cast<int>(others_.size()) + 1; }
  void sync() override { meet_.arrive_and_wait(); }
  std::array<Ranked, kMaxThreads>& said() override { return said_; }
  void run(Task task, const void* with) override {
    task_ = task, with_ = with;
    sync();
    if (task == nullptr) return;
    task(with, 0);
    sync();
  }

 private:
  void serve(int rank) {
    for (sync(); task_ != nullptr; sync()) {
      task_(with_, rank);
      sync();
    }
  }

  std::barrier<> meet_;
  std::array<Ranked, kMaxThreads> said_{};
  Task task_ = nullptr;
  const void* with_ = nullptr;
  std::vector<std::jthread> others_;
};

// Memory that the devices of this process can access, each range as long as its handle lives.
class Places : public std::enable_shared_from_this<Places> {
 public:
  static std::shared_ptr<Places> of_process() {
    static const auto places = std::make_shared<Places>();
    return places;
  }
  std::shared_ptr<void> add(const std::byte* begin, std::int64_t bytes) {
    const std::scoped_lock lock(mutex_);
    ends_.insert_or_assign(begin, begin + bytes);
    return {const_cast<std::byte*>(begin), [all = shared_from_this()](void* gone) {
              const std::scoped_lock forgetting(all->mutex_);
              all->ends_.erase(static_cast<const std::byte*>(gone));
            }};
  }
  bool have(const std::byte* place) {
    const std::scoped_lock lock(mutex_);
    const auto after = ends_.upper_bound(place);
    return after != ends_.begin() && place < std::prev(after)->second;
  }

 private:
  std::mutex mutex_;
  std::map<const std::byte*, const std::byte*> ends_;
};

class HostQueue final : public StreamQueue {
 public:
  HostQueue(ThreadTeam* crew, std::int64_t breaks_after) : breaks_after_(breaks_after) {
    stream_->crew = crew;
  }
  Stream& stream() override { return *stream_; }
  std::uint64_t record() override { return ++marks_; }
  bool reached(std::uint64_t) override { return true; }
  Result<void> state() override {
    if (stream_->refused) return base::fail(*stream_->refused);
    if (static_cast<std::int64_t>(marks_) <= breaks_after_) return {};
    return base::fail({"made_by_test", base::ProblemCode::failed, "cuda",
                       "cannot run what was asked of it: it broke, as it should", "", ""});
  }

 private:
  std::int64_t breaks_after_;
  std::unique_ptr<Stream> stream_ = std::make_unique<Stream>();
  std::uint64_t marks_ = 0;
};

Memory allocate_new(std::int64_t bytes) {
  // Ends exactly where it is asked to end, for sanitizers, and is no zeros.
  Memory memory(new std::byte[static_cast<std::size_t>(bytes)], std::default_delete<std::byte[]>());
  std::fill_n(memory.get(), bytes, std::byte{0xA5});
  return memory;
}

// Fusion as in cuBLASLt: a bias and relu, of fp32 and of 16 bits.
class HostDevice final : public Device {
 public:
  // A device without address ranges accesses all memory.
  HostDevice(std::shared_ptr<Places> places, const std::string& cudnn)
      : places_(std::move(places)) {
    if (!cudnn.empty()) convolutions_ = std::move(cudnn::open(allocate_new, cudnn).value());
  }

  bool reaches(const std::byte* place) override { return !places_ || places_->have(place); }
  bool fuses(DType result, Activation activation) const override {
    return result != DType::fp64 && activation != Activation::tanh;
  }
  Result<Run> product(const Product& product) override {
    return Run([product](Stream&) { multiply(product); });
  }
  Result<std::optional<Run>> convolution(const Convolution& convolution) override {
    if (!convolutions_) return std::nullopt;
    return convolutions_->convolution(convolution)
        .map([](std::optional<cudnn::Work> work) -> std::optional<Run> {
          if (!work) return std::nullopt;
          return [work = std::move(*work)](Stream& stream) {
            if (auto made = work(nullptr); !made && !stream.refused)
              stream.refused = std::move(made.error());
          };
        });
  }
  Result<Run> order(const std::int32_t* keys, std::int32_t* places, std::int64_t count,
                    std::int32_t) override {
    return Run([=](Stream&) {
      for (std::int64_t i = 0; i < count; ++i) places[i] = static_cast<std::int32_t>(i);
      std::sort(places, places + count, [&](std::int32_t a, std::int32_t b) {
        return keys[a] != keys[b] ? keys[a] < keys[b] : a < b;
      });
    });
  }

 private:
  Result<Memory> take(std::int64_t bytes) override { return allocate_new(bytes); }
  Result<Memory> take_zeros(std::int64_t bytes) override {
    return take(bytes).map([bytes](Memory memory) {
      std::fill_n(memory.get(), bytes, std::byte{});
      return memory;
    });
  }

  std::shared_ptr<Places> places_;
  std::unique_ptr<cudnn::Convolutions> convolutions_;
};

class DeviceKernel final : public compute::Kernel {
 public:
  explicit DeviceKernel(std::unique_ptr<compute::Kernel> kernel) : kernel_(std::move(kernel)) {}
  void enqueue(compute::Queue& queue) override {
    const AsDevice here;
    kernel_->enqueue(queue);
  }

 private:
  std::unique_ptr<compute::Kernel> kernel_;
};

class HostCompute final : public compute::Compute {
 public:
  explicit HostCompute(const OnHost& how)
      : how_(how),
        crew_(how.team > 1 ? std::make_unique<Threads>(how.team) : nullptr),
        places_(how.own_memory ? Places::of_process() : nullptr) {}
  std::string name() const override { return "kernels of the GPU on the host"; }
  std::unique_ptr<compute::Queue> make_queue() override {
    return std::make_unique<HostQueue>(crew_.get(), how_.breaks_after);
  }
  Result<std::unique_ptr<compute::Kernel>> prepare(const compute::Op& op) override {
    return cuda::prepare(device_, op).map([](auto kernel) -> std::unique_ptr<compute::Kernel> {
      return std::make_unique<DeviceKernel>(std::move(kernel));
    });
  }
  Result<Memory> allocate(std::int64_t bytes, const std::string& where) override {
    if (bytes > how_.memory_bytes)  // as that of a GPU says it
      return base::fail({"made_by_test", base::ProblemCode::unavailable, where,
                         "cannot allocate " + base::format_bytes(static_cast<double>(bytes)), "",
                         "Use a smaller batch or model, or run fewer ranks on this GPU."});
    return (places_ ? make_own(bytes) : compute::allocate(bytes, where)).map([&](Memory memory) {
      return reached(std::move(memory), bytes);
    });
  }
  Result<Memory> allocate_host_visible(std::int64_t bytes, const std::string& where) override {
    return compute::allocate(bytes, where).map([&](Memory memory) {
      return reached(std::move(memory), bytes);
    });
  }
  Result<compute::ExportedMemory> allocate_exported(std::int64_t bytes, std::span<const int> to,
                                                    const std::string& where) override {
    if (!how_.exports) return Compute::allocate_exported(bytes, to, where);
    return export_host_memory(bytes).map([&](compute::ExportedMemory exported) {
      return compute::ExportedMemory{reached(std::move(exported.memory), bytes),
                                     std::move(exported.name)};
    });
  }
  Result<Memory> import_memory(const std::string& name, const std::string&) override {
    return import_host_memory(name).map([&](std::pair<Memory, std::int64_t> opened) {
      return reached(std::move(opened.first), opened.second);
    });
  }
  bool on_host() const override { return !how_.own_memory; }
  std::optional<compute::DeviceUse> use() const override { return how_.use; }
  Result<std::shared_ptr<void>> reach(std::span<std::byte> memory) override {
    return places_ ? places_->add(memory.data(), std::ssize(memory)) : std::shared_ptr<void>();
  }
  void sum(DType dtype, std::byte* destination, std::span<const std::byte* const> sources,
           std::int64_t elements) override {
    if (elements > 0 && !device_.reaches(destination)) {
      std::fputs("a sum goes to memory that the device does not reach\n", stderr);
      std::abort();
    }
    const AsDevice here;
    std::vector<const std::byte*> places(sources.begin(), sources.end());
    const std::vector<std::byte> kept(
        destination, destination + elements * static_cast<std::int64_t>(base::size_of(dtype)));
    for (std::size_t s = kMaxSources; s < places.size(); ++s)
      if (places[s] == destination) places[s] = kept.data();  // else it is overwritten too early
    cuda::sum(queue_.stream(), dtype, destination, places, elements);
  }
  void copy(std::byte* destination, const std::byte* source, std::int64_t bytes) override {
    const AsDevice here;
    std::copy_n(source, bytes, destination);
  }
  void load(const Tensor& destination, std::span<const float> source) override {
    const AsDevice here;
    for (std::size_t i = 0; i < source.size(); ++i) {
      if (destination.dtype == DType::int32)
        as<std::int32_t>(destination)[i] = static_cast<std::int32_t>(source[i]);
      else put(destination, static_cast<std::int64_t>(i), source[i]);
    }
  }
  void load_bytes(const Tensor& destination, std::span<const std::uint8_t> source,
                  std::span<const float, 256> value_of) override {
    if (destination.dtype == DType::int32 ||
        !device_.reaches(reinterpret_cast<const std::byte*>(source.data())))
      return Compute::load_bytes(destination, source, value_of);
    const AsDevice here;
    decode(queue_.stream(), destination, source.data(), value_of.data());
  }

 private:
  // The same, known to be reached as long as it lives.
  Memory reached(Memory memory, std::int64_t bytes) {
    if (!places_) return memory;
    std::byte* const begin = memory.get();
    return Memory(begin, [memory, place = places_->add(begin, bytes)](std::byte*) {});
  }

  OnHost how_;
  std::unique_ptr<Threads> crew_;
  std::shared_ptr<Places> places_;
  HostDevice device_{places_, how_.cudnn};
  HostQueue queue_{crew_.get(), std::numeric_limits<std::int64_t>::max()};
};

}  // namespace

std::unique_ptr<compute::Compute> on_host(const OnHost& how) {
  return std::make_unique<HostCompute>(how);
}

}  // namespace trainyard::cuda
