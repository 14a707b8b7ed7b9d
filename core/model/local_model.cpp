// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/model/local_model.h"

#include <algorithm>

namespace trainyard::model {
namespace {

// Returns the parameters of the segments (layers) that the rank has, laid out without gaps.
// `offset_change(segment)` returns by how much the offset of a segment's parameters changes.
template <class OffsetChange>
std::vector<Parameter> moved(const std::vector<Parameter>& parameters, const std::vector<bool>& has,
                             OffsetChange offset_change) {
  std::vector<Parameter> own;
  for (Parameter parameter : parameters) {
    if (!has[static_cast<std::size_t>(parameter.segment)]) continue;
    parameter.offset += offset_change(parameter.segment);
    own.push_back(std::move(parameter));
  }
  return own;
}

// Returns, for each segment, true if the rank has its parameters, because it has the segment itself
// or one that is tied to it.
std::vector<bool> kept_by(const Model& model, const std::vector<int>& owners, int rank) {
  std::vector<bool> has;
  for (const int owner : owners) has.push_back(owner == rank);
  for (std::size_t s = 0; s < has.size(); ++s)
    if (const int table = model.segments[s].tied_to; table >= 0 && owners[s] == rank)
      has[static_cast<std::size_t>(table)] = true;
  return has;
}

}  // namespace

Model part_of(const Model& model, const std::vector<int>& owners, int rank) {
  const std::vector<bool> has = kept_by(model, owners, rank);
  Model part = model;
  part.elements = part.state_elements = 0;
  for (std::size_t s = 0; s < part.segments.size(); ++s) {
    Segment& segment = part.segments[s];
    const bool own = has[s];
    segment.first = own && segment.tied_to < 0 ? part.elements : 0;
    segment.running = own ? part.state_elements : 0;
    if (!own) segment.elements = 0;
    part.elements += segment.elements;
    if (own && segment.kind == LayerKind::batch_norm) part.state_elements += 2 * segment.channels();
  }
  for (std::size_t s = 0; s < part.segments.size(); ++s) {
    Segment& segment = part.segments[s];
    if (segment.tied_to < 0) continue;
    Segment& table = part.segments[static_cast<std::size_t>(segment.tied_to)];
    segment.first = table.first;
    segment.apart = table.apart = owners[s] != owners[static_cast<std::size_t>(segment.tied_to)];
  }
  const auto segment_in = [](const Model& m, int s) -> const Segment& {
    return m.segments[static_cast<std::size_t>(s)];
  };
  part.parameters = moved(model.parameters, has, [&](int s) {
    return segment_in(part, s).first - segment_in(model, s).first;
  });
  part.state = moved(model.state, has, [&](int s) {
    return segment_in(part, s).running - segment_in(model, s).running;
  });
  return part;
}

std::vector<Stage> stages_of(const std::vector<int>& owners) {
  std::vector<Stage> stages;
  for (std::size_t s = 0; s < owners.size(); ++s) {
    const int segment = static_cast<int>(s);
    if (stages.empty() || stages.back().rank != owners[s])
      stages.push_back({segment, segment, owners[s]});
    else stages.back().last = segment;
  }
  return stages;
}

std::vector<int> inputs_of(const Model& model, int segment) {
  const Segment& s = model.segments[static_cast<std::size_t>(segment)];
  std::vector<int> inputs;
  if (s.addend >= 0) inputs.push_back(s.addend);
  if (s.looks_up() && segment > 0) inputs.push_back(-1);
  inputs.push_back(segment - 1);
  return inputs;
}

bool backward_needs_output(const Segment& s) {
  return s.kind == LayerKind::max_pool || s.kind == LayerKind::attention ||
         (s.activation != compute::Activation::none && s.kind != LayerKind::batch_norm);
}

bool backward_needs_input(const Segment& s) {
  return s.kind == LayerKind::batch_norm || s.kind == LayerKind::max_pool ||
         s.kind == LayerKind::gelu || s.kind == LayerKind::attention || normalizes_rows(s.kind);
}

// In batch normalization, the op for the weight gradient also computes the gradient before the
// activation.
std::vector<int> backward_inputs_of(const Model& model, int segment) {
  const Segment& s = model.segments[static_cast<std::size_t>(segment)];
  const bool activates = s.activation != compute::Activation::none,
             learns = model.owner(s).elements > 0;
  const bool has_backward = segment > model.first_with_parameters ||
                            (segment == model.first_with_parameters && activates);
  std::vector<int> inputs;
  if ((learns && !s.looks_up()) ||
      (segment > model.first_with_parameters && backward_needs_input(s)))
    inputs.push_back(segment - 1);
  if (has_backward && (backward_needs_output(s) || (s.kind == LayerKind::batch_norm && activates)))
    inputs.push_back(segment);
  std::erase(inputs, -1);
  return inputs;
}

std::vector<std::vector<int>> paths_of(const Model& model, const std::vector<Stage>& stages) {
  std::vector<std::vector<int>> paths(model.segments.size());
  for (std::size_t k = 0; k < stages.size(); ++k)
    for (int s = stages[k].first; s <= stages[k].last; ++s)
      paths[static_cast<std::size_t>(s)].push_back(static_cast<int>(k));
  for (std::size_t k = 0; k < stages.size(); ++k)
    for (int s = stages[k].first; s <= stages[k].last; ++s)
      for (const int input : inputs_of(model, s))
        if (input >= 0 && paths[static_cast<std::size_t>(input)].back() != static_cast<int>(k))
          paths[static_cast<std::size_t>(input)].push_back(static_cast<int>(k));
  return paths;
}

}  // namespace trainyard::model
