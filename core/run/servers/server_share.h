// SPDX-License-Identifier: GPL-3.0-or-later
// Data of a parameter server: its share of the parameters, and the gradients gathered for the next
// update. Workers are sent an immutable version: an update reads one version slot and writes
// another (BoundPlan::versions).
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "core/run/bind/bound_plan.h"

namespace trainyard::run {

struct ServedShareParts {
  const plan::RankPlan* plan = nullptr;
  const BoundPlan* bound = nullptr;
  const Recipe* recipe = nullptr;
  // true: divides the learning rate by the mean staleness of the update's gradients, if that is
  // more than 1
  bool divides_by_staleness = false;
  compute::Compute* compute = nullptr;
  // factor lambda of delay compensation; used if the plan has buffers for delay compensation
  double delay_compensation = 0;
};

class ServerShare {
 public:
  explicit ServerShare(const ServedShareParts& parts);

  const BoundProgram& arrival() const { return program("arrival"); }
  const BoundProgram& update() const { return program("update"); }
  const BoundProgram& answer() const { return program("answer"); }
  const BoundProgram* named() const;  // null if workers transfer full tables

  // Functions for delay compensation, which save the parameters that a worker is given and from
  // which it computes its next gradient. `keep` saves all parameters of the current version.
  // `save_given` saves only the parameters that are given immediately. `keep_rows` later saves the
  // table rows in the worker's list, from version slot `place`; `op`: index in `arrival`.
  void keep(int worker);
  void save_given(int worker);
  void keep_rows(std::size_t op, int worker, int place);
  // These functions collect gradients for the next update. `op`: index in `arrival`. `take` stores
  // or adds one gradient (`first`: the gradient is the first of the update). `add` overwrites the
  // sum with the sum of all `gradients`.
  void take(std::size_t op, const std::byte* gradient, bool first, int worker);
  void add(std::size_t op, std::span<const std::byte* const> gradients);
  // These functions correspond to `take` and `add`, for gradients as workers push them: for a
  // table, only the rows in the worker's list. All gradients of an update must be of the same form.
  void take_pushed(std::size_t op, const std::byte* pushed, bool first, int worker);
  void add_pushed(std::size_t op, std::span<const std::byte* const> pushed,
                  std::span<const int> workers);

  static std::int64_t bytes_pushed(const BoundOp& takes, int worker);
  static std::int64_t bytes_wanted(const BoundOp& gives, int worker);
  // Returns the rows of version slot `place` that are in a worker's list, packed and valid until
  // the next call for this worker. If the list contains all rows, returns the rows in place,
  // without a copy.
  std::span<const std::byte> rows_wanted(const BoundOp& gives, int worker, int place);

  // Multiplies the collected gradients by a factor (UpdateAverage). Does nothing for factor 1.
  base::Result<void> scale(double factor);
  // Starts the update to version `version` in step `step`, from gradients of the given staleness,
  // and returns its learning rate. `run_update` must then run its ops in order, and `end_update`
  // makes the result the current version. The result is written to slot `to`, which must have no
  // reader. If no slot has a reader, `to` may be the current slot.
  double begin_update(std::int64_t version, std::int64_t step,
                      std::span<const std::int64_t> staleness, int to);
  base::Result<void> run_update(std::size_t op);
  void end_update() { place_ = to_; }

  int places() const { return static_cast<int>(parts_.bound->versions.size()); }
  int place() const { return place_; }  // slot of the current version in `versions`
  int next_place() const { return (place_ + 1) % places(); }
  compute::Tensor parameters() const {
    return parts_.bound->versions[static_cast<std::size_t>(place_)];
  }
  // Returns the address, in the current version, of the data that an op of `answer` sends.
  const std::byte* given_by(const BoundOp& op) const {
    return parameters().data + (op.data - parts_.bound->versions.front().data);
  }

 private:
  bool compensates() const { return !parts_.bound->given.empty(); }
  std::int64_t place_of(const BoundOp& takes) const {
    return takes.data - arrival().ops[1].data;
  }  // returns the op's offset in the share, in bytes
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
  // rows of the gradient that may be nonzero; one list for each op of the program `arrival`
  std::vector<std::vector<std::int32_t>> touched_;
  std::vector<std::byte> zeros_;  // zeros for one row
  int place_ = 0, to_ = 0;
};

}  // namespace trainyard::run
