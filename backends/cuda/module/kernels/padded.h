// SPDX-License-Identifier: GPL-3.0-or-later
// 16-bit matrix products with padded rows. Tensor cores read 16 bytes at a time ("cuBLAS Library",
// tensor core usage). If rows do not begin at multiples of 16 bytes, as with the 50,257 classes of
// GPT-2, a product is several times slower. Its inputs are then copied to aligned rows padded with
// zeros, as PyTorch's compiler does.
#pragma once

#include <algorithm>
#include <vector>

#include "backends/cuda/module/device.h"
#include "backends/cuda/module/kernels/map.h"
#include "core/compute/half_precision.h"

namespace trainyard::cuda {

inline constexpr std::int64_t kRowUnit = 8;  // numbers of 16 bits
// Inputs are padded if m, n and k are all at least this large. Each number is then multiplied so
// often that copying an input costs less than it saves.
inline constexpr std::int64_t kPaddingPays = 128;

// Rows and columns of an input or a result as stored, row-major.
struct MatrixExtent {
  std::int64_t rows, columns;
  bool operator==(const MatrixExtent&) const = default;
  std::int64_t elements() const { return rows * columns; }
};
inline MatrixExtent left_of(const Product& p) {
  return p.left_transposed ? MatrixExtent{p.k, p.m} : MatrixExtent{p.m, p.k};
}
inline MatrixExtent right_of(const Product& p) {
  return p.right_transposed ? MatrixExtent{p.n, p.k} : MatrixExtent{p.k, p.n};
}
inline MatrixExtent result_of(const Product& p) { return {p.m, p.n}; }

// Returns the same product, with the rows of its inputs padded to multiples of kRowUnit.
inline Product padded(Product p) {
  const auto whole = [](std::int64_t extent, bool is_row) {
    return is_row ? parts(extent, kRowUnit) * kRowUnit : extent;
  };
  p.m = whole(p.m, p.left_transposed);
  p.n = whole(p.n, !p.right_transposed);
  p.k = whole(p.k, !p.left_transposed || p.right_transposed);
  return p;
}

inline bool pays_to_pad(const Product& p) {
  if (!compute::is_half(p.left.dtype) || std::min({p.m, p.n, p.k}) < kPaddingPays ||
      p.accumulates || !p.bias.empty())
    return false;
  return left_of(p).columns % kRowUnit != 0 || right_of(p).columns % kRowUnit != 0;
}

// Reads of four unaligned 16-bit numbers through the two 8-byte words that contain them.
// `can_load_words` is true if both words are within [begin, end).
ON_DEVICE inline bool can_load_words(const std::uint16_t* four, const std::byte* begin,
                                     const std::byte* end) {
  const auto first = reinterpret_cast<std::uintptr_t>(four) / 8 * 8;
  return first >= reinterpret_cast<std::uintptr_t>(begin) &&
         first + 16 <= reinterpret_cast<std::uintptr_t>(end);
}
ON_DEVICE inline std::uint64_t four_at(const std::uint16_t* four) {
  const auto place = reinterpret_cast<std::uintptr_t>(four);
  const auto* const words = reinterpret_cast<const std::uint64_t*>(place / 8 * 8);
  const auto shift = static_cast<int>(place % 8 * 8);
  return shift == 0 ? words[0] : words[0] >> shift | words[1] << (64 - shift);
}

// Copies and pads a matrix as `fit` does, but for 16-bit numbers, and only if the rows of `to` are
// multiples of four numbers.
inline void fit_halves(Stream& stream, const Tensor& from, MatrixExtent is, const Tensor& to,
                       MatrixExtent becomes) {
  const std::byte* const end = from.data + is.elements() * 2;
  for_teams(stream, becomes.rows, 0, [=] ON_DEVICE(const Team& team, std::int64_t row) {
    const std::uint16_t* const numbers = as<std::uint16_t>(from) + row * is.columns;
    const std::int64_t there = row < is.rows ? is.columns : 0;
    for (std::int64_t c = kNeighbors * team.rank; c < becomes.columns;
         c += kNeighbors * team.size) {
      std::uint64_t four = 0;
      if (c + kNeighbors <= there && can_load_words(numbers + c, from.data, end))
        four = four_at(numbers + c);
      else
        for (int k = 0; k < kNeighbors && c + k < there; ++k)
          four |= static_cast<std::uint64_t>(numbers[c + k]) << (16 * k);
      as<std::uint64_t>(to)[(row * becomes.columns + c) / kNeighbors] = four;
    }
  });
}

// Copies the common rows and columns of `from` to `to`, and sets the rest of `to` to zero.
template <class W>
void fit(Stream& stream, const Tensor& from, MatrixExtent is, const Tensor& to,
         MatrixExtent becomes) {
  const bool by_fours = becomes.columns % kNeighbors == 0 &&
                        reinterpret_cast<std::uintptr_t>(to.data) % sizeof(std::uint64_t) == 0;
  if (compute::is_half(from.dtype) && from.dtype == to.dtype && by_fours &&
      is.columns <= becomes.columns)
    return fit_halves(stream, from, is, to, becomes);
  for_teams(stream, becomes.rows, 0, [=] ON_DEVICE(const Team& team, std::int64_t row) {
    const std::int64_t there = row >= is.rows                 ? 0
                               : is.columns < becomes.columns ? is.columns
                                                              : becomes.columns;
    for_row<W>(team, from, row * is.columns, there,
               [&](std::int64_t c, W value) { put(to, row * becomes.columns + c, value); });
    for (std::int64_t c = there + team.rank; c < becomes.columns; c += team.size)
      put(to, row * becomes.columns + c, W{0});
  });
}

template <class W>
base::Result<Run> in_padded_rows(Device& device, const Product& p) {
  Product wide = padded(p);
  const MatrixExtent left = left_of(p), right = right_of(p), result = result_of(p),
                     wide_left = left_of(wide), wide_right = right_of(wide),
                     wide_result = result_of(wide);
  std::vector<Memory> kept;
  const auto place = [&](ScratchKind which, Tensor& tensor, MatrixExtent is,
                         MatrixExtent becomes) -> base::Result<void> {
    if (is == becomes) return {};
    return device.scratch(which, becomes.elements() * base::size_of(tensor.dtype))
        .map([&](const Memory& memory) {
          tensor.data = memory.get();
          kept.push_back(memory);
        });
  };
  if (auto ok = place(ScratchKind::left, wide.left, left, wide_left); !ok)
    return base::fail(ok.error());
  if (auto ok = place(ScratchKind::right, wide.right, right, wide_right); !ok)
    return base::fail(ok.error());
  if (auto ok = place(ScratchKind::result, wide.result, result, wide_result); !ok)
    return base::fail(ok.error());
  auto multiplied = device.product(wide);
  if (!multiplied) return multiplied;
  return Run([=, multiplied = std::move(*multiplied), kept = std::move(kept)](Stream& stream) {
    if (left != wide_left) fit<W>(stream, p.left, left, wide.left, wide_left);
    if (right != wide_right) fit<W>(stream, p.right, right, wide.right, wide_right);
    multiplied(stream);
    if (result != wide_result) fit<W>(stream, wide.result, wide_result, p.result, result);
  });
}

}  // namespace trainyard::cuda
