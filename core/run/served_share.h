// SPDX-License-Identifier: GPL-3.0-or-later
// The numbers of a parameter server: its share of the parameters, and the update that is being
// gathered. What is given to workers is a version that nobody writes: an update goes from one place
// to another (BoundPlan::versions).
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
  bool divides_by_staleness =
      false;  // the learning rate, by the mean of the update's gradients where that is more than 1
  compute::Compute* compute = nullptr;
  double delay_compensation = 0;  // lambda, where the plan has memory for it
};

class ServedShare {
 public:
  explicit ServedShare(const ServedShareParts& parts);

  const BoundProgram& arrival() const { return program("arrival"); }
  const BoundProgram& update() const { return program("update"); }
  const BoundProgram& answer() const { return program("answer"); }
  const BoundProgram* named() const;  // null where no rows of tables are named

  // This worker is given the version of now; its next gradient is one by that. All of it; or what
  // it is given at once, and then of a table, by op of `arrival`, the rows that its list names, of
  // the version in `place`.
  void keep(int worker);
  void keep_given(int worker);
  void keep_rows(std::size_t op, int worker, int place);
  // Into the update, by op of `arrival`: the one gradient that is its first, or added; or all of
  // them in the place of what was there.
  void take(std::size_t op, const std::byte* gradient, bool first, int worker);
  void add(std::size_t op, std::span<const std::byte* const> gradients);
  // The same of what was pushed: of a table the rows alone that the worker's list names. An update
  // is made of gradients of one kind.
  void take_pushed(std::size_t op, const std::byte* pushed, bool first, int worker);
  void add_pushed(std::size_t op, std::span<const std::byte* const> pushed,
                  std::span<const int> workers);

  static std::int64_t bytes_pushed(const BoundOp& takes, int worker);
  static std::int64_t bytes_wanted(const BoundOp& gives, int worker);
  // What a worker's list wants of the version in `place`: the rows side by side, until the next
  // call for this worker, or all where they lie.
  std::span<const std::byte> rows_wanted(const BoundOp& gives, int worker, int place);

  // The update to version `version`, in step `step`, of gradients so stale: its learning rate. Then
  // its ops, one after another; then what it made is the version of now. It goes to place `to`,
  // which must have no reader meanwhile; where nobody reads, that may be the place of now.
  double begin_update(std::int64_t version, std::int64_t step,
                      std::span<const std::int64_t> staleness, int to);
  base::Result<void> run_update(std::size_t op);
  void end_update() { place_ = to_; }

  int places() const { return static_cast<int>(parts_.bound->versions.size()); }
  int place() const { return place_; }  // of the version of now, in `versions`
  int next_place() const { return (place_ + 1) % places(); }
  compute::Tensor parameters() const {
    return parts_.bound->versions[static_cast<std::size_t>(place_)];
  }
  // Where the version of now has what an op of `answer` gives.
  const std::byte* given_by(const BoundOp& op) const {
    return parameters().data + (op.data - parts_.bound->versions.front().data);
  }

 private:
  bool compensates() const { return !parts_.bound->given.empty(); }
  std::int64_t place_of(const BoundOp& takes) const {
    return takes.data - arrival().ops[1].data;
  }  // in the share, bytes
  std::byte* kept(const BoundOp& takes, int worker) const;
  void keep(const BoundOp& takes, int worker) const;
  const std::byte* compensated(const BoundOp& takes, const std::byte* gradient, int worker) const;
  void take_row(const BoundOp& takes, std::int64_t at, const std::byte* row, bool first,
                int worker);
  void forget_rows(std::size_t op);
  const BoundProgram& program(const char* name) const {
    return parts_.bound->programs[static_cast<std::size_t>(parts_.plan->program(name))];
  }

  ServedShareParts parts_;
  std::unique_ptr<compute::Queue> queue_;
  std::vector<const std::byte*> sources_;
  std::vector<std::vector<std::int32_t>>
      touched_;                   // by op of `arrival`: the rows of the gradient that are not zero
  std::vector<std::byte> zeros_;  // a row
  int place_ = 0, to_ = 0;
};

}  // namespace trainyard::run
