// SPDX-License-Identifier: GPL-3.0-or-later
// Weighted sums of parameters with integer coefficients, and buffer contents as such sums. Used by
// averaging.cpp, mixing.cpp and sharding.cpp.
#pragma once

#include <cstdint>
#include <map>
#include <numeric>
#include <string>
#include <vector>

namespace trainyard::check {

// Symbolic value of a buffer element e: the value of parameter e + `shift` in the source `source`,
// such as the parameters of one rank. Each check defines its own sources.
struct Value {
  int source = 0;
  std::int64_t shift = 0;
  bool operator==(const Value&) const = default;
};

struct Piece {
  std::int64_t first = 0, count = 0;
  Value value;
};

// Values of a buffer, as ranges of consecutive elements with equal symbolic values.
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

// Coefficients of a weighted sum: one numerator per source, and one common denominator.
struct Row {
  std::vector<std::int64_t> numerators;
  std::int64_t denominator = 1;
  bool operator==(const Row&) const = default;

  void reduce();  // reduces the coefficients to lowest terms
  bool add(const Row& other, std::int64_t numerator,
           // adds `other`, multiplied by `numerator` / `denominator_of_it`; returns false on
           // overflow
           std::int64_t denominator_of_it);
};

bool same_fraction(std::int64_t a, std::int64_t of_a, std::int64_t b, std::int64_t of_b);
// returns a text such as "2/3"
std::string fraction(std::int64_t numerator, std::int64_t denominator);

}  // namespace trainyard::check
