// SPDX-License-Identifier: GPL-3.0-or-later
// What a device can do. An op is prepared once, when shapes and addresses are known, and then
// enqueued at every step; enqueueing allocates nothing. A queue is the device's side of a lane: it
// keeps order and can be asked how far it is. On a CPU an enqueued op has run when `enqueue`
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
#include "core/compute/ops.h"

namespace trainyard::compute {

class Queue {
 public:
  virtual ~Queue() = default;
  virtual std::uint64_t record() = 0;            // a mark after everything enqueued so far
  virtual bool reached(std::uint64_t mark) = 0;  // whether everything before the mark has run
  // How long after the one mark the other was reached, in nanoseconds, of two among the last 64
  // that both were; 0 where an op has run when it is enqueued.
  virtual std::int64_t between(std::uint64_t /*mark*/, std::uint64_t /*later*/) { return 0; }
  // What went wrong with anything enqueued so far: after that nothing runs, and every mark counts
  // as reached.
  virtual base::Result<void> state() { return {}; }
};

// Returns when everything enqueued so far has run, or nothing runs any more: then why.
base::Result<void> finish(Queue& queue);

// An op with its shapes and addresses. It goes on queues of the Compute that prepared it, on one at
// a time.
class Kernel {
 public:
  virtual ~Kernel() = default;
  virtual void enqueue(Queue& queue) = 0;
};

// Ops that always go one after the other, as one: a GPU is asked but once for all of them.
class Chain {
 public:
  virtual ~Chain() = default;
  // Returns the mark after its first op; those after the others follow it. Not again before the
  // last of them is reached.
  virtual std::uint64_t enqueue(Queue& queue) = 0;
};

// Memory of a device that other processes of this host may have as theirs, by its name. Zero at
// first. Only devices reach it: what the host wants of it, `copy` brings.
struct Lendable {
  Memory memory;
  std::string name;  // bytes of any kind
};

class Compute {
 public:
  virtual ~Compute() = default;
  virtual std::string name() const = 0;  // "cpu (oneDNN 2.6.3, avx512_core_bf16, 1 core)"
  virtual std::unique_ptr<Queue> make_queue() = 0;

  // Where tensors lie, zero at first. Of a device that is not on_host only devices reach it: what
  // the host wants of it, and makes for it, `copy` brings.
  virtual base::Result<Memory> allocate(std::int64_t bytes, const std::string& where) {
    return compute::allocate(bytes, where);
  }
  // Which the host reaches as well: it looks there between ops, or writes, and the device touches
  // but little of it.
  virtual base::Result<Memory> allocate_at_hand(std::int64_t bytes, const std::string& where) {
    return compute::allocate(bytes, where);
  }
  // Lets ops reach other memory of this process, as what peers share, until what is returned is
  // gone. A CPU reaches all.
  virtual base::Result<std::shared_ptr<void>> reach(std::span<std::byte>) {
    return std::shared_ptr<void>();
  }
  // For other processes of this host, on devices of this kind with these numbers (as
  // topology::Device counts). A Problem where one of them would not reach it.
  virtual base::Result<Lendable> allocate_to_lend(std::int64_t /*bytes*/,
                                                  std::span<const int> /*to*/,
                                                  const std::string& where) {
    return base::fail(lends_nothing(where));
  }
  // What another process of this host allocated to lend, until what is returned is gone.
  virtual base::Result<Memory> borrow(const std::string& /*name*/, const std::string& where) {
    return base::fail(lends_nothing(where));
  }
  // Whether what was allocated is in the host's memory: this process reaches it, and the system
  // tells of its pages.
  virtual bool on_host() const { return true; }
  // As the device said last; nothing of one that does not say.
  virtual std::optional<DeviceUse> use() const { return std::nullopt; }

  // Refuses shapes and dtypes that do not fit each other, naming the op.
  virtual base::Result<std::unique_ptr<Kernel>> prepare(const Op& op) = 0;
  // Of kernels, op by op, that stay as long as it does; null: the device gains nothing.
  // NOLINTNEXTLINE(performance-unnecessary-value-param): others keep them
  virtual std::unique_ptr<Chain> chain(std::vector<std::vector<Kernel*>> /*ops*/) {
    return nullptr;
  }

  // destination[i] = sources[0][i] + sources[1][i] + ..., added in that order. A source may be the
  // destination itself; other overlap is not allowed; there is at least one source. This is the one
  // sum of every collective, so all ranks round alike: fp16 and bf16 are added in fp32 and rounded
  // after each addition, int32 wraps around.
  virtual void sum(DType dtype, std::byte* destination, std::span<const std::byte* const> sources,
                   std::int64_t elements) = 0;

  virtual void copy(std::byte* destination, const std::byte* source, std::int64_t bytes) = 0;
  // Brings prepared samples to the device, converting to the tensor's dtype.
  virtual void load(const Tensor& destination, std::span<const float> source) = 0;
  // Of samples as bytes, each of which stands for one of these values.
  virtual void load_bytes(const Tensor& destination, std::span<const std::uint8_t> source,
                          std::span<const float, 256> value_of);

 private:
  base::Problem lends_nothing(const std::string& where) const {
    return {base::ProblemCode::unavailable, where, name() + " lends no memory", "", ""};
  }
};

}  // namespace trainyard::compute
