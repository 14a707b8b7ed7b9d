// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/check/weighted_sums.h"

#include <algorithm>

namespace trainyard::check {

void Contents::set(std::int64_t first, std::int64_t count, const Value& value) {
  if (count == 0) return;
  cut(first);
  cut(first + count);
  runs_.erase(runs_.lower_bound(first), runs_.lower_bound(first + count));
  runs_[first] = value;
}

std::vector<Piece> Contents::of(std::int64_t first, std::int64_t count) const {
  std::vector<Piece> pieces;
  for (auto at = std::prev(runs_.upper_bound(first));
       at != runs_.end() && at->first < first + count; ++at) {
    const std::int64_t begin = std::max(first, at->first),
                       end = std::min(first + count, std::next(at) == runs_.end()
                                                         ? elements_
                                                         : std::next(at)->first);
    if (begin < end) pieces.push_back({begin, end - begin, at->second});
  }
  return pieces;
}

void Contents::cut(std::int64_t element) {
  if (element < elements_) runs_.emplace(element, at(element));
}

void Row::reduce() {
  std::int64_t common = denominator;
  for (const std::int64_t numerator : numerators) common = std::gcd(common, numerator);
  for (std::int64_t& numerator : numerators) numerator /= common;
  denominator /= common;
}

bool Row::add(const Row& other, std::int64_t numerator, std::int64_t denominator_of_it) {
  std::int64_t of = 0, common = 0;
  if (__builtin_mul_overflow(other.denominator, denominator_of_it, &of)) return false;
  if (__builtin_mul_overflow(denominator / std::gcd(denominator, of), of, &common)) return false;
  for (std::size_t i = 0; i < numerators.size(); ++i) {
    std::int64_t own = 0, added = 0;
    if (__builtin_mul_overflow(numerators[i], common / denominator, &own) ||
        __builtin_mul_overflow(other.numerators[i], numerator, &added))
      return false;
    if (__builtin_mul_overflow(added, common / of, &added) ||
        __builtin_add_overflow(own, added, &numerators[i]))
      return false;
  }
  denominator = common;
  reduce();
  return true;
}

bool same_fraction(std::int64_t a, std::int64_t of_a, std::int64_t b, std::int64_t of_b) {
  const std::int64_t ga = std::gcd(a, of_a), gb = std::gcd(b, of_b);
  return a / ga == b / gb && of_a / ga == of_b / gb;
}

std::string fraction(std::int64_t numerator, std::int64_t denominator) {
  const std::int64_t common = std::max<std::int64_t>(1, std::gcd(numerator, denominator));
  return std::to_string(numerator / common) +
         (denominator == common ? "" : "/" + std::to_string(denominator / common));
}

}  // namespace trainyard::check
