// SPDX-License-Identifier: GPL-3.0-or-later
// Interface of a compute device. An op is prepared once, when its shapes and addresses are known,
// and is then enqueued at every step without allocating memory. A queue executes ops in order and
// reports its progress. On a GPU a queue is a stream. On a CPU an enqueued op is complete when
// `enqueue` returns.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/compute/device_use.h"
#include "core/compute/memory.h"
#include "core/compute/tensor.h"

namespace trainyard::compute {

struct Op;  // defined in core/compute/ops.h

class Queue {
 public:
  virtual ~Queue() = default;
  // Adds a mark (like a CUDA event) after everything enqueued so far, and returns the mark's
  // number.
  virtual std::uint64_t record() = 0;
  virtual bool reached(std::uint64_t mark) = 0;  // True if everything before the mark is complete.
  // Returns the nanoseconds between the times at which two marks were reached. Both marks must be
  // among the last 64 reached ones. Returns 0 if ops run when they are enqueued.
  virtual std::int64_t between(std::uint64_t /*mark*/, std::uint64_t /*later*/) { return 0; }
  // Returns the first error of anything enqueued so far. After an error no further op runs, and
  // every mark counts as reached.
  virtual base::Result<void> state() { return {}; }
};

// Waits until everything enqueued so far is complete. If an error stopped the queue, returns the
// error.
base::Result<void> finish(Queue& queue);

// Prepared op with its shapes and addresses. Only queues of the Compute that prepared it may
// execute it, and only one at a time.
class Kernel {
 public:
  virtual ~Kernel() = default;
  virtual void enqueue(Queue& queue) = 0;
};

// Sequence of ops that is always enqueued as one unit. A GPU needs only one launch for all of them
// (CUDA graph).
class Chain {
 public:
  virtual ~Chain() = default;
  // Enqueues all ops. Returns the mark after the first op; the marks after the other ops are
  // consecutive. The chain must not be enqueued again before the last mark is reached.
  virtual std::uint64_t enqueue(Queue& queue) = 0;
};

// Arbitrary bytes by which importing processes identify the memory.
struct ExportedMemory {
  Memory memory;
  std::string name;  // Arbitrary bytes that identify the memory.
};

class Compute {
 public:
  virtual ~Compute() = default;
  virtual std::string name() const = 0;  // "cpu (oneDNN 2.6.3, avx512_core_bf16, 1 core)"
  virtual std::unique_ptr<Queue> make_queue() = 0;

  // Allocates zero-initialized memory for tensors. If `on_host` is false, only devices can access
  // the memory, and the host uses `copy`.
  virtual base::Result<Memory> allocate(std::int64_t bytes, const std::string& where) {
    return compute::allocate(bytes, where);
  }
  // Allocates memory that the host also reads and writes directly, between ops. Access by the
  // device may be slow.
  virtual base::Result<Memory> allocate_host_visible(std::int64_t bytes, const std::string& where) {
    return compute::allocate(bytes, where);
  }
  // Makes other memory of this process accessible to ops, such as memory shared with peers, until
  // the returned object is destroyed. A CPU can access all memory anyway.
  virtual base::Result<std::shared_ptr<void>> reach(std::span<std::byte>) {
    return std::shared_ptr<void>();
  }
  // Allocates memory that other processes of this host may import on the devices with the numbers
  // `to` (as in topology::Device). All these devices must be of this kind. Returns a Problem if one
  // of them cannot access the memory.
  virtual base::Result<ExportedMemory> allocate_exported(std::int64_t /*bytes*/,
                                                         std::span<const int> /*to*/,
                                                         const std::string& where) {
    return base::fail(cannot_export(where));
  }
  // Imports memory that another process of this host exported, until the returned object is
  // destroyed.
  virtual base::Result<Memory> import_memory(const std::string& /*name*/,
                                             const std::string& where) {
    return base::fail(cannot_export(where));
  }
  // True if allocated memory is host memory: this process can access it, and the system reports its
  // pages.
  virtual bool on_host() const { return true; }
  // Returns the device usage that was reported last; nothing if the device reports none.
  virtual std::optional<DeviceUse> use() const { return std::nullopt; }

  // Prepares an op. Returns a Problem that names the op if its shapes or dtypes do not fit each
  // other.
  virtual base::Result<std::unique_ptr<Kernel>> prepare(const Op& op) = 0;
  // Combines the kernels of each op into a chain; the kernels must outlive the chain. Returns null
  // if chains are not faster on this device.
  // NOLINTNEXTLINE(performance-unnecessary-value-param): others keep them
  virtual std::unique_ptr<Chain> chain(std::vector<std::vector<Kernel*>> /*ops*/) {
    return nullptr;
  }

  // destination[i] = sources[0][i] + sources[1][i] + ..., added in that order. There must be at
  // least one source. A source may be the destination itself, but must not overlap it otherwise.
  // All collectives use this sum, so all ranks round identically. fp16 and bf16 are added in fp32
  // and rounded after each addition; int32 wraps around.
  virtual void sum(DType dtype, std::byte* destination, std::span<const std::byte* const> sources,
                   std::int64_t elements) = 0;

  virtual void copy(std::byte* destination, const std::byte* source, std::int64_t bytes) = 0;
  // Copies prepared samples to the device, converting to the tensor's dtype.
  virtual void load(const Tensor& destination, std::span<const float> source) = 0;
  // Copies samples of bytes to the device. `value_of` maps each byte to its value.
  virtual void load_bytes(const Tensor& destination, std::span<const std::uint8_t> source,
                          std::span<const float, 256> value_of);

 private:
  base::Problem cannot_export(const std::string& where) const {
    return {"export_not_supported",
            base::ProblemCode::unavailable,
            where,
            name() + " cannot export memory",  // no libfmt: nvcc cannot compile its format checks
            "",
            ""};
  }
};

}  // namespace trainyard::compute
