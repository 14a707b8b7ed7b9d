// SPDX-License-Identifier: GPL-3.0-or-later
// Compute: interface of a device. An op is prepared once, when shapes and addresses are known, and
// then enqueued at every step; enqueueing does not allocate. A queue is the device's side of a
// lane: it keeps order and reports its progress. On a CPU an enqueued op is complete when `enqueue`
// returns; on a GPU a queue is a stream.
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

struct Op;  // core/compute/ops.h

class Queue {
 public:
  virtual ~Queue() = default;
  virtual std::uint64_t record() = 0;            // Places a mark after everything enqueued so far.
  virtual bool reached(std::uint64_t mark) = 0;  // True if everything before the mark is complete.
  // Nanoseconds between the times at which two marks were reached; both must be among the last 64
  // reached ones. 0 if ops run when they are enqueued.
  virtual std::int64_t between(std::uint64_t /*mark*/, std::uint64_t /*later*/) { return 0; }
  // Returns the first error of anything enqueued so far. After an error nothing runs, and every
  // mark counts as reached.
  virtual base::Result<void> state() { return {}; }
};

// Waits until everything enqueued so far is complete, or an error stopped the queue, which is
// returned.
base::Result<void> finish(Queue& queue);

// Prepared op with its shapes and addresses. It may be enqueued on queues of the Compute that
// prepared it, on one at a time.
class Kernel {
 public:
  virtual ~Kernel() = default;
  virtual void enqueue(Queue& queue) = 0;
};

// Chain of ops that always run one after another, enqueued as one: a GPU needs only one launch for
// all of them (CUDA graph).
class Chain {
 public:
  virtual ~Chain() = default;
  // Returns the mark after its first op; the marks of the other ops follow it. Must not be enqueued
  // again before the last mark is reached.
  virtual std::uint64_t enqueue(Queue& queue) = 0;
};

// Exported device memory, which other processes of this host may import by its name (CUDA IPC).
// Zero at first. Only devices can access it; the host uses `copy`.
struct ExportedMemory {
  Memory memory;
  std::string name;  // Arbitrary bytes.
};

class Compute {
 public:
  virtual ~Compute() = default;
  virtual std::string name() const = 0;  // "cpu (oneDNN 2.6.3, avx512_core_bf16, 1 core)"
  virtual std::unique_ptr<Queue> make_queue() = 0;

  // Allocates memory for tensors, zero at first. If the device is not on_host, only devices can
  // access it, and the host uses `copy`.
  virtual base::Result<Memory> allocate(std::int64_t bytes, const std::string& where) {
    return compute::allocate(bytes, where);
  }
  // Allocates memory that the host also reads and writes directly between ops. The device should
  // access little of it.
  virtual base::Result<Memory> allocate_host_visible(std::int64_t bytes, const std::string& where) {
    return compute::allocate(bytes, where);
  }
  // Gives ops access to other memory of this process, such as memory shared with peers, until the
  // returned object is destroyed. A CPU can access all memory.
  virtual base::Result<std::shared_ptr<void>> reach(std::span<std::byte>) {
    return std::shared_ptr<void>();
  }
  // Allocates memory to export to other processes of this host, for devices of this kind with the
  // numbers `to` (as in topology::Device). Returns a Problem if one of them cannot access it.
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
  // Last reported device usage; nothing if the device reports none.
  virtual std::optional<DeviceUse> use() const { return std::nullopt; }

  // Prepares an op. Refuses shapes and dtypes that do not fit each other, naming the op.
  virtual base::Result<std::unique_ptr<Kernel>> prepare(const Op& op) = 0;
  // Combines the kernels of each op into a chain; the kernels must outlive it. Null: the device
  // gains nothing by chains.
  // NOLINTNEXTLINE(performance-unnecessary-value-param): others keep them
  virtual std::unique_ptr<Chain> chain(std::vector<std::vector<Kernel*>> /*ops*/) {
    return nullptr;
  }

  // destination[i] = sources[0][i] + sources[1][i] + ..., added in that order. A source may be the
  // destination itself; other overlap is not allowed; at least one source. All collectives use this
  // sum, so all ranks round identically: fp16 and bf16 are added in fp32 and rounded after each
  // addition, int32 wraps around.
  virtual void sum(DType dtype, std::byte* destination, std::span<const std::byte* const> sources,
                   std::int64_t elements) = 0;

  virtual void copy(std::byte* destination, const std::byte* source, std::int64_t bytes) = 0;
  // Copies prepared samples to the device, converting to the tensor's dtype.
  virtual void load(const Tensor& destination, std::span<const float> source) = 0;
  // Same for samples as bytes, each of which stands for one of 256 values.
  virtual void load_bytes(const Tensor& destination, std::span<const std::uint8_t> source,
                          std::span<const float, 256> value_of);

 private:
  base::Problem cannot_export(const std::string& where) const {
    return {"export_not_supported",
            base::ProblemCode::unavailable,
            where,
            name() + " cannot export memory",  // nvcc cannot check formats of libfmt 9
            "",
            ""};
  }
};

}  // namespace trainyard::compute
