// SPDX-License-Identifier: GPL-3.0-or-later
// Causal attention, computed per head and per tile of rows, so that scores exist for only one tile
// at a time. Matrix products use OpenBLAS, which accepts strided matrices (the rows of all heads
// are interleaved) and allocates no memory. Softmax and its gradient are our own loops.
#include <algorithm>
#include <cmath>

#include "backends/cpu/blas.h"
#include "backends/cpu/kernels.h"
#include "backends/cpu/prepare.h"
#include "backends/cpu/queue.h"
#include "core/compute/ops.h"

namespace trainyard::cpu {
namespace {

using compute::DType;
using compute::Queue;
using compute::Tensor;

constexpr std::int64_t kTileRows = 64;

// A matrix in memory. Consecutive rows are `stride` elements apart.
template <class T>
struct Matrix {
  T* data;
  std::int64_t stride;

  Matrix from_row(std::int64_t row) const { return {data + row * stride, stride}; }
};

// Matrix product: result [m,n] = left [m,k] right [k,n]. Adds to `result` if `adds` is true. Either
// input may be transposed.
template <class T>
void multiply(CBLAS_TRANSPOSE left_as, CBLAS_TRANSPOSE right_as, std::int64_t m, std::int64_t n,
              std::int64_t k, const Matrix<T>& left, const Matrix<T>& right,
              const Matrix<T>& result, bool adds) {
  const blasint rows = to_blas(m), columns = to_blas(n), inner = to_blas(k);
  const T beta = adds ? 1 : 0;
  if constexpr (std::is_same_v<T, double>)
    cblas_dgemm(CblasRowMajor, left_as, right_as, rows, columns, inner, 1, left.data,
                to_blas(left.stride), right.data, to_blas(right.stride), beta, result.data,
                to_blas(result.stride));
  else
    cblas_sgemm(CblasRowMajor, left_as, right_as, rows, columns, inner, 1, left.data,
                to_blas(left.stride), right.data, to_blas(right.stride), beta, result.data,
                to_blas(result.stride));
}

// Computes, for each row r, the dot product of that row of `left` and of `right`.
template <class T>
void dot_rows(std::int64_t rows, std::int64_t columns, const Matrix<T>& left,
              const Matrix<T>& right, T* result) {
  for (std::int64_t r = 0; r < rows; ++r) {
    const T *const a = left.from_row(r).data, *const b = right.from_row(r).data;
    if constexpr (std::is_same_v<T, double>) result[r] = cblas_ddot(to_blas(columns), a, 1, b, 1);
    else result[r] = cblas_sdot(to_blas(columns), a, 1, b, 1);
  }
}

struct AttentionSizes {
  AttentionSizes(const Tensor& input, std::int64_t of_heads)
      : samples(input.shape[0]),
        rows(input.shape[1]),
        together(input.shape[2] / 3),
        heads(of_heads),
        width(together / heads) {}

  // Calls body(row, column) for each head of each sample. `row` is the sample's first row in a
  // matrix with the rows of all samples. `column` is the head's first column in that matrix.
  template <class Body>
  void for_heads(const Body& body) const {
    for (std::int64_t b = 0; b < samples; ++b)
      for (std::int64_t h = 0; h < heads; ++h) body(b * rows, h * width);
  }
  // Calls body(first, rows, seen) for each tile of rows. `first`: index of the tile's first row.
  // `rows`: number of its rows. `seen`: number of columns that its last row attends to.
  template <class Body>
  void for_tiles(const Body& body) const {
    for (std::int64_t first = 0; first < rows; first += kTileRows) {
      const std::int64_t end = std::min(first + kTileRows, rows);
      body(first, end - first, end);
    }
  }
  std::int64_t tile_elements() const { return std::min(kTileRows, rows) * rows; }

  std::int64_t samples, rows, together, heads, width;
};

template <class T>
Matrix<T> at(const Tensor& tensor, std::int64_t row, std::int64_t column) {
  const std::int64_t stride = tensor.shape[2];
  return {tensor.as<T>() + row * stride + column, stride};
}

template <class T>
T* scratch(Queue& queue, std::int64_t elements) {
  return reinterpret_cast<T*>(
      static_cast<CpuQueue&>(queue).scratch(static_cast<std::size_t>(elements) * sizeof(T)));
}

template <class T>
T scale_of(const AttentionSizes& s) {
  return static_cast<T>(1 / std::sqrt(static_cast<double>(s.width)));
}

// Computes the attention probabilities of a tile, the softmax of its scaled scores. The result has
// the shape [rows, seen].
template <class T>
void attend(const AttentionSizes& s, const Matrix<T>& query, const Matrix<T>& key,
            std::int64_t first, std::int64_t rows, std::int64_t seen, const Matrix<T>& parts) {
  multiply(CblasNoTrans, CblasTrans, rows, seen, s.width, query.from_row(first), key, parts, false);
  kernels<T>().causal_softmax(parts.data, rows, seen, first + 1, scale_of<T>(s));
}

template <class T>
PreparedKernel prepare_forward(const compute::AttentionForward& op) {
  return make_kernel([op, s = AttentionSizes(op.input, op.heads)](Queue& queue) {
    T* const tile = scratch<T>(queue, s.tile_elements());
    s.for_heads([&](std::int64_t row, std::int64_t column) {
      const auto query = at<T>(op.input, row, column),
                 key = at<T>(op.input, row, s.together + column),
                 value = at<T>(op.input, row, 2 * s.together + column);
      const auto output = at<T>(op.output, row, column);
      s.for_tiles([&](std::int64_t first, std::int64_t rows, std::int64_t seen) {
        const Matrix<T> parts{tile, seen};
        attend(s, query, key, first, rows, seen, parts);
        multiply(CblasNoTrans, CblasNoTrans, rows, s.width, seen, parts, value,
                 output.from_row(first), false);
      });
    });
  });
}

template <class T>
PreparedKernel prepare_backward(const compute::AttentionBackward& op) {
  return make_kernel([op, s = AttentionSizes(op.input, op.heads)](Queue& queue) {
    T *const tile = scratch<T>(queue, 2 * s.tile_elements() + kTileRows), *const means =
                                                                              tile +
                                                                              2 * s.tile_elements();
    std::fill_n(op.input_gradient.as<T>(), op.input_gradient.elements(), T{0});
    s.for_heads([&](std::int64_t row, std::int64_t column) {
      const auto query = at<T>(op.input, row, column),
                 key = at<T>(op.input, row, s.together + column),
                 value = at<T>(op.input, row, 2 * s.together + column);
      const auto of_query = at<T>(op.input_gradient, row, column),
                 of_key = at<T>(op.input_gradient, row, s.together + column),
                 of_value = at<T>(op.input_gradient, row, 2 * s.together + column),
                 output = at<T>(op.output, row, column),
                 gradient = at<T>(op.output_gradient, row, column);
      s.for_tiles([&](std::int64_t first, std::int64_t rows, std::int64_t seen) {
        const Matrix<T> parts{tile, seen}, of_scores{tile + s.tile_elements(), seen},
            own = gradient.from_row(first);
        attend(s, query, key, first, rows, seen, parts);
        multiply(CblasTrans, CblasNoTrans, seen, s.width, rows, parts, own, of_value, true);
        multiply(CblasNoTrans, CblasTrans, rows, seen, s.width, own, value, of_scores, false);
        dot_rows(rows, s.width, own, output.from_row(first), means);
        kernels<T>().softmax_backward(parts.data, means, of_scores.data, rows, seen,
                                      scale_of<T>(s));
        multiply(CblasNoTrans, CblasNoTrans, rows, s.width, seen, of_scores, key,
                 of_query.from_row(first), false);
        multiply(CblasTrans, CblasNoTrans, seen, s.width, rows, of_scores, query.from_row(first),
                 of_key, true);
      });
    });
  });
}

}  // namespace

PreparedKernel prepare(const compute::AttentionForward& op, const Device&) {
  return op.input.dtype == DType::fp64 ? prepare_forward<double>(op) : prepare_forward<float>(op);
}

PreparedKernel prepare(const compute::AttentionBackward& op, const Device&) {
  return op.input.dtype == DType::fp64 ? prepare_backward<double>(op) : prepare_backward<float>(op);
}

}  // namespace trainyard::cpu
