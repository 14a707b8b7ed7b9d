// SPDX-License-Identifier: GPL-3.0-or-later
#include "backends/cpu/cpu.h"

#include <cblas.h>
#include <fmt/core.h>
#include <sys/mman.h>

#include <algorithm>
#include <vector>

#include "backends/cpu/copy.h"
#include "backends/cpu/half_fallback.h"
#include "backends/cpu/kernels.h"
#include "backends/cpu/prepare.h"
#include "backends/cpu/queue.h"
#include "core/base/units.h"
#include "core/compute/compression/kernels.h"
#include "core/compute/half_precision.h"
#include "core/compute/validate.h"

namespace trainyard::cpu {
namespace {

using compute::DType;
using compute::Tensor;

std::string_view isa_name() {
  switch (dnnl::get_effective_cpu_isa()) {
    case dnnl::cpu_isa::sse41: return "sse41";
    case dnnl::cpu_isa::avx: return "avx";
    case dnnl::cpu_isa::avx2: return "avx2";
    case dnnl::cpu_isa::avx2_vnni: return "avx2_vnni";
    case dnnl::cpu_isa::avx512_core: return "avx512_core";
    case dnnl::cpu_isa::avx512_core_vnni: return "avx512_core_vnni";
    case dnnl::cpu_isa::avx512_core_bf16: return "avx512_core_bf16";
    default: return "newest";
  }
}

template <class Value>
void convert(std::span<const float> source, Value* destination) {
  std::transform(source.begin(), source.end(), destination,
                 [](float value) { return static_cast<Value>(value); });
}

void sum_integers(std::uint32_t* destination, std::span<const std::byte* const> sources,
                  std::int64_t elements) {
  for (std::int64_t i = 0; i < elements; ++i) {
    std::uint32_t sum = 0;
    for (const std::byte* source : sources)
      sum += reinterpret_cast<const std::uint32_t*>(source)[i];
    destination[i] = sum;
  }
}

// True if oneDNN computes in bf16 without conversion to fp32.
bool is_native(const Tensor& tensor) {
  return tensor.dtype == DType::bf16 && multiplies_bfloat16();
}

// True if the op is prepared directly on tensors of 16 bits, without fp32 copies.
template <class OneOp>
bool supports_half(const OneOp&) {
  return false;
}
bool supports_half(const compute::Copy&) { return true; }
bool supports_half(const compute::Zero&) { return true; }
bool supports_half(const compute::GeluForward& op) { return is_native(op.input); }
bool supports_half(const compute::GeluBackward& op) { return is_native(op.input); }
bool supports_half(const compute::LinearForward& op) { return is_native(op.input); }
bool supports_half(const compute::LinearBackwardInput& op) { return is_native(op.weight); }
bool supports_half(const compute::LinearBackwardWeight& op) { return is_native(op.input); }

class CpuCompute final : public compute::Compute {
 public:
  explicit CpuCompute(int cores)
      : device_{dnnl::engine(dnnl::engine::kind::cpu, 0), cores,
                std::make_shared<WideningScratch>()} {
    openblas_set_num_threads(std::min(openblas_get_num_threads(), cores));
  }

  std::string name() const override {
    const dnnl_version_t* version = dnnl_version();
    return fmt::format("cpu (oneDNN {}.{}.{}, {}, {})", version->major, version->minor,
                       version->patch, isa_name(), base::counted(device_.cores, "core"));
  }

  std::unique_ptr<compute::Queue> make_queue() override {
    return std::make_unique<CpuQueue>(device_.engine);
  }

  PreparedKernel prepare(const compute::Op& op) override {
    if (const auto fits = compute::validate(op); !fits) return base::fail(fits.error());
    return std::visit(
        [this](const auto& one) {
          return compute::has_half_tensors(one) && !supports_half(one)
                     ? prepare_through_fp32(one, device_)
                     : cpu::prepare(one, device_);
        },
        op);
  }

  void sum(DType dtype, std::byte* destination, std::span<const std::byte* const> sources,
           std::int64_t elements) override {
    if (dtype == DType::fp32)
      kernels<float>().sum(reinterpret_cast<float*>(destination), sources.data(), sources.size(),
                           elements);
    if (dtype == DType::fp64)
      kernels<double>().sum(reinterpret_cast<double*>(destination), sources.data(), sources.size(),
                            elements);
    if (dtype == DType::int32)
      sum_integers(reinterpret_cast<std::uint32_t*>(destination), sources, elements);
    compute::compression::sum_halves(dtype, destination, sources, elements);
  }

  void copy(std::byte* destination, const std::byte* source, std::int64_t bytes) override {
    copier_.copy(destination, source, bytes);
  }

  void load(const Tensor& destination, std::span<const float> source) override {
    if (destination.dtype == DType::fp32) convert(source, destination.as<float>());
    if (destination.dtype == DType::fp64) convert(source, destination.as<double>());
    if (compute::is_half(destination.dtype))
      round(destination.dtype, source.data(), destination.data, destination.elements(),
            device_.cores);
    if (destination.dtype == DType::int32) convert(source, destination.as<std::int32_t>());
  }

 private:
  Device device_;
  Copier copier_;
};

// Lets OpenBLAS allocate its buffers, which it keeps until the process ends. It allocates them at
// its first product, and if the system refuses the memory (ulimit -v), it tries without end.
// Therefore checks first that there is memory. A process with little memory then fails with a
// message, now or when it allocates something else.
base::Result<void> reserve_blas_buffers(int cores) {
  // A buffer has 128 MiB. OpenBLAS maps twice as much for a moment, to choose the address.
  constexpr std::size_t kBufferBytes = 300'000'000;
  constexpr int kSize = 256;  // enough for all threads to take part
  const std::size_t bytes = kBufferBytes * static_cast<std::size_t>(cores);
  void* const memory = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                              MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED)
    return base::fail({"address_space_too_small", base::ProblemCode::unavailable, "ulimit -v",
                       fmt::format("the system refuses {} of memory for matrix products (OpenBLAS)",
                                   base::format_bytes(static_cast<double>(bytes))),
                       "", "Raise the limit of the address space (ulimit -v)."});
  ::munmap(memory, bytes);
  const std::vector<float> factor(kSize * kSize, 1.0F);
  std::vector<float> product(factor.size());
  cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, kSize, kSize, kSize, 1, factor.data(),
              kSize, factor.data(), kSize, 0, product.data(), kSize);
  return {};
}

}  // namespace

base::Result<std::unique_ptr<compute::Compute>> make(int cores) {
  if (cores < 1)
    return base::fail({"out_of_range", base::ProblemCode::bad_input, "device.cores",
                       fmt::format("the number of cores is {}", cores), "1 or more",
                       "Set the cores of the device to 1 or more."});
  try {
    auto compute = std::make_unique<CpuCompute>(cores);
    static const base::Result<void> reserved = reserve_blas_buffers(cores);  // once per process
    if (!reserved) return base::fail(reserved.error());
    return compute;
  } catch (const dnnl::error& error) {
    return base::fail({"onednn_failed", base::ProblemCode::unavailable, "oneDNN",
                       fmt::format("oneDNN cannot use this CPU: {}", error.what()),
                       "an x86-64 CPU with SSE 4.1", "Run this rank on another machine."});
  }
}

}  // namespace trainyard::cpu
