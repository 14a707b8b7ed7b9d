// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/experiment/resolve.h"

#include <algorithm>
#include <set>

#include "core/experiment/findings.h"

// What travels of a summary.
template <>
struct trainyard::base::Fields<trainyard::data::DataSummary> {
  using D = trainyard::data::DataSummary;
  static constexpr std::string_view title = "Data summary";
  static auto table() {
    return std::tuple{field("sample_shape", &D::sample_shape, "", {1, 8}, "Extents of a sample"),
                      field("classes", &D::classes, "classes", {2, 1e6}, "Number of classes"),
                      field("train_samples", &D::train_samples, "samples", {1, 1e10}, "Samples to train on"),
                      field("held_out_samples", &D::held_out_samples, "samples", {0, 1e10}, "Samples kept apart")};
  }
};

namespace trainyard::experiment {
namespace {

using base::Json;
using base::ProblemCode;
using base::Problems;

constexpr double kMostFeatures = 1e9;

// shm where all ranks share a drawn host, zmq where no two do; a mixture stays `automatic`.
TransportKind transport_of(TransportKind asked, const std::vector<int>& hosts) {
  if (asked != TransportKind::automatic) return asked;
  const std::set<int> distinct(hosts.begin(), hosts.end());
  if (distinct.size() == 1) return TransportKind::shm;
  return distinct.size() == hosts.size() ? TransportKind::zmq : TransportKind::automatic;
}

void place_ranks(Resolved& resolved) {
  const topology::Network network(resolved.document.topology);
  resolved.ranks = network.workers();
  for (const topology::DeviceId device : resolved.ranks) resolved.hosts.push_back(network.host_index(device));
}

void count_steps(Resolved& resolved) {
  const TrainingSpec& training = resolved.document.training;
  const std::int64_t samples = resolved.data.train_samples;
  resolved.global_batch = training.batch_per_rank * resolved.world();
  resolved.full_steps_per_epoch = samples / resolved.global_batch;
  resolved.tail_samples = samples % resolved.global_batch;
  resolved.steps_per_epoch = resolved.full_steps_per_epoch + (resolved.tail_samples > 0 ? 1 : 0);
  resolved.steps = training.steps > 0 ? training.steps : training.epochs * resolved.steps_per_epoch;
}

void fill_automatic_values(Resolved& resolved) {
  Experiment& document = resolved.document;
  document.data.train_samples = resolved.data.train_samples;
  document.data.held_out_samples = resolved.data.held_out_samples;
  document.model.layers.back().units = resolved.data.classes;
  document.run.transport = transport_of(document.run.transport, resolved.hosts);
  document.training.steps = resolved.steps;
  if (document.run.evaluate_every_steps == 0) document.run.evaluate_every_steps = resolved.steps_per_epoch;
}

// Of an experiment without problems; pure, and done again on its own document it changes nothing.
base::Result<Resolved> derive(const Experiment& experiment, const data::DataSummary& data) {
  return model::build(experiment.model, data.features(), data.classes).and_then([&](model::Model built) -> base::Result<Resolved> {
    Resolved resolved{experiment, data, std::move(built), {}, {}};
    place_ranks(resolved);
    count_steps(resolved);
    fill_automatic_values(resolved);
    if (auto whole = from_json(to_json(resolved.document)); !whole) return base::fail(whole.error().front());
    return resolved;
  });
}

void make_absolute(std::string& path, const std::filesystem::path& directory) {
  if (!path.empty()) path = std::filesystem::absolute(directory / path).lexically_normal().string();
}

Problems summary_problems(const data::DataSummary& data) {
  double features = 1;
  for (const std::int64_t extent : data.sample_shape) features *= extent >= 1 ? static_cast<double>(extent) : kMostFeatures + 1;
  if (features <= kMostFeatures) return {};
  return {{ProblemCode::bad_input, "data.sample_shape", "the extents are not those of a sample", "1 or more, and at most 1e9 together", ""}};
}

base::Result<data::DataSummary> read_summary(const Json& json) {
  data::DataSummary data;
  Problems problems;
  base::read_document(json, data, "data", problems);
  if (problems.empty()) problems = summary_problems(data);
  if (!problems.empty()) return base::fail(problems.front());
  return data;
}

}  // namespace

Experiment located(Experiment experiment, const std::filesystem::path& directory) {
  for (std::string* path : {&experiment.data.images, &experiment.data.labels, &experiment.data.file}) make_absolute(*path, directory);
  return experiment;
}

base::Result<Resolved> resolve(const Experiment& experiment, const std::filesystem::path& directory) {
  const Findings findings = examine(experiment, directory);
  if (!findings.problems.empty()) return base::fail(findings.problems.front());
  return derive(located(experiment, directory), *findings.data);
}

Resolved on_one_device(Resolved resolved) {
  resolved.document.strategy.kind = StrategyKind::one_device;
  resolved.document.training.batch_per_rank = resolved.global_batch;
  resolved.ranks.resize(1);
  resolved.hosts.resize(1);
  return resolved;
}

Json to_json(const Resolved& resolved) { return {{"document", to_json(resolved.document)}, {"data", base::write_document(resolved.data)}}; }

base::Result<Resolved> resolved_from_json(const Json& json) {
  if (!json.is_object() || json.size() != 2 || !json.contains("document") || !json.contains("data"))
    return base::fail({ProblemCode::bad_input, "", "is not a resolved experiment", "{\"document\": {...}, \"data\": {...}}", ""});
  const auto document = from_json(json["document"]);
  if (!document) return base::fail(document.error().front());
  const auto data = read_summary(json["data"]);
  if (!data) return base::fail(data.error());
  if (const Problems problems = problems_of_meaning(*document, &*data); !problems.empty()) return base::fail(problems.front());
  return derive(*document, *data);
}

}  // namespace trainyard::experiment
