// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace trainyard::telemetry {

// Value over all ranks at one step, known once every rank involved has reported the step.
struct StepValue {
  std::int32_t step = 0;
  // Time of the last report. If ranks execute steps separately, the latest time of this step and
  // all earlier ones.
  double seconds = 0;
  double value = 0;
};

// Growing list of values, in the order of steps. Its older values may be thinned: of neighboring
// values, only the first, the least, the greatest and the last are left.
class StepValues {
 public:
  using value_type = StepValue;

  // Thins the older half of the list whenever it has this many values; 0: never.
  void set_limit(std::size_t values) { limit_ = values; }
  void push_back(const StepValue& value);

  std::size_t size() const { return values_.size(); }
  bool empty() const { return values_.empty(); }
  const StepValue& front() const { return values_.front(); }
  const StepValue& back() const { return values_.back(); }
  const StepValue& operator[](std::size_t index) const { return values_[index]; }
  auto begin() const { return values_.begin(); }
  auto end() const { return values_.end(); }

  // Number of a value, counted from the first value that was added.
  std::uint32_t number_at(std::size_t index) const { return numbers_[index]; }
  std::uint64_t removed() const { return added_ - values_.size(); }  // Number of values left out.
  std::int32_t thinned_until() const { return thinned_until_; }  // Step; -1: nothing was thinned.

 private:
  std::size_t limit_ = 0;
  std::vector<StepValue> values_;
  std::vector<std::uint32_t> numbers_;
  std::uint32_t added_ = 0;
  std::int32_t thinned_until_ = -1;
};

// Position of a reader in a list that grows and may be thinned, such as StepValues or Series. Each
// value is read at most once, in order.
class ReadPosition {
 public:
  // Returns the index of the first value that was not read yet.
  template <class List>
  std::size_t next(const List& list) {
    if (list.removed() == removed_) return next_;
    // The list was thinned, so that indices have changed. Numbers have not.
    removed_ = list.removed();
    std::size_t low = 0, high = list.size();
    while (low < high) {
      const std::size_t middle = (low + high) / 2;
      if (list.number_at(middle) < unread_) low = middle + 1;
      else high = middle;
    }
    return next_ = low;
  }
  // Marks the value at `index`, and everything before it, as read.
  template <class List>
  void read(const List& list, std::size_t index) {
    next_ = index + 1;
    unread_ = list.number_at(index) + 1;
  }

 private:
  std::size_t next_ = 0;
  std::uint64_t removed_ = 0;
  std::uint32_t unread_ = 0;  // Number of the first value that was not read.
};

}  // namespace trainyard::telemetry
