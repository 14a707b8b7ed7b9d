// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/model/model.h"

namespace trainyard::model {
namespace {

constexpr std::int64_t kGelu = 10;  // Flops per element, for erf or exp as a polynomial.

constexpr std::int64_t kExponential = 10;  // Flops per element.

std::int64_t square(std::int64_t side) { return side * side; }

// Returns the flops of one pass of a sample through the segment's weights: a multiply and an add
// for each use of a weight.
std::int64_t products(const Segment& s) { return 2 * s.inputs_of_output() * s.outputs; }

// Returns the number of pairs (query row, key row) per sample for which causal attention computes a
// score.
std::int64_t pairs_of_rows(const Segment& s) {
  return s.output_shape[0] * (s.output_shape[0] + 1) / 2;
}

// Returns the flops of attention for one sample. Each pair of rows costs `products` dot products
// over all channels, and `of_score` operations on the score of each head.
std::int64_t attention_flops(const Segment& s, std::int64_t products, std::int64_t of_score) {
  return pairs_of_rows(s) * (2 * products * s.channels() + of_score * s.heads);
}

}  // namespace

std::int64_t Parameter::index_in_full(std::int64_t i) const {
  if (!box.any()) return i;
  const std::int64_t columns = shape.elements() / shape[0],
                     of = box.whole.elements() / box.whole[0];
  return (box.first_row + i / columns) * of + box.first_column + i % columns;
}

Shape Segment::weight_shape() const {
  if (looks_up()) return table;
  switch (kind) {
    case LayerKind::linear: return {channels(), inputs_of_output()};
    case LayerKind::embedding: return vocabulary;
    case LayerKind::conv2d: return {output_shape[2], input_shape[2], window.kernel, window.kernel};
    case LayerKind::batch_norm:
    case LayerKind::layer_norm:
    case LayerKind::rms_norm: return {channels()};
    default: return {};
  }
}

std::int64_t Segment::bias_elements() const {
  if (!biased) return 0;
  if (kind == LayerKind::embedding) return outputs;
  if (tied_to >= 0) return 0;
  const bool shifts = !looks_up() && kind != LayerKind::rms_norm;
  return shifts && weight_shape().dimensions > 0 ? channels() : 0;
}

std::int64_t Segment::inputs_of_output() const {
  if (kind == LayerKind::linear) return input_shape[input_shape.dimensions - 1];
  if (kind == LayerKind::embedding) return vocabulary[1];
  if (looks_up()) return slot_count;
  return kind == LayerKind::conv2d ? input_shape[2] * square(window.kernel) : 1;
}

std::int64_t Segment::forward_flops() const {
  if (looks_up()) return slot_count * table[1];
  switch (kind) {
    case LayerKind::linear:
    case LayerKind::conv2d: return products(*this) + 2 * outputs;
    case LayerKind::max_pool:
    case LayerKind::average_pool: return square(window.kernel) * outputs;
    case LayerKind::batch_norm:
      return sums_flops() + 4 * outputs;  // 3 operations to normalize, 1 for the activation.
    case LayerKind::layer_norm:
      return 8 * outputs;  // 4 operations for mean and variance, 4 to normalize, scale and shift.
    case LayerKind::rms_norm: return 4 * outputs;
    case LayerKind::gelu: return kGelu * outputs;
    case LayerKind::attention: return attention_flops(*this, 2, kExponential + 4);
    case LayerKind::embedding:
    case LayerKind::add: return 2 * outputs;
    default: return outputs;
  }
}

std::int64_t Segment::sums_flops() const { return kind == LayerKind::batch_norm ? 3 * outputs : 0; }

std::int64_t Segment::backward_input_flops() const {
  switch (kind) {
    case LayerKind::linear:
    case LayerKind::conv2d: return products(*this);
    case LayerKind::max_pool:
    case LayerKind::average_pool: return square(window.kernel) * outputs;
    case LayerKind::batch_norm: return 5 * outputs;
    case LayerKind::layer_norm:
      return 14 * outputs;  // Operations for recomputed statistics, two means, and the result.
    case LayerKind::rms_norm: return 10 * outputs;
    case LayerKind::gelu: return 2 * kGelu * outputs;
    case LayerKind::attention:
      return attention_flops(*this, 5, kExponential + 6) +
             2 * outputs;  // Operations for recomputed scores, and for a mean per row.
    case LayerKind::add: return 2 * outputs;
    default: return outputs;
  }
}

std::int64_t Segment::backward_weight_flops() const {
  if (kind == LayerKind::batch_norm) return 6 * outputs;
  if (normalizes_rows(kind)) return (kind == LayerKind::layer_norm ? 10 : 6) * outputs;
  if (looks_up()) return slot_count * table[1];
  if (kind == LayerKind::embedding) return 2 * outputs;
  return weight_shape().dimensions > 0 ? products(*this) + 2 * outputs : 0;
}

}  // namespace trainyard::model
