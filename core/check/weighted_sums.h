// SPDX-License-Identifier: GPL-3.0-or-later
// Weighted sums of parameters in whole numbers, and which of them the elements of a buffer hold:
// what proofs of averaging follow.
#pragma once

#include <cstdint>
#include <map>
#include <numeric>
#include <string>
#include <vector>

namespace trainyard::check {

// What an element holds: of `source` the element that stands `shift` further in the parameters.
// What sources are the proof says.
struct Value {
  int source = 0;
  std::int64_t shift = 0;
  bool operator==(const Value&) const = default;
};

struct Piece {
  std::int64_t first = 0, count = 0;
  Value value;
};

// The values of a buffer, as runs of elements that hold the same.
class Contents {
 public:
  Contents(std::int64_t elements, const Value& value) : elements_(elements) { runs_[0] = value; }

  void set(std::int64_t first, std::int64_t count, const Value& value);
  std::vector<Piece> of(std::int64_t first, std::int64_t count) const;
  const Value& at(std::int64_t element) const {
    return std::prev(runs_.upper_bound(element))->second;
  }

 private:
  void cut(std::int64_t element);

  std::int64_t elements_;
  std::map<std::int64_t, Value> runs_;
};

// By source what it counts, over one denominator.
struct Row {
  std::vector<std::int64_t> numerators;
  std::int64_t denominator = 1;
  bool operator==(const Row&) const = default;

  void reduce();  // to lowest terms
  bool add(const Row& other, std::int64_t numerator,
           std::int64_t denominator_of_it);  // so much of it; false: the numbers would be too large
};

bool same_fraction(std::int64_t a, std::int64_t of_a, std::int64_t b, std::int64_t of_b);
std::string fraction(std::int64_t numerator, std::int64_t denominator);  // "2/3"

}  // namespace trainyard::check
