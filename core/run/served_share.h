// SPDX-License-Identifier: GPL-3.0-or-later
// The numbers of a parameter server: its share of the parameters, and the update that is being gathered. What is given to workers is a version
// that nobody writes: an update goes from one place to another (BoundPlan::versions).
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "core/run/bound_plan.h"

namespace trainyard::run {

struct ServedShareParts {
  const plan::RankPlan* plan = nullptr;
  const BoundPlan* bound = nullptr;
  const Recipe* recipe = nullptr;
  bool divides_by_staleness = false;  // the learning rate, by the mean of the update's gradients where that is more than 1
  compute::Compute* compute = nullptr;
  double delay_compensation = 0;  // lambda, where the plan has memory for it
};

class ServedShare {
 public:
  explicit ServedShare(const ServedShareParts& parts);

  const BoundProgram& arrival() const { return program("arrival"); }
  const BoundProgram& update() const { return program("update"); }
  const BoundProgram& answer() const { return program("answer"); }

  // This worker is given the version of now; its next gradient is one by that.
  void keep(int worker);
  // Into the update, by op of `arrival`: the one gradient that is its first, or added; or all of them in the place of what was there.
  void take(std::size_t op, const std::byte* gradient, bool first, int worker);
  void add(std::size_t op, std::span<const std::byte* const> gradients);

  // The update to version `version`, in step `step`, of gradients so stale: its learning rate. Then its ops, one after another; then what it made is
  // the version of now. It goes to place `to`, which is not that of now and must have no reader meanwhile.
  double begin_update(std::int64_t version, std::int64_t step, std::span<const std::int64_t> staleness, int to);
  void run_update(std::size_t op);
  void end_update() { place_ = to_; }

  int places() const { return static_cast<int>(parts_.bound->versions.size()); }
  int place() const { return place_; }  // of the version of now, in `versions`
  int next_place() const { return (place_ + 1) % places(); }
  compute::Tensor parameters() const { return parts_.bound->versions[static_cast<std::size_t>(place_)]; }
  // Where the version of now has what an op of `answer` gives.
  const std::byte* given_by(const BoundOp& op) const { return parameters().data + (op.data - parts_.bound->versions.front().data); }

 private:
  bool compensates() const { return !parts_.bound->given.empty(); }
  std::byte* kept(const BoundOp& takes, int worker) const;
  const std::byte* compensated(const BoundOp& takes, const std::byte* gradient, int worker) const;
  const BoundProgram& program(const char* name) const { return parts_.bound->programs[static_cast<std::size_t>(parts_.plan->program(name))]; }

  ServedShareParts parts_;
  std::unique_ptr<compute::Queue> queue_;
  std::vector<const std::byte*> sources_;
  int place_ = 0, to_ = 0;
};

}  // namespace trainyard::run
