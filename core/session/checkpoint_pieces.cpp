// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/session/checkpoint_pieces.h"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <map>
#include <set>

#include "core/compute/op_check.h"

namespace trainyard::session {
namespace {

using base::ProblemCode;
using base::Result;
using compute::Tensor;

const std::vector<model::Parameter>& entries(const model::Model& model, CheckpointBuffer buffer) {
  return buffer == CheckpointBuffer::state ? model.state : model.parameters;
}

bool is_moment(CheckpointBuffer buffer) { return buffer == CheckpointBuffer::moment1 || buffer == CheckpointBuffer::moment2; }
std::string prefix(CheckpointBuffer buffer) { return is_moment(buffer) ? std::string(base::name_of(buffer)) + "/" : ""; }

// Where it belongs: elements [first, end) of an entry.
struct Place {
  CheckpointBuffer buffer = CheckpointBuffer::parameters;
  const model::Parameter* entry = nullptr;  // null: the model has none of that name
  std::int64_t first = 0, end = 0;
  bool whole = true;
};

bool read_range(std::string_view text, Place& place) {
  const char* const end = text.data() + text.size();
  const auto first = std::from_chars(text.data(), end, place.first);
  if (first.ec != std::errc{} || first.ptr == end || *first.ptr != ':') return false;
  const auto last = std::from_chars(first.ptr + 1, end, place.end);
  return last.ec == std::errc{} && last.ptr != end && *last.ptr == ']' && last.ptr + 1 == end;
}

const model::Parameter* find(const std::vector<model::Parameter>& all, std::string_view name) {
  const auto found = std::find_if(all.begin(), all.end(), [&](const model::Parameter& one) { return one.name == name; });
  return found == all.end() ? nullptr : &*found;
}

Place place_of(std::string_view name, const model::Model& model) {
  Place place;
  for (const CheckpointBuffer buffer : {CheckpointBuffer::moment1, CheckpointBuffer::moment2})
    if (name.starts_with(prefix(buffer))) place.buffer = buffer, name.remove_prefix(prefix(buffer).size());
  const std::size_t bracket = name.rfind('[');
  place.whole = bracket == std::string_view::npos;
  const std::string_view entry = name.substr(0, bracket);
  place.entry = find(model.parameters, entry);
  if (place.entry == nullptr && !is_moment(place.buffer) && (place.entry = find(model.state, entry)) != nullptr) place.buffer = CheckpointBuffer::state;
  if (place.entry == nullptr) return place;
  if (place.whole) place.end = place.entry->shape.elements();
  else if (!read_range(name.substr(bracket + 1), place)) place.entry = nullptr;
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

Result<void> check_one(const std::filesystem::path& path, const NamedTensor& piece, const Place& place, const Tensor& wanted) {
  const std::string found = " for \"" + piece.name + "\": " + compute::to_text(piece.dtype, piece.shape) + ", of \"" + place.entry->name + "\" the model has " +
                            compute::to_text(wanted.dtype, place.entry->shape);
  const std::int64_t elements = place.entry->shape.elements();
  const bool within = place.first >= 0 && place.first < place.end && place.end <= elements && piece.shape == compute::Shape{place.end - place.first};
  if (place.whole ? piece.shape != place.entry->shape : !within) return base::fail(other_model(path, "has another shape" + found));
  if (piece.dtype != wanted.dtype) return base::fail(other_model(path, "has another dtype" + found));
  return {};
}

using Ranges = std::vector<std::pair<std::int64_t, std::int64_t>>;

// From 0 to `elements`, without gap or overlap.
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
  return {ProblemCode::refused, path.string(), std::move(what), "a checkpoint of this model and precision",
          "Take the model and the precision of the run that wrote it; they are in its experiment.json."};
}

std::vector<CheckpointSpan> spans_of(const CheckpointTensors& tensors) {
  std::vector<CheckpointSpan> spans{{CheckpointBuffer::parameters, 0, tensors.parameters}};
  if (!tensors.state.empty()) spans.push_back({CheckpointBuffer::state, 0, tensors.state});
  for (std::size_t m = 0; m < tensors.moments.size(); ++m)
    spans.push_back({m == 0 ? CheckpointBuffer::moment1 : CheckpointBuffer::moment2, 0, tensors.moments[m]});
  return spans;
}

std::vector<NamedTensor> pieces_of(const model::Model& model, const std::vector<CheckpointSpan>& spans) {
  std::vector<NamedTensor> pieces;
  for (const CheckpointSpan& span : spans)
    for (const model::Parameter& entry : entries(model, span.buffer)) {
      const std::int64_t elements = entry.shape.elements(), span_end = span.first + span.values.elements();
      const std::int64_t first = std::max(entry.offset, span.first) - entry.offset, end = std::min(entry.offset + elements, span_end) - entry.offset;
      const bool whole = first == 0 && end == elements;
      if (first >= end && !whole) continue;
      const std::int64_t width = base::size_of(span.values.dtype);
      const std::span bytes(span.values.data + (entry.offset + first - span.first) * width, static_cast<std::size_t>((end - first) * width));
      const std::string range = whole ? "" : "[" + std::to_string(first) + ":" + std::to_string(end) + "]";
      pieces.push_back({prefix(span.buffer) + entry.name + range, span.values.dtype, whole ? entry.shape : compute::Shape{end - first}, bytes});
    }
  return pieces;
}

Result<void> check_pieces(const std::filesystem::path& where, const std::vector<NamedTensor>& pieces, const model::Model& model,
                          const CheckpointTensors& wanted) {
  std::vector<Place> places;
  std::set<std::string_view> named;
  for (const NamedTensor& piece : pieces) {
    const Place& place = places.emplace_back(place_of(piece.name, model));
    if (!is_moment(place.buffer)) named.insert(std::string_view(piece.name).substr(0, piece.name.rfind('[')));
  }
  const std::size_t count = model.parameters.size() + model.state.size();
  if (named.size() != count) return base::fail(other_model(where, "has " + std::to_string(named.size()) + " tensors, the model " + std::to_string(count)));
  std::map<std::pair<CheckpointBuffer, const model::Parameter*>, Ranges> found;
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    const Place& place = places[i];
    if (place.entry == nullptr) return base::fail(other_model(where, "has a tensor \"" + pieces[i].name + "\", which the model has not"));
    const Tensor* tensor = wanted_at(wanted, place.buffer);
    if (tensor == nullptr) continue;
    if (auto ok = check_one(where, pieces[i], place, *tensor); !ok) return ok;
    found[{place.buffer, place.entry}].emplace_back(place.first, place.end);
  }
  for (const CheckpointSpan& span : spans_of(wanted))
    for (const model::Parameter& entry : entries(model, span.buffer))
      if (!cover(found[{span.buffer, &entry}], entry.shape.elements()))
        return base::fail(other_model(where, "does not have all of \"" + prefix(span.buffer) + entry.name + "\", each element once"));
  return {};
}

void copy_pieces(const std::vector<NamedTensor>& pieces, const model::Model& model, const CheckpointTensors& to) {
  for (const NamedTensor& piece : pieces) {
    const Place place = place_of(piece.name, model);
    const Tensor* tensor = wanted_at(to, place.buffer);
    if (tensor == nullptr || piece.data.empty()) continue;
    std::memcpy(tensor->data + (place.entry->offset + place.first) * base::size_of(tensor->dtype), piece.data.data(), piece.data.size());
  }
}

}  // namespace trainyard::session
