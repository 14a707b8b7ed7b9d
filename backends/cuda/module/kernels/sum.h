// SPDX-License-Identifier: GPL-3.0-or-later
// The one sum of all collectives: in the order given, of numbers of 16 bits in fp32 and rounded after each addition; integers wrap.
#pragma once

#include <span>

#include "backends/cuda/module/numbers.h"
#include "backends/cuda/module/prepare.h"

namespace trainyard::cuda {

struct Sources {
  const std::byte* place[kMostSources];
  int count;
};

// T adds up: unsigned for integers.
template <class T>
void add(Stream& stream, std::byte* destination, const Sources& sources, std::int64_t elements) {
  for_each(stream, elements, [=] ON_DEVICE(std::int64_t i) {
    T sum = load<T>(sources.place[0], i);
    for (int s = 1; s < sources.count; ++s) sum += load<T>(sources.place[s], i);
    store(destination, i, sum);
  });
}

template <class Half>
void add_halves(Stream& stream, std::byte* destination, const Sources& sources, std::int64_t elements) {
  for_each(stream, elements, [=] ON_DEVICE(std::int64_t i) {
    std::uint16_t sum = load<std::uint16_t>(sources.place[0], i);
    for (int s = 1; s < sources.count; ++s) sum = Half::encode(Half::decode(sum) + Half::decode(load<std::uint16_t>(sources.place[s], i)));
    store(destination, i, sum);
  });
}

}  // namespace trainyard::cuda
