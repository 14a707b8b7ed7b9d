// SPDX-License-Identifier: GPL-3.0-or-later
// Causal attention, one tile of scores at a time (Dao et al. 2022, "FlashAttention"): no score is
// written to device memory. 16-bit tensors use tensor cores where possible (attention_forward.h,
// attention_backward.h); this file is the scalar fallback for all other cases. A team (thread
// block) has a tile of queries of one head of one sample, and loops over the visible keys. For the
// gradients of keys and values it has a tile of keys, and loops over queries. Softmax is computed
// online (Milakov and Gimelshein 2018): partial sums are rescaled when a larger score appears. No
// sum is split over teams, so results are deterministic.
#pragma once

#include <limits>

#include "backends/cuda/module/kernels/attention_by_tensor_cores.h"

namespace trainyard::cuda {

inline constexpr std::int64_t kMaxTileRows = 16;

// Returns the largest number of rows per tile for which the shared memory of a team (thread block)
// suffices: `matrices` tiles of rows, `squares` square matrices of scores, and a few numbers per
// row. Returns 0 if not even one row fits.
template <class W>
constexpr std::int64_t tile_rows(std::int64_t width, std::int64_t matrices, std::int64_t squares) {
  std::int64_t rows = kMaxTileRows;
  while (rows > 0 && static_cast<std::int64_t>(sizeof(W)) * rows *
                             (matrices * (width + 1) + squares * rows + 4) >
                         kTeamMemory)
    rows /= 2;
  return rows;
}
template <class W>
constexpr std::int64_t tile_bytes(std::int64_t rows, std::int64_t width, std::int64_t matrices,
                                  std::int64_t squares) {
  return static_cast<std::int64_t>(sizeof(W)) * rows *
         (matrices * (width + 1) + squares * rows + 4);
}

// Loads rows of a head, from `first` on, into shared memory. Rows beyond the last are zeros.
template <class W>
ON_DEVICE void load(const Team& team, const Heads& of, const Tensor& from, Projection part,
                    std::int64_t head, std::int64_t first, W* to) {
  for (std::int64_t k = team.rank; k < of.tile * of.width; k += team.size) {
    const std::int64_t row = first + k / of.width, w = k % of.width;
    const std::int64_t at =
        part == Projection::output
            ? of.output(head, row)
            : of.query(head, row) + static_cast<std::int64_t>(part) * of.together;
    to[k / of.width * of.pitch() + w] = row < of.rows ? get<W>(from, at + w) : W{0};
  }
}

template <class W>
ON_DEVICE W dot(const W* a, const W* b, std::int64_t width) {
  W sum = 0;
  for (std::int64_t w = 0; w < width; ++w) sum += a[w] * b[w];
  return sum;
}

// Computes scores[i,j] = a_i . b_j factor, or -infinity if query `query + i` does not see key `key
// + j`.
template <class W>
ON_DEVICE void score(const Team& team, const Heads& of, const W* queries, const W* keys,
                     std::int64_t query, std::int64_t key, W* scores) {
  const W factor = 1 / std::sqrt(static_cast<W>(of.width));
  for (std::int64_t k = team.rank; k < of.tile * of.tile; k += team.size) {
    const std::int64_t i = k / of.tile, j = k % of.tile;
    const bool sees = key + j <= query + i && query + i < of.rows;
    scores[k] = sees ? factor * dot(queries + i * of.pitch(), keys + j * of.pitch(), of.width)
                     : -std::numeric_limits<W>::infinity();
  }
}

// Online softmax state of a query: its largest score so far, and the sum of exp(score - largest).
template <class W>
struct RunningSoftmax {
  W largest, sum;
};

// Adds a row of scores to the online softmax and replaces the scores by exp(score - largest).
// Returns the factor by which earlier sums must be scaled.
template <class W>
ON_DEVICE W update_softmax(RunningSoftmax<W>& seen, W* scores, std::int64_t count) {
  W largest = seen.largest;
  for (std::int64_t j = 0; j < count; ++j) largest = scores[j] > largest ? scores[j] : largest;
  if (largest == -std::numeric_limits<W>::infinity()) {
    for (std::int64_t j = 0; j < count; ++j)
      scores[j] = scores[j] == largest ? W{0} : scores[j];  // the query sees none of these keys
    return 1;
  }
  const W scale = std::exp(seen.largest - largest);
  seen = {largest, seen.sum * scale};
  for (std::int64_t j = 0; j < count; ++j) {
    scores[j] = std::exp(scores[j] - largest);
    seen.sum += scores[j];
  }
  return scale;
}

// Computes sums[i,:] = scales[i] sums[i,:] + sum over j of parts[i,j] rows[j,:].
template <class W>
ON_DEVICE void add_rows(const Team& team, const Heads& of, W* sums, const W* scales, const W* parts,
                        const W* rows) {
  for (std::int64_t k = team.rank; k < of.tile * of.width; k += team.size) {
    const std::int64_t i = k / of.width, w = k % of.width;
    W sum = sums[k] * scales[i];
    for (std::int64_t j = 0; j < of.tile; ++j)
      sum += parts[i * of.tile + j] * rows[j * of.pitch() + w];
    sums[k] = sum;
  }
}

template <class W>
ON_DEVICE RunningSoftmax<W> empty_softmax() {
  return {-std::numeric_limits<W>::infinity(), 0};
}

inline constexpr std::int64_t kForwardMatrices = 4, kForwardSquares = 1;

template <class W>
void attend(Stream& stream, const compute::AttentionForward& op, const Heads& of) {
  const std::int64_t size = of.tile * of.width, matrix = of.tile * of.pitch(),
                     count = op.input.shape[0] * of.heads * of.tiles();
  for_teams(stream, count, tile_bytes<W>(of.tile, of.width, kForwardMatrices, kForwardSquares),
            [=] ON_DEVICE(const Team& team, std::int64_t at) {
              W *const queries = shared<W>(team), *const keys = queries + matrix,
                       *const values = keys + matrix, *const sums = values + matrix,
                       *const scores = sums + size;
              W* const scales = scores + of.tile * of.tile;
              auto* const seen = reinterpret_cast<RunningSoftmax<W>*>(scales + of.tile);
              const std::int64_t head = of.head(at), first = of.first_row(at);
              load(team, of, op.input, Projection::query, head, first, queries);
              for (std::int64_t k = team.rank; k < size; k += team.size) sums[k] = 0;
              for (std::int64_t i = team.rank; i < of.tile; i += team.size)
                seen[i] = empty_softmax<W>();
              for (std::int64_t key = 0; key <= first; key += of.tile) {
                load(team, of, op.input, Projection::key, head, key, keys);
                load(team, of, op.input, Projection::value, head, key, values);
                team.sync();
                score(team, of, queries, keys, first, key, scores);
                team.sync();
                for (std::int64_t i = team.rank; i < of.tile; i += team.size)
                  scales[i] = update_softmax(seen[i], scores + i * of.tile, of.tile);
                team.sync();
                add_rows(team, of, sums, scales, scores, values);
                team.sync();
              }
              for (std::int64_t k = team.rank; k < size; k += team.size)
                if (first + k / of.width < of.rows)
                  put(op.output, of.output(head, first + k / of.width) + k % of.width,
                      sums[k] / seen[k / of.width].sum);
            });
}

// Softmax state of a query for the gradients: p = exp(score - largest) / sum, and mean = g .
// output.
template <class W>
struct SoftmaxOfRow {
  W largest, sum, mean;
};

template <class W>
ON_DEVICE W mean_of(const Heads& of, const compute::AttentionBackward& op, std::int64_t head,
                    std::int64_t row) {
  W sum = 0;
  for (std::int64_t w = 0; w < of.width && row < of.rows; ++w)
    sum += get<W>(op.output_gradient, of.output(head, row) + w) *
           get<W>(op.output, of.output(head, row) + w);
  return sum;
}

inline constexpr std::int64_t kQueryMatrices = 5, kKeyMatrices = 6, kGradientSquares = 2;

// Computes the gradients of queries, the sum of d_ij key_j over visible keys. Also stores the
// softmax state of each query of every head in `all`.
template <class W>
void differentiate_queries(Stream& stream, const compute::AttentionBackward& op, const Heads& of,
                           SoftmaxOfRow<W>* all) {
  const std::int64_t size = of.tile * of.width, matrix = of.tile * of.pitch(),
                     square = of.tile * of.tile, count = op.input.shape[0] * of.heads * of.tiles();
  for_teams(stream, count, tile_bytes<W>(of.tile, of.width, kQueryMatrices, kGradientSquares),
            [=] ON_DEVICE(const Team& team, std::int64_t at) {
              W *const queries = shared<W>(team), *const gradients = queries + matrix,
                       *const keys = gradients + matrix, *const values = keys + matrix;
              W *const sums = values + matrix, *const scores = sums + size,
                       *const along = scores + square, *const scales = along + square;
              W* const means = scales + of.tile;
              auto* const seen = reinterpret_cast<RunningSoftmax<W>*>(means + of.tile);
              const std::int64_t head = of.head(at), first = of.first_row(at);
              load(team, of, op.input, Projection::query, head, first, queries);
              load(team, of, op.output_gradient, Projection::output, head, first, gradients);
              for (std::int64_t k = team.rank; k < size; k += team.size) sums[k] = 0;
              for (std::int64_t i = team.rank; i < of.tile; i += team.size)
                seen[i] = empty_softmax<W>(), means[i] = mean_of<W>(of, op, head, first + i);
              for (std::int64_t key = 0; key <= first; key += of.tile) {
                load(team, of, op.input, Projection::key, head, key, keys);
                load(team, of, op.input, Projection::value, head, key, values);
                team.sync();
                score(team, of, queries, keys, first, key, scores);
                for (std::int64_t k = team.rank; k < square; k += team.size)
                  along[k] = dot(gradients + k / of.tile * of.pitch(),
                                 values + k % of.tile * of.pitch(), of.width);
                team.sync();
                for (std::int64_t i = team.rank; i < of.tile; i += team.size) {
                  scales[i] = update_softmax(seen[i], scores + i * of.tile, of.tile);
                  for (std::int64_t k = i * of.tile; k < (i + 1) * of.tile; ++k)
                    along[k] = scores[k] * (along[k] - means[i]);
                }
                team.sync();
                add_rows(team, of, sums, scales, along, keys);
                team.sync();
              }
              const W factor = 1 / std::sqrt(static_cast<W>(of.width));
              for (std::int64_t k = team.rank; k < size; k += team.size)
                if (first + k / of.width < of.rows)
                  put(op.input_gradient, of.query(head, first + k / of.width) + k % of.width,
                      sums[k] * factor / seen[k / of.width].sum);
              for (std::int64_t i = team.rank; i < of.tile && first + i < of.rows; i += team.size)
                all[head * of.rows + first + i] = {seen[i].largest, seen[i].sum, means[i]};
            });
}

// Replaces scores[i,j] by the probabilities p_ij, and along[i,j] by the gradients d_ij of the
// scores.
template <class W>
ON_DEVICE void differentiate(const Team& team, const Heads& of, std::int64_t query,
                             const SoftmaxOfRow<W>* all, W* scores, const W* gradients,
                             const W* values, W* along) {
  const W factor = 1 / std::sqrt(static_cast<W>(of.width));
  for (std::int64_t k = team.rank; k < of.tile * of.tile; k += team.size) {
    const std::int64_t i = k / of.tile, j = k % of.tile;
    if (query + i >= of.rows) {
      scores[k] = along[k] = 0;
      continue;
    }
    const SoftmaxOfRow<W> softmax = all[query + i];
    scores[k] = std::exp(scores[k] - softmax.largest) / softmax.sum;
    along[k] = scores[k] *
               (dot(gradients + i * of.pitch(), values + j * of.pitch(), of.width) - softmax.mean) *
               factor;
  }
}

// Computes the gradients of keys, the sum of d_ij query_i, and of values, the sum of p_ij g_i, over
// the queries that see them.
template <class W>
void differentiate_keys(Stream& stream, const compute::AttentionBackward& op, const Heads& of,
                        const SoftmaxOfRow<W>* all) {
  const std::int64_t size = of.tile * of.width, matrix = of.tile * of.pitch(),
                     square = of.tile * of.tile, count = op.input.shape[0] * of.heads * of.tiles();
  for_teams(
      stream, count, tile_bytes<W>(of.tile, of.width, kKeyMatrices, kGradientSquares),
      [=] ON_DEVICE(const Team& team, std::int64_t at) {
        W *const queries = shared<W>(team), *const gradients = queries + matrix,
                 *const keys = gradients + matrix, *const values = keys + matrix;
        W *const key_sums = values + matrix, *const value_sums = key_sums + size,
                 *const scores = value_sums + size, *const along = scores + square;
        const std::int64_t head = of.head(at), first = of.first_row(at);
        load(team, of, op.input, Projection::key, head, first, keys);
        load(team, of, op.input, Projection::value, head, first, values);
        for (std::int64_t k = team.rank; k < size; k += team.size) key_sums[k] = value_sums[k] = 0;
        for (std::int64_t query = first; query < of.rows; query += of.tile) {
          load(team, of, op.input, Projection::query, head, query, queries);
          load(team, of, op.output_gradient, Projection::output, head, query, gradients);
          team.sync();
          score(team, of, queries, keys, query, first, scores);
          differentiate(team, of, query, all + head * of.rows, scores, gradients, values, along);
          team.sync();
          for (std::int64_t k = team.rank; k < size; k += team.size)
            for (std::int64_t i = 0; i < of.tile; ++i) {
              key_sums[k] +=
                  along[i * of.tile + k / of.width] * queries[i * of.pitch() + k % of.width];
              value_sums[k] +=
                  scores[i * of.tile + k / of.width] * gradients[i * of.pitch() + k % of.width];
            }
          team.sync();
        }
        for (std::int64_t k = team.rank; k < size; k += team.size) {
          if (first + k / of.width >= of.rows) continue;
          const std::int64_t place = of.query(head, first + k / of.width) + k % of.width;
          put(op.input_gradient, place + of.together, key_sums[k]);
          put(op.input_gradient, place + 2 * of.together, value_sums[k]);
        }
      });
}

inline base::Problem heads_too_wide(std::int64_t width) {
  return {"heads_too_wide",
          base::ProblemCode::bad_input,
          "attention",
          "each head has " + std::to_string(width) + " elements",
          "at most 2000 on this device",
          "Use more heads."};
}

template <class W>
base::Result<Run> make(Device&, const compute::AttentionForward& op) {
  const std::int64_t width = op.input.shape[2] / 3 / op.heads,
                     tile = tile_rows<W>(width, kForwardMatrices, kForwardSquares);
  if (supports_tensor_cores(op.input, width)) return by_tensor_cores(op);
  if (tile == 0) return base::fail(heads_too_wide(width));
  return Run(
      [op, of = heads_of(op.input, op.heads, tile)](Stream& stream) { attend<W>(stream, op, of); });
}

template <class W>
base::Result<Run> make(Device& device, const compute::AttentionBackward& op) {
  const std::int64_t width = op.input.shape[2] / 3 / op.heads,
                     tile = tile_rows<W>(width, kKeyMatrices, kGradientSquares);
  if (supports_tensor_cores(op.input, width)) return by_tensor_cores(device, op);
  if (tile == 0) return base::fail(heads_too_wide(width));
  auto memory = device.allocate(op.input.shape[0] * op.input.shape[1] * op.heads *
                                static_cast<std::int64_t>(sizeof(SoftmaxOfRow<W>)));
  if (!memory) return base::fail(memory.error());
  return Run([op, of = heads_of(op.input, op.heads, tile), memory = *memory](Stream& stream) {
    auto* const all = reinterpret_cast<SoftmaxOfRow<W>*>(memory.get());
    differentiate_queries<W>(stream, op, of, all);
    differentiate_keys<W>(stream, op, of, static_cast<const SoftmaxOfRow<W>*>(all));
  });
}

}  // namespace trainyard::cuda
