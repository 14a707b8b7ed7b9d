// SPDX-License-Identifier: GPL-3.0-or-later
#include <algorithm>

#include "core/experiment/field_templates.h"
#include "core/experiment/validation_result.h"

namespace trainyard::experiment {
namespace {

using base::Json;
using base::Problem;
using base::Problems;

// True if the document path `where` is `place`, or a field inside the object or list at `place`.
bool is_inside(const std::string& where, const std::string& place) {
  return where.starts_with(place) &&
         (where.size() == place.size() || where[place.size()] == '.' || where[place.size()] == '[');
}

// True if the refused unknown key may be a misspelling of the field at `where`, which is missing in
// the same object.
bool may_mean(const Problem& refused, const std::string& where, const Json& written) {
  // Start of the last name in the path; 0 if the key is at the top level.
  const std::size_t beside = refused.where.rfind('.') + 1;
  if (refused.id != base::kUnknownKey || !where.starts_with(refused.where.substr(0, beside)))
    return false;
  return !base::value_at(written, where.substr(0, where.find_first_of(".[", beside)));
}

// True if the value is a list or an object. If it was rejected, everything in it is missing.
bool is_part(const std::string& where, const Json& kept) {
  const auto value = base::value_at(kept, where);
  return value && value->is_structured();
}

bool is_sample_count(const std::string& where) {
  return where == "data.train_samples" || where == "data.held_out_samples";
}
bool is_route_problem(const std::string& where) {
  return where.starts_with("topology.hosts[") && where.ends_with("]");
}
bool is_link_problem(const std::string& where) {
  return is_inside(where, "topology.links") || is_route_problem(where);
}
bool counts_workers(const std::string& where) {
  return where == "topology.hosts" || where == "strategy.kind" ||
         where == "training.batch_per_rank" || where == "training.accumulation_steps" ||
         is_inside(where, "data.sharding") || is_sample_count(where) || is_route_problem(where);
}

// True if a rejected part of the drawing may cause the problem at `where`. Links refer to device
// names, and roles determine the number of workers, so problems of links and of workers may follow
// from the rejected part.
bool invalidates_drawing(const std::string& refused, const std::string& where, const Json& kept) {
  if (!is_inside(refused, "topology")) return false;
  const bool part = is_part(refused, kept),
             may_hold_devices = refused == "topology" || is_inside(refused, "topology.hosts");
  if ((part || refused.ends_with(".name")) && is_link_problem(where)) return true;
  if (may_hold_devices && refused.ends_with(".kind") && where == "strategy.kind")
    return true;  // Some strategies require devices of a certain kind.
  return may_hold_devices && (part || refused.ends_with(".role")) && counts_workers(where);
}

// True if the field depends on the mesh, which assigns layers and samples to ranks.
bool depends_on_mesh(const std::string& where) {
  return is_inside(where, "strategy.mesh") || is_inside(where, "strategy.stages") ||
         is_inside(where, "strategy.fsdp") || is_inside(where, "model") ||
         where == "training.accumulation_steps" || counts_workers(where);
}

// True if the problem at `where` may exist only because the rejected field has its default value.
bool may_be_caused_by(const Problem& refused, const std::string& where, const Json& written,
                      const Json& kept) {
  if (is_inside(where, refused.where) || may_mean(refused, where, written) ||
      invalidates_drawing(refused.where, where, kept))
    return true;
  if (is_inside(refused.where, "model"))
    return is_inside(where, "model");  // A layer is validated together with its neighbors.
  if (is_inside(refused.where, "strategy.mesh")) return depends_on_mesh(where);
  if (refused.where == "data.kind") return is_inside(where, "data");
  return is_sample_count(refused.where) && is_sample_count(where);
}

}  // namespace

Problems remaining_problems(const Problems& refused, const Json& written,
                            const std::filesystem::path* directory) {
  Experiment read;
  Problems again;
  base::read_document(written, read, "", again);
  const bool data_as_written =
      std::none_of(refused.begin(), refused.end(),
                   [](const Problem& problem) { return is_inside(problem.where, "data"); });
  Problems problems = directory ? examine(read, *directory, data_as_written).problems
                                : semantic_problems(read, nullptr);
  std::erase_if(problems, [&, kept = to_json(read)](const Problem& problem) {
    return std::any_of(refused.begin(), refused.end(), [&](const Problem& known) {
      return may_be_caused_by(known, problem.where, written, kept);
    });
  });
  return problems;
}

}  // namespace trainyard::experiment
