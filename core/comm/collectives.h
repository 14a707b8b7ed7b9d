// SPDX-License-Identifier: GPL-3.0-or-later
// Interface of a library that runs collectives, such as Gloo or NCCL. It takes a buffer and reports
// completion, but not its internal traffic.
//
// Each group has its own lane (a thread or a stream). Calls of a group run in order of submission,
// which must be the same on all members. Groups do not wait for each other.
//
// Threads: one thread starts calls, polls and waits; any thread may call `wake`, `abort` and
// `state`.
//
// Shutdown: destroying the object leaves the groups. Calls on other members that still wait for
// this rank then fail, with a Problem that names it. The same happens if this process dies.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "core/base/dtype.h"
#include "core/base/reduction.h"
#include "core/base/result.h"

namespace trainyard::comm {

enum class CollectiveKind : std::uint8_t {
  all_reduce,  // every member gets the reduction of all buffers
  // every member gets its part of the reduction; the other parts of its buffer become undefined
  reduce_scatter,
  all_gather,  // every member gets the parts of all members
  broadcast,   // every member gets the root's buffer
};

// One call of a collective, which works in place on buffers of equal length. The buffer is divided
// into n nearly equal parts, of which the first ones may be longer by one element. The member at
// position p owns part p.
struct CollectiveCall {
  CollectiveKind kind = CollectiveKind::all_reduce;
  base::Reduction reduction = base::Reduction::sum;
  base::DType dtype = base::DType::fp32;
  int root = 0;  // position of the root; only for broadcast
  std::byte* data = nullptr;
  std::int64_t elements = 0;  // elements of the full buffer; may be 0
};

// These functions return the Problem for a call that an engine does not support, and for a call on
// a group without this rank.
base::Problem not_supported(const std::string& engine, const CollectiveCall& call);
base::Problem no_member(int rank, int group);

class Collectives {
 public:
  virtual ~Collectives() = default;
  virtual std::string name() const = 0;  // name and version, such as "gloo 0.5.0"
  virtual int rank() const = 0;

  // Submits a call to the lane of a group and returns immediately. The caller must not change the
  // buffer until the call is complete. Returns a Problem if the engine does not support the call,
  // or after an abort.
  virtual base::Result<void> start(int group, const CollectiveCall& call) = 0;
  // Returns the number of completed calls of the group.
  virtual base::Result<std::uint64_t> completed(int group) = 0;
  // Waits until calls may have completed since this thread last checked, but at most `limit`.
  // Returns false on timeout.
  virtual bool wait(std::chrono::microseconds limit) = 0;
  virtual void wake() = 0;  // makes the current or next wait return immediately

  // Aborts all local calls and makes every later call fail with `reason`. The first reason is kept.
  virtual void abort(const base::Problem& reason) = 0;
  // Returns a Problem with the reason after this rank aborted or a peer was lost.
  virtual base::Result<void> state() const = 0;
};

// Endpoint of a rank in an engine, before the addresses of the other ranks are known.
class BoundCollectives {
 public:
  virtual ~BoundCollectives() = default;
  virtual std::string endpoint() const = 0;  // address by which peers connect to this rank
  // Joins the groups in their order and waits for their members. `endpoints`: addresses by rank,
  // including this rank.
  virtual base::Result<std::unique_ptr<Collectives>> connect(
      const std::vector<std::string>& endpoints) = 0;
};

}  // namespace trainyard::comm

template <>
struct trainyard::base::Names<trainyard::comm::CollectiveKind> {
  using K = trainyard::comm::CollectiveKind;
  static constexpr std::pair<K, std::string_view> table[] = {{K::all_reduce, "all_reduce"},
                                                             {K::reduce_scatter, "reduce_scatter"},
                                                             {K::all_gather, "all_gather"},
                                                             {K::broadcast, "broadcast"}};
};
