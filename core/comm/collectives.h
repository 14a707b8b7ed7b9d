// SPDX-License-Identifier: GPL-3.0-or-later
// A library that carries out whole collectives: Gloo, NCCL. It is given a buffer and says when it
// is done; what it sends meanwhile, to whom and how much, it does not say.
//
// Each group has a lane of its own (a thread, a stream): its calls are carried out one after
// another, in the order in which they were handed over, which must be the same on all its members.
// Groups do not wait for each other.
//
// Threads: one starts, asks and waits; `wake`, `abort` and `state` may be called from any.
//
// Ends: destroying it is leaving. What peers still wait for then fails there, with a Problem that
// names this rank. So it does when this process dies.
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
  all_reduce,      // all have what all had, reduced
  reduce_scatter,  // each has its part of that; the rest of its buffer means nothing any more
  all_gather,      // all have the parts of all
  broadcast,       // all have what the root has
};

// In place: a buffer of one length on every member. The part of the member at position p is the
// p-th of as many nearly equal ones, the first of which are longer by one element.
struct CollectiveCall {
  CollectiveKind kind = CollectiveKind::all_reduce;
  base::Reduction reduction = base::Reduction::sum;
  base::DType dtype = base::DType::fp32;
  int root = 0;  // position; of broadcast
  std::byte* data = nullptr;
  std::int64_t elements = 0;  // of the whole buffer; may be 0
};

// Of a call that an engine does not support, and of one for a group that the rank is no member of.
base::Problem not_supported(const std::string& engine, const CollectiveCall& call);
base::Problem no_member(int rank, int group);

class Collectives {
 public:
  virtual ~Collectives() = default;
  virtual std::string name() const = 0;  // "gloo 0.5.0"
  virtual int rank() const = 0;

  // Hands a call to the lane of a group, and returns at once. The buffer stays as it is until the
  // call is complete. A Problem: the engine does not support it, or nothing works any more.
  virtual base::Result<void> start(int group, const CollectiveCall& call) = 0;
  // How many calls of the group are complete.
  virtual base::Result<std::uint64_t> completed(int group) = 0;
  // Returns when more may be complete than this thread has asked for, at the latest after `limit`.
  // False: the limit passed.
  virtual bool wait(std::chrono::microseconds limit) = 0;
  virtual void wake() = 0;  // who waits, or waits next, returns at once

  // Ends all that is under way here, and every later call fails with `reason`; the first reason
  // stays.
  virtual void abort(const base::Problem& reason) = 0;
  // Fails with the reason once this rank has aborted, or a peer was lost.
  virtual base::Result<void> state() const = 0;
};

// A rank's end of an engine before its peers are known.
class BoundCollectives {
 public:
  virtual ~BoundCollectives() = default;
  virtual std::string endpoint() const = 0;  // what peers need to find this rank
  // Endpoints by rank, the own one included. Joins the groups in their order, and waits for their
  // members.
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
