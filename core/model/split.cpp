// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/model/split.h"

#include <algorithm>
#include <optional>

namespace trainyard::model {
namespace {

// Contiguous range of outputs, inputs or rows of a layer.
struct Range {
  std::int64_t first = 0, count = 0;
};

// Divides `count` elements among the ranks and returns the range of one rank. If `ranks` does not
// divide `count`, the first ranks get one more.
Range range_of(std::int64_t count, int ranks, int rank) {
  const std::int64_t each = count / ranks, longer = count % ranks;
  return {rank * each + std::min<std::int64_t>(rank, longer), each + (rank < longer ? 1 : 0)};
}

std::int64_t last_extent(const Shape& shape) { return shape[shape.dimensions - 1]; }
void set_last(Shape& shape, std::int64_t extent) {
  shape.extents[static_cast<std::size_t>(shape.dimensions) - 1] = extent;
}

// First and last linear layer of a pair, and the number of attention heads between them if heads
// are split.
struct Pair {
  int first = 0, last = 0;
  std::int64_t heads = 0;
};

class Splitter {
 public:
  Splitter(const Model& model, int ranks) : model_(model), ranks_(ranks) {}

  std::vector<Pair> pairs() const {
    std::vector<Pair> list;
    for (int s = 0; s < count(); ++s)
      if (const auto pair = pair_from(s)) {
        list.push_back(*pair);
        s = pair->last;
      }
    return list;
  }

  bool splits_table() const {
    const Segment& first = model_.segments.front();
    return ranks_ > 1 && first.kind == LayerKind::embedding && first.vocabulary[0] >= ranks_;
  }

  // True if the last layer is linear, is in no pair, and can be split by classes.
  bool splits_classes() const {
    const Segment& last = model_.segments.back();
    return ranks_ > 1 && last.kind == LayerKind::linear &&
           last.activation == compute::Activation::none && last.channels() >= ranks_ &&
           is_of_one(count() - 2) && (last.tied_to < 0 || splits_table());
  }

  int count() const { return static_cast<int>(model_.segments.size()); }

 private:
  const Segment& segment(int s) const { return model_.segments[static_cast<std::size_t>(s)]; }

  // True if only the next segment uses the output number `value`, that is, no residual sum adds it.
  bool is_of_one(int value) const {
    return std::none_of(model_.segments.begin(), model_.segments.end(),
                        [&](const Segment& s) { return value >= 0 && s.addend == value; });
  }
  bool may_split(int s) const {
    return segment(s).kind == LayerKind::linear && segment(s).tied_to < 0;
  }
  bool goes_on(int s) const {
    return is_of_one(s) && s + 1 < count() && segment(s + 1).input_shape == segment(s).output_shape;
  }

  std::optional<Pair> pair_from(int first) const {
    if (ranks_ < 2 || !may_split(first) || !is_of_one(first - 1) ||
        segment(first).channels() < ranks_)
      return std::nullopt;
    Pair pair{first, first, 0};
    while (goes_on(pair.last)) {
      const Segment& next = segment(++pair.last);
      if (may_split(pair.last)) return pair;
      const bool attends = next.kind == LayerKind::attention && pair.last == first + 1 &&
                           segment(first).activation == compute::Activation::none;
      if (attends && next.heads % ranks_ == 0) pair.heads = next.heads;
      else if (next.kind != LayerKind::gelu) return std::nullopt;
    }
    return std::nullopt;
  }

  const Model& model_;
  int ranks_;
};

// Builds the local model of one rank.
class ShardBuilder {
 public:
  ShardBuilder(const Model& model, int ranks, int rank)
      : whole_(model), ranks_(ranks), rank_(rank), part_(model) {}

  Model made() {
    const Splitter splitter(whole_, ranks_);
    for (const Pair& pair : splitter.pairs()) split(pair);
    const bool last_is_free = part_.segments.back().split == Split::none;
    if (splitter.splits_table()) split_table();
    if (last_is_free && splitter.splits_classes()) split_classes();
    lay_out();
    return std::move(part_);
  }

 private:
  Segment& segment(int s) { return part_.segments[static_cast<std::size_t>(s)]; }
  const Segment& whole(int s) const { return whole_.segments[static_cast<std::size_t>(s)]; }

  // Splits a pair of layers. If heads are split, query, key and value are each split by heads.
  void split(const Pair& pair) {
    const std::int64_t wide = pair.heads > 0 ? 3 : 1,
                       all = last_extent(whole(pair.first).output_shape) / wide;
    const std::int64_t unit = pair.heads > 0 ? all / pair.heads : 1;
    const Range units = range_of(all / unit, ranks_, rank_);
    const Range own{units.first * unit, units.count * unit};
    for (int s = pair.first; s <= pair.last; ++s) {
      Segment& one = segment(s);
      const bool before_heads = pair.heads > 0 && s == pair.first,
                 after_heads = pair.heads > 0 && s > pair.first + 1;
      if (s > pair.first)
        set_last(one.input_shape, pair.heads > 0 && !after_heads ? 3 * own.count : own.count);
      if (s < pair.last) set_last(one.output_shape, before_heads ? 3 * own.count : own.count);
      if (one.kind == LayerKind::attention) one.heads = units.count;
      resize(one);
    }
    take(segment(pair.first), Split::outputs, own, all);
    take(segment(pair.last), Split::inputs, own, all);
    segment(pair.last).biased = rank_ == 0;
    thirds_[static_cast<std::size_t>(pair.first)] = pair.heads > 0;
  }

  void split_table() {
    Segment& table = segment(0);
    const std::int64_t rows = table.vocabulary[0];
    const Range own = range_of(rows, ranks_, rank_);
    table.vocabulary.extents[0] = own.count;
    take(table, Split::rows, own, rows);
    table.biased = rank_ == 0;
  }

  void split_classes() {
    Segment& last = part_.segments.back();
    const std::int64_t classes = last.channels();
    const Range own = range_of(classes, ranks_, rank_);
    set_last(last.output_shape, own.count);
    resize(last);
    take(last, Split::outputs, own, classes);
    part_.classes = own.count;
  }

  static void resize(Segment& s) {
    s.inputs = s.input_shape.elements();
    s.outputs = s.output_shape.elements();
  }
  static void take(Segment& s, Split split, const Range& own, std::int64_t all) {
    s.split = split;
    s.split_first = own.first;
    s.split_of = all;
  }

  void lay_out() {
    part_.elements = 0;
    part_.parameters.clear();
    for (int s = 0; s < static_cast<int>(part_.segments.size()); ++s) {
      Segment& one = segment(s);
      if (one.elements == 0) continue;
      one.first = part_.elements;
      for (const Parameter& parameter : whole_.parameters)
        if (parameter.segment == s) add(one, parameter);
      one.elements = part_.elements - one.first;
    }
    for (Segment& one : part_.segments)
      if (one.tied_to >= 0) one.first = part_.owner(one).first;
  }

  // Adds the rank's shard of a parameter. Outputs are rows of the weight and elements of the bias.
  void add(const Segment& s, const Parameter& parameter) {
    const bool is_weight = parameter.offset == whole(parameter.segment).first;
    if (!is_weight && !s.biased) return;
    if (s.split == Split::none || (!is_weight && s.split != Split::outputs))
      return add_box(parameter, {0, rows_of(parameter)}, {0, columns_of(parameter)});
    const std::int64_t count = s.split == Split::rows     ? s.vocabulary[0]
                               : s.split == Split::inputs ? last_extent(s.input_shape)
                                                          : last_extent(s.output_shape);
    if (s.split == Split::inputs)
      return add_box(parameter, {0, rows_of(parameter)}, {s.split_first, count});
    const std::int64_t parts = thirds_[static_cast<std::size_t>(parameter.segment)] ? 3 : 1;
    for (std::int64_t k = 0; k < parts; ++k)
      add_box(parameter, {k * s.split_of + s.split_first, count / parts},
              {0, columns_of(parameter)});
  }

  static std::int64_t rows_of(const Parameter& p) { return p.shape[0]; }
  static std::int64_t columns_of(const Parameter& p) { return p.shape.elements() / p.shape[0]; }

  void add_box(const Parameter& of, const Range& rows, const Range& columns) {
    Parameter& box = part_.parameters.emplace_back(of);
    box.offset = part_.elements;
    part_.elements += rows.count * columns.count;
    if (rows.count == rows_of(of) && columns.count == columns_of(of)) return;
    box.box = {of.shape, rows.first, columns.first};
    box.shape = of.shape.dimensions == 1 ? Shape{rows.count} : Shape{rows.count, columns.count};
  }

  const Model& whole_;
  int ranks_, rank_;
  Model part_;
  // For each segment: true if its outputs are query, key and value, each of which is split.
  std::vector<char> thirds_ = std::vector<char>(whole_.segments.size(), 0);
};

}  // namespace

std::vector<Split> splits_of(const Model& model, int ranks) {
  std::vector<Split> list;
  const Model first = split_of(model, ranks, 0);
  for (const Segment& segment : first.segments) list.push_back(segment.split);
  return list;
}

Model split_of(const Model& model, int ranks, int rank) {
  return ShardBuilder(model, ranks, rank).made();
}

std::int64_t split_count(const Model& model, int segment) {
  const Segment& s = model.segments[static_cast<std::size_t>(segment)];
  const bool before_heads =
      segment + 1 < static_cast<int>(model.segments.size()) &&
      model.segments[static_cast<std::size_t>(segment) + 1].kind == LayerKind::attention;
  switch (s.split) {
    case Split::none: return 0;
    case Split::outputs: return s.channels() / (before_heads ? 3 : 1);
    case Split::inputs: return s.inputs_of_output();
    case Split::rows: return s.vocabulary[0];
  }
  return 0;
}

std::int64_t undivided_heads(const Model& model, int ranks) {
  const auto at = std::find_if(model.segments.begin(), model.segments.end(), [&](const Segment& s) {
    return s.kind == LayerKind::attention && s.heads % ranks != 0;
  });
  return at == model.segments.end() ? 0 : at->heads;
}

}  // namespace trainyard::model
