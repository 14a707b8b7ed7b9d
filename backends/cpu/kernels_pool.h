// SPDX-License-Identifier: GPL-3.0-or-later
// Loops of pooling over the pixels of a window, eight channels at a time. See kernels_body.h.
#pragma once

#include "backends/cpu/kernels_body.h"

namespace trainyard::cpu {
namespace {

// The part of a pooling window that is inside the image: rows [top, bottom), columns [left, right).
struct Pixels {
  std::int64_t top, bottom, left, right;
};

template <class T>
inline Pixels pixels_of(const PoolArguments<T>& a, std::int64_t row, std::int64_t column) {
  const std::int64_t top = row * a.stride - a.padding, left = column * a.stride - a.padding;
  const std::int64_t bottom = top + a.kernel, right = left + a.kernel;
  return {top > 0 ? top : 0, bottom < a.height ? bottom : a.height, left > 0 ? left : 0,
          right < a.width ? right : a.width};
}

// Calls visit(index in the image) for each pixel of the window, row by row. If `side` is positive,
// the window must be entirely inside the image and have this side length; the compiler can then
// unroll the loops. If `side` is 0, any window is accepted.
template <int side, class T, class Visit>
inline void for_pixels(const PoolArguments<T>& a, std::int64_t sample, const Pixels& p,
                       const Visit& visit) {
  if constexpr (side > 0) {
    const std::int64_t first = ((sample * a.height + p.top) * a.width + p.left) * a.channels;
    for (int y = 0; y < side; ++y)
      for (int x = 0; x < side; ++x) visit(first + (y * a.width + x) * a.channels);
  } else {
    for (std::int64_t y = p.top; y < p.bottom; ++y)
      for (std::int64_t x = p.left; x < p.right; ++x)
        visit(((sample * a.height + y) * a.width + x) * a.channels);
  }
}

template <int number>
struct Side {
  static constexpr int value = number;
};

// Calls run(Side<n>) with the side length n of the window if there is unrolled code for it,
// otherwise run(Side<0>).
template <class T, class Run>
inline void with_side(const PoolArguments<T>& a, const Run& run) {
  if (a.padding == 0 && a.kernel == 2) run(Side<2>{});
  else if (a.padding == 0 && a.kernel == 3) run(Side<3>{});
  else run(Side<0>{});
}

// Calls visit(sample, pixels of the window, index in the result) for each window of samples
// [begin, end).
template <class T, class Visit>
inline void for_windows(const PoolArguments<T>& a, std::int64_t begin, std::int64_t end,
                        const Visit& visit) {
  std::int64_t place = begin * a.out_height * a.out_width * a.channels;
  for (std::int64_t sample = begin; sample < end; ++sample)
    for (std::int64_t row = 0; row < a.out_height; ++row)
      for (std::int64_t column = 0; column < a.out_width; ++column, place += a.channels)
        visit(sample, pixels_of(a, row, column), place);
}

template <class T>
inline Lanes<T> larger(Lanes<T> largest, Lanes<T> value) {
  const Lanes<T> number = value > largest ? value : largest;  // correct if neither number is NaN
  // Keeps the first NaN, because no number is larger than NaN.
  return value != value ? value : number;
}

template <class T>
void max_pool(const PoolArguments<T>& a, std::int64_t begin, std::int64_t end) {
  with_side(a, [&](auto side) {
    for_windows(a, begin, end, [&](std::int64_t sample, const Pixels& pixels, std::int64_t to) {
      for_lanes(0, a.channels, [&](std::int64_t c, auto piece) {
        Lanes<T> largest = Lanes<T>{} - static_cast<T>(__builtin_inf());
        for_pixels<side.value>(a, sample, pixels, [&](std::int64_t from) {
          largest = larger<T>(largest, piece.template load<T>(a.input + from + c));
        });
        piece.template store<T>(a.result + to + c, largest);
      });
    });
  });
}

template <class T>
void average_pool(const PoolArguments<T>& a, std::int64_t begin, std::int64_t end) {
  const T share = T{1} / static_cast<T>(a.kernel * a.kernel);
  with_side(a, [&](auto side) {
    for_windows(a, begin, end, [&](std::int64_t sample, const Pixels& pixels, std::int64_t to) {
      for_lanes(0, a.channels, [&](std::int64_t c, auto piece) {
        Lanes<T> sum{};
        for_pixels<side.value>(a, sample, pixels, [&](std::int64_t from) {
          sum += piece.template load<T>(a.input + from + c);
        });
        piece.template store<T>(a.result + to + c, sum * share);
      });
    });
  });
}

template <class T>
inline bool windows_overlap(const PoolArguments<T>& a) {
  return a.stride < a.kernel;
}

template <class T>
inline bool windows_cover(const PoolArguments<T>& a) {
  return a.stride == a.kernel && a.padding == 0 && a.out_height * a.kernel == a.height &&
         a.out_width * a.kernel == a.width;
}

// Calls give(side, add, sample, pixels, index) for each window. `give` must call add(index, piece,
// lanes), which adds `lanes` to the gradients at an index. Processes one sample after another, so
// that its cleared gradients are still in cache when they are added to.
template <class T, class Give>
inline void scatter_gradients(const PoolArguments<T>& a, std::int64_t begin, std::int64_t end,
                              const Give& give) {
  const std::int64_t pixels = a.height * a.width * a.channels;
  const auto add = [&](std::int64_t to, auto piece, Lanes<T> given) {
    piece.template store<T>(a.result + to, piece.template load<T>(a.result + to) + given);
  };
  const auto put = [&](std::int64_t to, auto piece, Lanes<T> given) {
    piece.template store<T>(a.result + to, given);
  };
  for (std::int64_t sample = begin; sample < end; ++sample) {
    if (!windows_cover(a))
      __builtin_memset(a.result + sample * pixels, 0, static_cast<std::size_t>(pixels) * sizeof(T));
    with_side(a, [&](auto side) {
      const auto one = [&](const auto& hand_on) {
        for_windows(a, sample, sample + 1,
                    [&](std::int64_t, const Pixels& window, std::int64_t from) {
                      give(side, hand_on, sample, window, from);
                    });
      };
      windows_overlap(a) ? one(add) : one(put);
    });
  }
}

template <class T>
void max_pool_backward(const PoolArguments<T>& a, std::int64_t begin, std::int64_t end) {
  scatter_gradients(a, begin, end,
                    [&](auto side, const auto& hand_on, std::int64_t sample, const Pixels& pixels,
                        std::int64_t from) {
                      for_lanes(0, a.channels, [&](std::int64_t c, auto piece) {
                        const Lanes<T> largest = piece.template load<T>(a.output + from + c);
                        Lanes<T> left = piece.template load<T>(a.output_gradient + from + c);
                        for_pixels<side.value>(a, sample, pixels, [&](std::int64_t to) {
                          const auto here = piece.template load<T>(a.input + to + c) == largest;
                          hand_on(to + c, piece, here ? left : Lanes<T>{});
                          left = here ? Lanes<T>{} : left;
                        });
                      });
                    });
}

template <class T>
void average_pool_backward(const PoolArguments<T>& a, std::int64_t begin, std::int64_t end) {
  const T share = T{1} / static_cast<T>(a.kernel * a.kernel);
  scatter_gradients(
      a, begin, end,
      [&](auto side, const auto& hand_on, std::int64_t sample, const Pixels& pixels,
          std::int64_t from) {
        for_lanes(0, a.channels, [&](std::int64_t c, auto piece) {
          const Lanes<T> given = piece.template load<T>(a.output_gradient + from + c) * share;
          for_pixels<side.value>(a, sample, pixels,
                                 [&](std::int64_t to) { hand_on(to + c, piece, given); });
        });
      });
}

}  // namespace
}  // namespace trainyard::cpu
