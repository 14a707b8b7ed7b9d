// SPDX-License-Identifier: GPL-3.0-or-later
// Loops behind kernels.h, compiled for the CPU of the including file. Everything is in an unnamed
// namespace, so that each file has its own copy. Loops use vectors of eight elements, and the
// source code fixes the order of every sum. The last elements, if fewer than eight, use the same
// arithmetic in a vector padded by zeros.
#pragma once

#include "backends/cpu/kernels.h"

namespace trainyard::cpu {
namespace {

constexpr std::int64_t kLanes = 8;

template <class T>
struct LanesOf {
  typedef T Type __attribute__((
      vector_size(kLanes * sizeof(T))));  // NOLINT(modernize-use-using): GCC wants a typedef here
};
template <class T>
using Lanes = typename LanesOf<T>::Type;
using Doubles = Lanes<double>;

// Loads and stores a full vector of eight elements.
struct FullVector {
  template <class T>
  Lanes<T> load(const T* from) const {
    Lanes<T> lanes;
    __builtin_memcpy(&lanes, from, sizeof lanes);
    return lanes;
  }
  template <class T>
  void store(T* to, Lanes<T> lanes) const {
    __builtin_memcpy(to, &lanes, sizeof lanes);
  }
};

// Loads and stores fewer than eight elements. The other lanes of the vector are 0 and are never
// loaded or stored. Uses memcpy, as FullVector does, because data received from a socket may be
// unaligned.
struct PartialVector {
  std::int64_t count;
  template <class T>
  Lanes<T> load(const T* from) const {
    Lanes<T> lanes{};
    __builtin_memcpy(&lanes, from, static_cast<std::size_t>(count) * sizeof(T));
    return lanes;
  }
  template <class T>
  void store(T* to, Lanes<T> lanes) const {
    for (std::int64_t i = 0; i < count; ++i) to[i] = lanes[i];
  }
};

// Calls body(i, FullVector{}) for each full group of eight elements from `begin` on, then body(i,
// PartialVector{...}) for the rest.
template <class Body>
inline void for_lanes(std::int64_t begin, std::int64_t end, const Body& body) {
  std::int64_t i = begin;
  for (; i + kLanes <= end; i += kLanes) body(i, FullVector{});
  if (i < end) body(i, PartialVector{end - i});
}

template <class T>
inline Doubles widen(Lanes<T> lanes) {
  return __builtin_convertvector(lanes, Doubles);
}

template <class T>
inline Lanes<T> square_root(Lanes<T> lanes) {
  Lanes<T> roots;
  for (std::int64_t i = 0; i < kLanes; ++i) {
    if constexpr (sizeof(T) == 4) roots[i] = __builtin_sqrtf(lanes[i]);
    else roots[i] = __builtin_sqrt(lanes[i]);
  }
  return roots;
}

inline double total(Doubles lanes) {
  return ((lanes[0] + lanes[4]) + (lanes[1] + lanes[5])) +
         ((lanes[2] + lanes[6]) + (lanes[3] + lanes[7]));
}

// Statistics of an optimizer step: the sums of gradient^2, (new - old)^2 and new^2, where old and
// new are parameters.
struct Statistics {
  Doubles gradient{}, change{}, parameter{};

  template <class T>
  inline void add(Lanes<T> raw_gradient, Lanes<T> old_parameter, Lanes<T> new_parameter) {
    const Doubles g = widen<T>(raw_gradient), d = widen<T>(new_parameter - old_parameter),
                  p = widen<T>(new_parameter);
    gradient += g * g;
    change += d * d;
    parameter += p * p;
  }
  inline void store(double* statistics) const {
    statistics[0] += total(gradient);
    statistics[1] += total(change);
    statistics[2] += total(parameter);
  }
};

template <class T, bool momentum>
void sgd_loop(const SgdArguments<T>& a, std::int64_t begin, std::int64_t end, double* statistics) {
  const T rate = static_cast<T>(a.rate), factor = static_cast<T>(a.factor),
          decay = static_cast<T>(a.weight_decay), keep = static_cast<T>(a.momentum);
  Statistics sums;
  for_lanes(begin, end, [&](std::int64_t i, auto piece) {
    const Lanes<T> p = piece.template load<T>(a.parameters + i),
                   g = piece.template load<T>(a.gradient + i);
    Lanes<T> m = factor * g + decay * p;
    if constexpr (momentum) {
      m += keep * piece.template load<T>(a.moment + i);
      piece.template store<T>(a.moment + i, m);
    }
    const Lanes<T> updated = piece.template load<T>(a.origin + i) - rate * m;
    piece.template store<T>(a.updated + i, updated);
    sums.template add<T>(g, p, updated);
  });
  sums.store(statistics);
}

template <class T>
void sgd(const SgdArguments<T>& a, std::int64_t begin, std::int64_t end, double* statistics) {
  if (a.moment == nullptr) sgd_loop<T, false>(a, begin, end, statistics);
  else sgd_loop<T, true>(a, begin, end, statistics);
}

template <class T>
void adam(const AdamArguments<T>& a, std::int64_t begin, std::int64_t end, double* statistics) {
  const T factor = static_cast<T>(a.factor), beta1 = static_cast<T>(a.beta1),
          beta2 = static_cast<T>(a.beta2), epsilon = static_cast<T>(a.epsilon);
  const T new1 = static_cast<T>(1 - a.beta1), new2 = static_cast<T>(1 - a.beta2),
          root2 = static_cast<T>(1 / __builtin_sqrt(a.correction2));
  const T gradient_decay = static_cast<T>(a.decoupled ? 0 : a.weight_decay),
          shrink = static_cast<T>(a.decoupled ? a.rate * a.weight_decay : 0);
  const T step_size = static_cast<T>(a.rate / a.correction1);
  Statistics sums;
  for_lanes(begin, end, [&](std::int64_t i, auto piece) {
    const Lanes<T> p = piece.template load<T>(a.parameters + i),
                   raw = piece.template load<T>(a.gradient + i);
    const Lanes<T> g = factor * raw + gradient_decay * p;
    const Lanes<T> first = beta1 * piece.template load<T>(a.first_moment + i) + new1 * g;
    const Lanes<T> second = beta2 * piece.template load<T>(a.second_moment + i) + new2 * g * g;
    const Lanes<T> updated = (piece.template load<T>(a.origin + i) - shrink * p) -
                             step_size * first / (square_root<T>(second) * root2 + epsilon);
    piece.template store<T>(a.first_moment + i, first);
    piece.template store<T>(a.second_moment + i, second);
    piece.template store<T>(a.updated + i, updated);
    sums.template add<T>(raw, p, updated);
  });
  sums.store(statistics);
}

template <class T>
void squared_norm(const T* values, std::int64_t begin, std::int64_t end, double* sum) {
  Doubles even{}, odd{};  // two partial sums, so that additions do not wait for each other
  const std::int64_t paired = begin + (end - begin) / (2 * kLanes) * (2 * kLanes);
  for (std::int64_t i = begin; i < paired; i += 2 * kLanes) {
    const Doubles a = widen<T>(FullVector{}.load<T>(values + i)),
                  b = widen<T>(FullVector{}.load<T>(values + i + kLanes));
    even += a * a;
    odd += b * b;
  }
  for_lanes(paired, end, [&](std::int64_t i, auto piece) {
    const Doubles a = widen<T>(piece.template load<T>(values + i));
    even += a * a;
  });
  *sum += total(even + odd);
}

template <class T>
void relu_backward(const T* output, T* gradient, std::int64_t begin, std::int64_t end) {
  for_lanes(begin, end, [&](std::int64_t i, auto piece) {
    const Lanes<T> y = piece.template load<T>(output + i), g = piece.template load<T>(gradient + i);
    piece.template store<T>(gradient + i, y > T{0} ? g : Lanes<T>{});
  });
}

template <class T>
void tanh_backward(const T* output, T* gradient, std::int64_t begin, std::int64_t end) {
  for_lanes(begin, end, [&](std::int64_t i, auto piece) {
    const Lanes<T> y = piece.template load<T>(output + i), g = piece.template load<T>(gradient + i);
    piece.template store<T>(gradient + i, g * (T{1} - y * y));
  });
}

// Sums columns, four vectors of adjacent columns at a time, so that each access to a row uses full
// cache lines. load(piece, address) returns the eight elements at an address.
template <class T, class Stored, class Load>
inline void sum_columns_of(const Stored* matrix, std::int64_t rows, std::int64_t columns,
                           std::int64_t begin, std::int64_t end, T* sums, const Load& load) {
  constexpr std::int64_t wide = 4 * kLanes;
  std::int64_t c = begin;
  for (; c + wide <= end; c += wide) {
    Doubles sum[4] = {};
    for (std::int64_t r = 0; r < rows; ++r)
      for (std::int64_t v = 0; v < 4; ++v)
        sum[v] += widen<T>(load(FullVector{}, matrix + r * columns + c + v * kLanes));
    for (std::int64_t v = 0; v < 4; ++v)
      FullVector{}.store<T>(sums + c + v * kLanes, __builtin_convertvector(sum[v], Lanes<T>));
  }
  for_lanes(c, end, [&](std::int64_t i, auto piece) {
    Doubles sum{};
    for (std::int64_t r = 0; r < rows; ++r) sum += widen<T>(load(piece, matrix + r * columns + i));
    piece.template store<T>(sums + i, __builtin_convertvector(sum, Lanes<T>));
  });
}

template <class T>
void column_sums(const T* matrix, std::int64_t rows, std::int64_t columns, std::int64_t begin,
                 std::int64_t end, T* sums) {
  sum_columns_of(matrix, rows, columns, begin, end, sums,
                 [](auto piece, const T* from) { return piece.template load<T>(from); });
}

// Sums the sources element by element. Each pass over the sources adds four adjacent vectors of
// every source, which are full cache lines. With one vector per pass, the loop over the sources
// would cost as much as the additions.
template <class T>
void sum(T* destination, const std::byte* const* sources, std::size_t count,
         std::int64_t elements) {
  constexpr std::int64_t wide = 4 * kLanes;
  const auto source = [&](std::size_t s) { return reinterpret_cast<const T*>(sources[s]); };
  std::int64_t e = 0;
  for (; e + wide <= elements; e += wide) {
    Lanes<T> added[4];
    for (std::int64_t v = 0; v < 4; ++v)
      added[v] = FullVector{}.load<T>(source(0) + e + v * kLanes);
    for (std::size_t s = 1; s < count; ++s)
      for (std::int64_t v = 0; v < 4; ++v)
        added[v] += FullVector{}.load<T>(source(s) + e + v * kLanes);
    for (std::int64_t v = 0; v < 4; ++v)
      FullVector{}.store<T>(destination + e + v * kLanes, added[v]);
  }
  for_lanes(e, elements, [&](std::int64_t i, auto piece) {
    Lanes<T> added = piece.template load<T>(source(0) + i);
    for (std::size_t s = 1; s < count; ++s) added += piece.template load<T>(source(s) + i);
    piece.template store<T>(destination + i, added);
  });
}

template <class T>
void relu(T* values, std::int64_t begin, std::int64_t end) {
  for_lanes(begin, end, [&](std::int64_t i, auto piece) {
    const Lanes<T> v = piece.template load<T>(values + i);
    piece.template store<T>(values + i, v <= T{0} ? Lanes<T>{} : v);  // keeps NaN
  });
}

}  // namespace
}  // namespace trainyard::cpu
