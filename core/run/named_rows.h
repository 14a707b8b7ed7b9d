// SPDX-License-Identifier: GPL-3.0-or-later
// Rows of tables that a list names (plan::kListHead): the list, what it is made from, and how rows
// get from a table to where they lie side by side, and back.
#pragma once

#include <span>
#include <vector>

#include "core/run/bound_plan.h"
#include "core/run/round_input.h"

namespace trainyard::run {

// A list as it lies in the memory of a rank.
class RowList {
 public:
  explicit RowList(std::int32_t* memory) : memory_(memory) {}

  std::span<const std::int32_t> numbers() const {
    return {memory_ + plan::kListHead,
            static_cast<std::size_t>(memory_[0])};  // NOLINT(clang-analyzer-core.NullDereference):
                                                    // who has no list makes none
  }
  bool wants_all() const { return memory_[1] != 0; }
  void write(std::span<const std::int32_t> numbers, bool wants_all);

  // What travels of it.
  std::span<const std::byte> message() const {
    return std::as_bytes(std::span(memory_ + 1, numbers().size() + 1));
  }
  // One that came: a Problem where it names no rows of this table, ascending, or too many of them.
  base::Result<void> take(std::span<const std::byte> message, const NamedRows& table);

 private:
  std::int32_t* memory_;
};

// packed[i] = table[numbers[i]], and the other way round. `table`: where the rows of the share
// begin.
void gather_rows(compute::Compute& compute, std::int64_t row_bytes,
                 std::span<const std::int32_t> numbers, const std::byte* table, std::byte* packed);
void scatter_rows(compute::Compute& compute, std::int64_t row_bytes,
                  std::span<const std::int32_t> numbers, const std::byte* packed, std::byte* table);

// What an op `pack` does, by its list.
void pack_rows(compute::Compute& compute, const BoundOp& op);

// Bytes that an op sends, or receives, of what its list names; of others all that it has.
std::int64_t bytes_carried(const BoundOp& op);

// Which rows of a table the samples of a round look up.
class RowNames {
 public:
  explicit RowNames(RoundInput& input) : input_(input) {}  // outlives it

  // Of the rows of a share, counted from its first: ascending, each once. Valid until the next
  // call. What is no row of the table is left out.
  std::span<const std::int32_t> of(std::int64_t step, const NamedRows& table);

 private:
  void take(std::int64_t step);

  RoundInput& input_;
  std::int64_t step_ = -1;
  std::size_t samples_ = 0;
  std::vector<float> columns_;  // of all samples of the step
  std::vector<std::int32_t> numbers_;
};

}  // namespace trainyard::run
