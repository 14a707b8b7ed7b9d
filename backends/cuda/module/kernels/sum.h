// SPDX-License-Identifier: GPL-3.0-or-later
// Sum of all collectives, which adds the sources in the given order. 16-bit numbers are added in
// fp32 and rounded after each addition; integers wrap around.
#pragma once

#include <algorithm>
#include <span>

#include "backends/cuda/module/numbers.h"
#include "backends/cuda/module/prepare.h"

namespace trainyard::cuda {

struct Sources {
  const std::byte* place[kMaxSources];
  int count;
};

// Four adjacent numbers, which a thread loads at once if they are aligned.
template <class T>
struct alignas(sizeof(T) < 4 ? 4 * sizeof(T) : 16) Vector4Of {
  T of[4];
};

template <class T>
bool are_aligned(const std::byte* destination, const Sources& sources) {
  const auto fits = [](const std::byte* place) {
    return reinterpret_cast<std::uintptr_t>(place) % alignof(Vector4Of<T>) == 0;
  };
  return fits(destination) && std::all_of(sources.place, sources.place + sources.count, fits);
}

// Adds the sources with plus(a, b) on elements stored as T.
template <class T, class Plus>
void add(Stream& stream, std::byte* destination, const Sources& sources, std::int64_t elements,
         Plus plus) {
  const std::int64_t together = are_aligned<T>(destination, sources) ? elements / 4 : 0,
                     first = 4 * together;
  for_each(stream, together, [=] ON_DEVICE(std::int64_t i) {
    Vector4Of<T> sum = reinterpret_cast<const Vector4Of<T>*>(sources.place[0])[i];
    for (int s = 1; s < sources.count; ++s) {
      const Vector4Of<T> more = reinterpret_cast<const Vector4Of<T>*>(sources.place[s])[i];
      for (int k = 0; k < 4; ++k) sum.of[k] = plus(sum.of[k], more.of[k]);
    }
    reinterpret_cast<Vector4Of<T>*>(destination)[i] = sum;
  });
  for_each(stream, elements - first, [=] ON_DEVICE(std::int64_t rest) {
    T sum = load<T>(sources.place[0], first + rest);
    for (int s = 1; s < sources.count; ++s)
      sum = plus(sum, load<T>(sources.place[s], first + rest));
    store(destination, first + rest, sum);
  });
}

// Addition of two values of T, which is unsigned for integers, so that sums wrap around.
template <class T>
struct Plus {
  ON_DEVICE T operator()(T a, T b) const { return a + b; }
};

template <class Half>
struct PlusOfHalves {
  ON_DEVICE std::uint16_t operator()(std::uint16_t a, std::uint16_t b) const {
    return Half::encode(Half::decode(a) + Half::decode(b));
  }
};

}  // namespace trainyard::cuda
