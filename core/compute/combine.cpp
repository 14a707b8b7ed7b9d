// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/compute/combine.h"

#include <array>
#include <cmath>

#include "core/compute/host_copy.h"

namespace trainyard::compute {
namespace {

using base::Reduction;

template <class Number>
Number smaller(Number a, Number b) {
  return a < b || std::isnan(a) ? a : b;
}
template <class Number>
Number larger(Number a, Number b) {
  return a > b || std::isnan(a) ? a : b;
}

template <class Number>
void choose_among(Reduction reduction, std::byte* destination, const std::byte* a,
                  const std::byte* b, std::int64_t elements) {
  auto* to = reinterpret_cast<Number*>(destination);
  const auto *one = reinterpret_cast<const Number*>(a), *other = reinterpret_cast<const Number*>(b);
  if (reduction == Reduction::min)
    for (std::int64_t i = 0; i < elements; ++i) to[i] = smaller(one[i], other[i]);
  else
    for (std::int64_t i = 0; i < elements; ++i) to[i] = larger(one[i], other[i]);
}

template <class Number>
void divide_by(Number members, std::byte* data, std::int64_t elements) {
  auto* numbers = reinterpret_cast<Number*>(data);
  for (std::int64_t i = 0; i < elements; ++i) numbers[i] /= members;
}

template <class Number>
void compensate_by(double lambda, std::byte* gradient, const std::byte* now, const std::byte* then,
                   std::int64_t elements) {
  auto* g = reinterpret_cast<Number*>(gradient);
  const auto* a = reinterpret_cast<const Number*>(now);
  const auto* b = reinterpret_cast<const Number*>(then);
  for (std::int64_t i = 0; i < elements; ++i) {
    const double of = g[i];
    g[i] = static_cast<Number>(of + lambda * of * of *
                                        (static_cast<double>(a[i]) - static_cast<double>(b[i])));
  }
}

}  // namespace

void choose(Reduction reduction, DType dtype, std::byte* destination, const std::byte* a,
            const std::byte* b, std::int64_t elements) {
  if (dtype == DType::fp64) choose_among<double>(reduction, destination, a, b, elements);
  else choose_among<float>(reduction, destination, a, b, elements);
}

// Combines the sources into the destination. If the destination is one of the sources, that source
// comes first, before it is overwritten. For min and max the order does not affect the result.
void combine(Compute& compute, Reduction reduction, DType dtype, std::byte* destination,
             std::span<const std::byte* const> sources, std::int64_t elements) {
  if (reduction == Reduction::sum || reduction == Reduction::mean)
    return compute.sum(dtype, destination, sources, elements);
  const std::byte* held = nullptr;
  for (const std::byte* source : sources)
    if (source == destination) held = source;
  if (held == nullptr) compute.copy(destination, sources.front(), elements * base::size_of(dtype));
  for (std::size_t i = held == nullptr ? 1 : 0; i < sources.size(); ++i)
    if (sources[i] != held)
      choose(reduction, dtype, destination, destination, sources[i], elements);
}

void compensate(Compute& compute, DType dtype, std::byte* gradient, const std::byte* now,
                const std::byte* then, double lambda, std::int64_t elements) {
  std::array<std::vector<std::byte>, 3> memory;
  const auto here = [&](const std::byte* data, std::size_t m) {
    return seen(&compute, {dtype, {elements}, const_cast<std::byte*>(data)}, memory[m]).data;
  };
  std::byte* const made = here(gradient, 0);
  if (dtype == DType::fp64)
    compensate_by<double>(lambda, made, here(now, 1), here(then, 2), elements);
  else compensate_by<float>(lambda, made, here(now, 1), here(then, 2), elements);
  if (made != gradient) compute.copy(gradient, made, elements * base::size_of(dtype));
}

void divide(DType dtype, std::byte* data, std::int64_t elements, std::int64_t members) {
  if (dtype == DType::fp64) divide_by(static_cast<double>(members), data, elements);
  else divide_by(static_cast<float>(members), data, elements);
}

}  // namespace trainyard::compute
