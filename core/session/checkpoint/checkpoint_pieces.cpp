// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/session/checkpoint/checkpoint_pieces.h"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <map>
#include <set>

#include "core/base/json.h"
#include "core/base/units.h"
#include "core/compute/op_check.h"

namespace trainyard::session {
namespace {

using base::ProblemCode;
using base::Result;
using compute::Tensor;

const std::vector<model::Parameter>& entries(const model::Model& model, CheckpointBuffer buffer) {
  return buffer == CheckpointBuffer::state ? model.state : model.parameters;
}

bool is_moment(CheckpointBuffer buffer) {
  return buffer == CheckpointBuffer::moment1 || buffer == CheckpointBuffer::moment2;
}
std::string prefix(CheckpointBuffer buffer) {
  return is_moment(buffer) ? std::string(base::name_of(buffer)) + "/" : "";
}

struct Range {
  std::int64_t first = 0, end = 0;
  std::int64_t count() const { return end - first; }
  bool within(std::int64_t count) const { return first >= 0 && first < end && end <= count; }
};

// Position of a piece of a tensor in the model: a box of rows and columns of a parameter (entry). A
// flat range of elements counts as one row.
struct PieceLocation {
  CheckpointBuffer buffer = CheckpointBuffer::parameters;
  const model::Parameter* entry = nullptr;  // Null if the model has no entry of that name.
  Range rows, columns;
  // Elements per row of the entry; all elements of the entry if the piece is a flat range.
  std::int64_t row_elements = 0;
  bool whole = true;

  std::int64_t first_of_row(std::int64_t row) const {
    return (rows.first + row) * row_elements + columns.first;
  }
};

std::int64_t row_elements(const compute::Shape& shape) {
  return shape.elements() / std::max<std::int64_t>(shape[0], 1);
}

// Parses an element range such as "100:250" at the front of `text`, and removes it from `text`.
bool read_range(std::string_view& text, Range& range) {
  const char* const end = text.data() + text.size();
  const auto first = std::from_chars(text.data(), end, range.first);
  if (first.ec != std::errc{} || first.ptr == end || *first.ptr != ':') return false;
  const auto last = std::from_chars(first.ptr + 1, end, range.end);
  text.remove_prefix(static_cast<std::size_t>(last.ptr - text.data()));
  return last.ec == std::errc{} && !text.empty();
}

// Parses the ranges in a tensor's name, such as "100:250]" or "0:128,64:128]", into `place`.
// Returns false if they are malformed.
bool read_ranges(std::string_view text, PieceLocation& place) {
  place.rows = {0, 1};
  place.row_elements = place.entry->shape.elements();
  if (!read_range(text, place.columns)) return false;
  if (text.front() == ',') {
    text.remove_prefix(1);
    place.rows = place.columns;
    place.row_elements = row_elements(place.entry->shape);
    if (!read_range(text, place.columns)) return false;
  }
  return text == "]";
}

const model::Parameter* find(const std::vector<model::Parameter>& all, std::string_view name) {
  const auto found = std::find_if(all.begin(), all.end(),
                                  [&](const model::Parameter& one) { return one.name == name; });
  return found == all.end() ? nullptr : &*found;
}

PieceLocation place_of(std::string_view name, const model::Model& model) {
  PieceLocation place;
  for (const CheckpointBuffer buffer : {CheckpointBuffer::moment1, CheckpointBuffer::moment2})
    if (name.starts_with(prefix(buffer)))
      place.buffer = buffer, name.remove_prefix(prefix(buffer).size());
  const std::size_t bracket = name.rfind('[');
  place.whole = bracket == std::string_view::npos;
  const std::string_view entry = name.substr(0, bracket);
  place.entry = find(model.parameters, entry);
  if (place.entry == nullptr && !is_moment(place.buffer) &&
      (place.entry = find(model.state, entry)) != nullptr)
    place.buffer = CheckpointBuffer::state;
  if (place.entry == nullptr) return place;
  const std::int64_t elements = place.entry->shape.elements();
  if (place.whole)
    place.rows = {0, 1}, place.columns = {0, elements}, place.row_elements = elements;
  else if (!read_ranges(name.substr(bracket + 1), place)) place.entry = nullptr;
  return place;
}

const Tensor* wanted_at(const CheckpointTensors& tensors, CheckpointBuffer buffer) {
  const std::size_t moment = buffer == CheckpointBuffer::moment2 ? 1 : 0;
  switch (buffer) {
    case CheckpointBuffer::parameters: return &tensors.parameters;
    case CheckpointBuffer::state: return &tensors.state;
    default: return moment < tensors.moments.size() ? &tensors.moments[moment] : nullptr;
  }
}

Result<void> check_one(const std::filesystem::path& path, const NamedTensor& piece,
                       const PieceLocation& place, const Tensor& wanted) {
  const std::string found =
      fmt::format("tensor \"{}\" of the checkpoint is {}, but \"{}\" of the model is {}",
                  piece.name, compute::to_text(piece.dtype, piece.shape), place.entry->name,
                  compute::to_text(wanted.dtype, place.entry->shape));
  const std::int64_t rows =
      place.row_elements > 0 ? place.entry->shape.elements() / place.row_elements : 0;
  const bool is_box = rows > 1 || piece.shape.dimensions == 2;
  const bool within =
      place.rows.within(rows) && place.columns.within(place.row_elements) &&
      piece.shape == (is_box ? compute::Shape{place.rows.count(), place.columns.count()}
                             : compute::Shape{place.columns.count()});
  if (place.whole ? piece.shape != place.entry->shape : !within)
    return base::fail(other_model(path, fmt::format("another shape: {}", found)));
  if (piece.dtype != wanted.dtype)
    return base::fail(other_model(path, fmt::format("another dtype: {}", found)));
  return {};
}

using Ranges = std::vector<std::pair<std::int64_t, std::int64_t>>;

void add_rows(const PieceLocation& place, Ranges& ranges) {
  for (std::int64_t row = 0; row < place.rows.count(); ++row)
    ranges.emplace_back(place.first_of_row(row), place.first_of_row(row) + place.columns.count());
}

std::string to_text(std::int64_t first, std::int64_t end) {
  return std::to_string(first) + ":" + std::to_string(end);
}
std::string range_text(std::int64_t first, std::int64_t end) {
  return "[" + to_text(first, end) + "]";
}

// True if the shard has full rows, so its elements are contiguous in the full tensor.
bool has_whole_rows(const model::Parameter& entry) {
  return row_elements(entry.shape) == row_elements(entry.box.whole);
}

// Adds the elements of a box, beginning with element `first`, as pieces of a tensor. If the box
// does not have full rows, there are up to three pieces: the end of one row, complete rows, and the
// beginning of a row.
void add_pieces_of_box(const std::string& name, const model::Parameter& entry, const Tensor& values,
                       std::int64_t first, std::vector<NamedTensor>& pieces) {
  const std::int64_t columns = row_elements(entry.shape), end = first + values.elements(),
                     width = base::size_of(values.dtype);
  const auto bytes = [&](std::int64_t from, std::int64_t to) {
    return std::span(values.data + (from - first) * width,
                     static_cast<std::size_t>((to - from) * width));
  };
  if (has_whole_rows(entry)) {
    const std::int64_t index_in_full = entry.index_in_full(first);
    return pieces.push_back({name + range_text(index_in_full, index_in_full + values.elements()),
                             values.dtype, values.shape, bytes(first, end)});
  }
  for (std::int64_t from = first, to = 0; from < end; from = to) {
    const bool cut = from % columns > 0 || end - from < columns;
    to = cut ? std::min(from - from % columns + columns, end) : end - end % columns;
    const std::int64_t row = entry.box.first_row + from / columns,
                       column = entry.box.first_column + from % columns;
    const compute::Shape shape{cut ? 1 : (to - from) / columns, cut ? to - from : columns};
    pieces.push_back(
        {name + "[" + to_text(row, row + shape[0]) + "," + to_text(column, column + shape[1]) + "]",
         values.dtype, shape, bytes(from, to)});
  }
}

base::Problem lacks_moments(const std::filesystem::path& path, CheckpointBuffer moment) {
  return {"checkpoint_without_moments",
          ProblemCode::refused,
          path.string(),
          fmt::format("the checkpoint has the parameters, but not the {} that this optimizer needs",
                      base::name_of(moment)),
          "a checkpoint that contains the moments of this optimizer; runs with parameter_server "
          "write them",
          "Set training.optimizer.kind to sgd and training.optimizer.momentum to 0, or start from "
          "the beginning. Only runs with parameter_server save moments."};
}

// True if the ranges cover [0, `elements`) without gap or overlap.
bool cover(Ranges ranges, std::int64_t elements) {
  std::sort(ranges.begin(), ranges.end());
  std::int64_t end = 0;
  for (const auto& [first, last] : ranges) {
    if (first != end) return false;
    end = last;
  }
  return end == elements;
}

}  // namespace

base::Problem other_model(const std::filesystem::path& path, std::string what) {
  return {"checkpoint_of_other_model",
          ProblemCode::refused,
          path.string(),
          std::move(what),
          "a checkpoint of this model and precision",
          "Use the model and the precision of the run that wrote the checkpoint. The "
          "experiment.json of that run states both."};
}

std::vector<CheckpointSpan> spans_of(const CheckpointTensors& tensors) {
  std::vector<CheckpointSpan> spans{{CheckpointBuffer::parameters, 0, tensors.parameters}};
  if (!tensors.state.empty()) spans.push_back({CheckpointBuffer::state, 0, tensors.state});
  for (std::size_t m = 0; m < tensors.moments.size(); ++m)
    spans.push_back(
        {m == 0 ? CheckpointBuffer::moment1 : CheckpointBuffer::moment2, 0, tensors.moments[m]});
  return spans;
}

std::vector<NamedTensor> pieces_of(const model::Model& model,
                                   const std::vector<CheckpointSpan>& spans) {
  std::vector<NamedTensor> pieces;
  for (const CheckpointSpan& span : spans)
    for (const model::Parameter& entry : entries(model, span.buffer)) {
      const std::int64_t elements = entry.shape.elements(),
                         span_end = span.first + span.values.elements();
      const std::int64_t first = std::max(entry.offset, span.first) - entry.offset,
                         end = std::min(entry.offset + elements, span_end) - entry.offset;
      const bool whole = first == 0 && end == elements;
      if (first >= end && !whole) continue;
      const base::DType dtype = span.values.dtype;
      const Tensor values{
          dtype,
          {end - first},
          span.values.data + (entry.offset + first - span.first) * base::size_of(dtype)};
      const std::string name = prefix(span.buffer) + entry.name;
      if (entry.box.any()) {
        add_pieces_of_box(name, entry, values, first, pieces);
        continue;
      }
      const std::span bytes(values.data, static_cast<std::size_t>(values.bytes()));
      pieces.push_back({name + (whole ? "" : range_text(first, end)), dtype,
                        whole ? entry.shape : values.shape, bytes});
    }
  return pieces;
}

Result<void> check_pieces(const std::filesystem::path& where,
                          const std::vector<NamedTensor>& pieces, const model::Model& model,
                          const CheckpointTensors& wanted) {
  std::vector<PieceLocation> places;
  std::set<std::string_view> named;
  for (const NamedTensor& piece : pieces) {
    const PieceLocation& place = places.emplace_back(place_of(piece.name, model));
    if (!is_moment(place.buffer))
      named.insert(std::string_view(piece.name).substr(0, piece.name.rfind('[')));
  }
  const std::size_t count = model.parameters.size() + model.state.size();
  if (named.size() != count)
    return base::fail(
        other_model(where, fmt::format("the checkpoint has {}, but the model has {}",
                                       base::counted(std::ssize(named), "tensor"), count)));
  std::map<std::pair<CheckpointBuffer, const model::Parameter*>, Ranges> found;
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    const PieceLocation& place = places[i];
    if (place.entry == nullptr)
      return base::fail(
          other_model(where, fmt::format("the model has no tensor \"{}\"", pieces[i].name)));
    const Tensor* tensor = wanted_at(wanted, place.buffer);
    if (tensor == nullptr) continue;
    if (auto ok = check_one(where, pieces[i], place, *tensor); !ok) return ok;
    add_rows(place, found[{place.buffer, place.entry}]);
  }
  for (const CheckpointSpan& span : spans_of(wanted))
    if (is_moment(span.buffer) && std::ranges::none_of(places, [&](const PieceLocation& place) {
          return place.buffer == span.buffer;
        }))
      return base::fail(lacks_moments(where, span.buffer));
  for (const CheckpointSpan& span : spans_of(wanted))
    for (const model::Parameter& entry : entries(model, span.buffer))
      if (!cover(found[{span.buffer, &entry}], entry.shape.elements()))
        return base::fail(other_model(
            where, fmt::format("the checkpoint does not contain each element of \"{}{}\" once",
                               prefix(span.buffer), entry.name)));
  return {};
}

void copy_pieces(const std::vector<NamedTensor>& pieces, const model::Model& model,
                 const CheckpointTensors& to) {
  for (const NamedTensor& piece : pieces) {
    const PieceLocation place = place_of(piece.name, model);
    const Tensor* tensor = wanted_at(to, place.buffer);
    if (tensor == nullptr || piece.data.empty()) continue;
    const std::int64_t width = base::size_of(tensor->dtype), bytes = place.columns.count() * width;
    for (std::int64_t row = 0; row < place.rows.count(); ++row)
      std::memcpy(tensor->data + (place.entry->offset + place.first_of_row(row)) * width,
                  piece.data.data() + row * bytes, static_cast<std::size_t>(bytes));
  }
}

}  // namespace trainyard::session
