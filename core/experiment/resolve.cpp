// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/experiment/resolve.h"

#include <fmt/core.h>

#include <algorithm>
#include <numeric>
#include <optional>
#include <set>
#include <utility>

#include "core/base/stored_document.h"
#include "core/base/units.h"
#include "core/experiment/buckets.h"
#include "core/experiment/engine.h"
#include "core/experiment/field_templates.h"
#include "core/experiment/imposed.h"
#include "core/experiment/local_sgd.h"
#include "core/experiment/mesh.h"
#include "core/experiment/multiplies.h"
#include "core/experiment/placement.h"
#include "core/experiment/rank_duties.h"
#include "core/experiment/roles.h"
#include "core/experiment/servers.h"
#include "core/experiment/stages.h"
#include "core/experiment/tpu.h"
#include "core/experiment/validation_result.h"

// Fields of a data summary. They are sent to ranks and recorded.
template <>
struct trainyard::base::Fields<trainyard::data::DataSummary> {
  using D = trainyard::data::DataSummary;
  static constexpr std::string_view title = "Data summary";
  static auto table() {
    return std::tuple{field("sample_shape", &D::sample_shape, "", {1, 8}, "Shape of a sample"),
                      field("classes", &D::classes, "classes", {2, 1e6}, "Number of classes"),
                      field("train_samples", &D::train_samples, "samples", {1, 1e10},
                            "Number of training samples"),
                      field("held_out_samples", &D::held_out_samples, "samples", {0, 1e10},
                            "Number of held-out samples"),
                      field("labels_of_sample", &D::labels_of_sample, "labels", {1, 1e6},
                            "Number of labels per sample. A sequence has one label per element")};
  }
};

namespace trainyard::experiment {
namespace {

// Progress of the run from which a run resumes.
struct ResumedProgress {
  std::int64_t step = 0, version = 0;
};

}  // namespace
}  // namespace trainyard::experiment

template <>
struct trainyard::base::Fields<trainyard::experiment::ResumedProgress> {
  using P = trainyard::experiment::ResumedProgress;
  static constexpr std::string_view title = "Start of a resumed run";
  static auto table() {
    return std::tuple{field("step", &P::step, "steps", {0, 1e12}, "Number of steps already done"),
                      field("version", &P::version, "updates", {0, 1e12},
                            "Number of updates that servers have already done")};
  }
};

namespace trainyard::experiment {
namespace {

using base::Json;
using base::ProblemCode;
using base::Problems;

constexpr double kMaxFeatures = 1e9;

// Returns shm if all ranks are on one drawn host, zmq if every rank is on a different host, else
// `automatic`.
TransportKind transport_of(TransportKind asked, const std::vector<int>& hosts) {
  if (asked != TransportKind::automatic) return asked;
  const std::set<int> distinct(hosts.begin(), hosts.end());
  if (distinct.size() == 1) return TransportKind::shm;
  return distinct.size() == hosts.size() ? TransportKind::zmq : TransportKind::automatic;
}

std::int64_t segment_bytes_of(const Experiment& document) {
  const StrategySpec& strategy = document.strategy;
  // True for strategies whose ranks only pass activations and gradients between stages, so that no
  // values are reduced.
  const bool hands_on = has_stages(strategy.kind) && fixed_algorithm(strategy.kind);
  const bool reduces =
      strategy.kind != StrategyKind::one_device && !hands_on && strategy.engine == Engine::own;
  const bool in_memory = document.run.transport == TransportKind::shm ||
                         document.run.transport == TransportKind::inproc;
  return strategy.segment_bytes == 0 && reduces && in_memory ? collective::kSegmentBytesInMemory
                                                             : strategy.segment_bytes;
}

void place_ranks(Resolved& resolved) {
  const topology::Network network(resolved.document.topology);
  resolved.ranks = network.ranks();
  resolved.hosts = hosts_of(network, resolved.ranks);
  if (has_servers(resolved.document.strategy.kind))
    resolved.servers = static_cast<int>(network.with_role(topology::Role::parameter_server).size());
  resolved.evaluators = static_cast<int>(network.with_role(topology::Role::evaluator).size());
  resolved.chief = chief_rank(resolved.document);
  resolved.storage_rank = storage_rank(resolved.document);
}

void count_steps(Resolved& resolved) {
  const TrainingSpec& training = resolved.document.training;
  const data::Shares shares = resolved.shares();
  resolved.global_batch = shares.global_samples(0);
  resolved.full_steps_per_epoch = shares.stretches().front().steps;
  resolved.tail_samples =
      resolved.data.train_samples - resolved.full_steps_per_epoch * resolved.global_batch;
  resolved.steps_per_epoch = shares.steps_per_epoch();
  resolved.steps = training.steps > 0 ? training.steps : training.epochs * resolved.steps_per_epoch;
}

void use_only_all_reduce(Resolved& resolved, collective::Algorithm only) {
  const bool chosen = resolved.document.strategy.algorithm == collective::Algorithm::automatic;
  if (chosen && resolved.world() > 1) resolved.algorithm_reason = torus_text(resolved.hosts);
  resolved.document.strategy.algorithm = only;
}

// Chooses the cheapest algorithm for the largest bucket on the drawn links. If no bucket is
// reduced, chooses ring: only norms of a few bytes are then summed, and ring supports every
// drawing.
base::Result<void> choose_algorithm(Resolved& resolved) {
  StrategySpec& strategy = resolved.document.strategy;
  if (const auto fixed = fixed_algorithm(strategy.kind)) {
    strategy.algorithm = fixed->algorithm;
    return {};
  }
  if (const auto only = required_all_reduce(strategy.kind)) {
    use_only_all_reduce(resolved, only->algorithm);
    return {};
  }
  if (strategy.algorithm != collective::Algorithm::automatic) return {};
  strategy.algorithm = collective::Algorithm::ring;
  if (resolved.world() < 2 || strategy.engine != Engine::own) return {};
  const collective::Work work = largest_reduction(resolved);
  if (work.devices.empty()) return {};
  const auto choice = collective::choose(strategy.segment_bytes, work,
                                         topology::Network(as_imposed(resolved.document)));
  if (!choice) return base::fail(choice.error());
  strategy.algorithm = choice->algorithm;
  resolved.algorithm_reason = choice->reason;
  return {};
}

void fill_automatic_values(Resolved& resolved) {
  Experiment& document = resolved.document;
  document.data.train_samples = resolved.data.train_samples;
  document.data.held_out_samples = resolved.data.held_out_samples;
  document.model.layers[document.model.output_layer()].units = resolved.data.classes;
  if (document.strategy.kind == StrategyKind::hybrid)
    document.strategy.mesh.data = mesh_of(resolved).data;
  if (has_stages(document.strategy.kind)) document.strategy.stages.places = places_of(resolved);
  if (engine_of(resolved) == Engine::own)
    document.run.transport = transport_of(document.run.transport, resolved.hosts);
  document.strategy.segment_bytes = segment_bytes_of(document);
  document.training.steps = resolved.steps;
  document.training.multiplies = factor_format_of(document);
  if (document.training.precision == Precision::fp16)
    // The search for the loss scale needs skipped updates: a step with a non-finite gradient lowers
    // the scale and changes no weight.
    document.training.non_finite = NonFinite::skip;
  LocalSgdSpec& local = document.strategy.local_sgd;
  if (elasticity(resolved) && local.elasticity == 0)
    local.elasticity = usual_elasticity(resolved.world());
  if (document.run.evaluate_every_steps == 0)
    document.run.evaluate_every_steps = resolved.steps_per_epoch;
  if (resolved.evaluators > 0 && document.run.checkpoint_every_steps == 0)
    document.run.checkpoint_every_steps = document.run.evaluate_every_steps;
}

// Derives all values of an experiment that has no problems. Pure and idempotent.
base::Result<Resolved> derive(const Experiment& experiment, const data::DataSummary& data,
                              const data::ShardTable& shards) {
  return model::build(experiment.model, sample_shape(data), data.classes)
      .and_then([&](model::Model built) -> base::Result<Resolved> {
        Resolved resolved;
        resolved.document = experiment;
        resolved.data = data;
        resolved.model = std::move(built);
        resolved.shards = shards;
        place_ranks(resolved);
        count_steps(resolved);
        fill_automatic_values(resolved);
        if (const auto chosen = choose_algorithm(resolved); !chosen)
          return base::fail(chosen.error());
        if (auto whole = from_json(to_json(resolved.document)); !whole)
          return base::fail(whole.error().front());
        return resolved;
      });
}

// Checks that names and paths are UTF-8, because ranks receive them as JSON. A path is bytes on
// this machine.
base::Result<Resolved> check_utf8(Resolved resolved) {
  try {
    static_cast<void>(to_json(resolved.document).dump());
    return resolved;
  } catch (const Json::exception&) {
    return base::fail({"not_utf8", ProblemCode::bad_input, "experiment",
                       "a name or path is not UTF-8, so it cannot be sent to ranks",
                       "text in UTF-8", "Rename the file or its directory."});
  }
}

void make_absolute(std::string& path, const std::filesystem::path& directory) {
  if (!path.empty()) path = std::filesystem::absolute(directory / path).lexically_normal().string();
}

Problems summary_problems(const data::DataSummary& data) {
  double features = 1;
  for (const std::int64_t extent : data.sample_shape)
    features *= extent >= 1 ? static_cast<double>(extent) : kMaxFeatures + 1;
  const bool labeled =
      data.labels_of_sample == 1 || static_cast<double>(data.labels_of_sample) == features;
  if (!labeled)
    return {{"bad_data_summary", ProblemCode::bad_input, "data.labels_of_sample",
             "the number of labels per sample is neither 1 nor the length of the sample",
             "1 label, or one label per element of a sequence", ""}};
  if (features <= kMaxFeatures) return {};
  return {{"bad_data_summary", ProblemCode::bad_input, "data.sample_shape",
           "the shape is not a valid shape of a sample",
           "extents of 1 or more, with a product of at most 1e9", ""}};
}

base::Result<data::DataSummary> read_summary(const Json& json) {
  data::DataSummary data;
  Problems problems;
  base::read_complete(json, data, "data", problems);
  if (problems.empty()) problems = summary_problems(data);
  if (!problems.empty()) return base::fail(problems.front());
  return data;
}

base::Problem other_shards(const data::DataSummary& data, std::int64_t ranks) {
  return {
      "bad_shards",
      ProblemCode::bad_input,
      "shards",
      "the table must have one list per rank, with the number of this rank's samples of each class",
      fmt::format("{} lists of {} numbers, with a sum of {}", base::format_count(ranks),
                  base::format_count(data.classes), base::format_count(data.train_samples)),
      ""};
}

// Reads the list of one rank: its number of samples of each class. Each number must be at most the
// total number of samples.
std::optional<std::vector<std::int64_t>> read_counts(const Json& json,
                                                     const data::DataSummary& data) {
  if (!json.is_array() || static_cast<std::int64_t>(json.size()) != data.classes)
    return std::nullopt;
  std::vector<std::int64_t> counts;
  for (const Json& count : json) {
    if (!count.is_number_integer() || count.get<std::int64_t>() < 0 ||
        count.get<std::int64_t>() > data.train_samples)
      return std::nullopt;
    counts.push_back(count.get<std::int64_t>());
  }
  return counts;
}

// Sets the role of all devices but this worker to idle.
void keep_only_worker(topology::Topology& topology, std::size_t worker) {
  std::size_t next = 0;
  for (topology::Host& host : topology.hosts)
    for (topology::Device& device : host.devices)
      if (!topology::works(device) || next++ != worker) device.role = topology::Role::idle;
}

base::Result<data::ShardTable> read_shards(const Json& json, const Experiment& document,
                                           const data::DataSummary& data) {
  const std::int64_t ranks = count_workers(document.topology);
  data::ShardTable table;
  const bool owns = data::owns_samples(document.data.sharding);
  if (json.is_array() && json.empty() && !owns) return table;
  if (!json.is_array() || static_cast<std::int64_t>(json.size()) != ranks)
    return base::fail(other_shards(data, ranks));
  for (const Json& rank : json) {
    auto counts = read_counts(rank, data);
    if (!counts) return base::fail(other_shards(data, ranks));
    table.push_back(std::move(*counts));
  }
  const auto sizes = data::samples_by_rank(table);
  if (std::accumulate(sizes.begin(), sizes.end(), std::int64_t{0}) != data.train_samples)
    return base::fail(other_shards(data, ranks));
  if (const Problems problems = shard_problems(document, table); !problems.empty())
    return base::fail(problems.front());
  return table;
}

}  // namespace

Experiment located(Experiment experiment, const std::filesystem::path& directory) {
  for (std::string* path : {&experiment.data.images, &experiment.data.labels, &experiment.data.file,
                            &experiment.run.resume_from})
    make_absolute(*path, directory);
  return experiment;
}

base::Result<Resolved> resolve(const Experiment& experiment,
                               const std::filesystem::path& directory) {
  Findings findings = examine(experiment, directory);
  if (!findings.problems.empty()) return base::fail(findings.problems.front());
  return resolve(experiment, directory, std::move(findings));
}

base::Result<Resolved> resolve(const Experiment& experiment, const std::filesystem::path& directory,
                               Findings findings) {
  return derive(located(experiment, directory), *findings.data, findings.shards)
      .and_then(check_utf8)
      .map([&](Resolved resolved) {
        resolved.notes = std::move(findings.notes);
        return resolved;
      });
}

bool Resolved::is_on_other_machine(int rank) const { return is_other_machine(host_of(rank)); }

data::Shares Resolved::shares() const {
  const std::int64_t batch = document.training.samples_per_rank();
  if (servers > 0)
    return data::Shares::even(data.train_samples, batch,
                              is_lockstep(document.strategy.servers) ? workers() : 1);
  if (splits_model(document.strategy.kind))
    return data::Shares::even(data.train_samples, batch, mesh_of(*this).data);
  if (!data::owns_samples(document.data.sharding))
    return data::Shares::even(data.train_samples, batch, world(), storage_rank);
  return data::Shares::owned(data::samples_by_rank(shards), batch);
}

std::pair<std::int64_t, std::int64_t> Resolved::held_out(int rank) const {
  if (on_rank_0()) return {0, rank == 0 ? data.held_out_samples : 0};
  if (servers > 0)
    return {0, (evaluators > 0 ? is_evaluator(rank) : rank < workers())
                   ? data.held_out_samples
                   : 0};  // Without an evaluator, a worker evaluates on request.
  if (const Mesh mesh = mesh_of(*this); splits_model(document.strategy.kind)) {
    const MeshCoordinates at = mesh.place_of(rank);
    return mesh.is_called(at) ? std::pair<std::int64_t, std::int64_t>{0, 0}
                              : data::slice(data.held_out_samples, mesh.data, at.replica);
  }
  return data::slice(data.held_out_samples, world(), rank, storage_rank);
}

std::int64_t count_evaluations(const Resolved& resolved) {
  const std::int64_t every = resolved.document.run.evaluate_every_steps;
  return every > 0 && resolved.data.held_out_samples > 0 ? (resolved.steps + every - 1) / every : 0;
}

base::Result<data::Sampler> sampler(const Resolved& resolved) {
  const std::int64_t seed = resolved.document.training.seed;
  const data::DataSpec& spec = resolved.document.data;
  if (resolved.on_rank_0())
    return data::Sampler(
        seed, data::Shares::even(resolved.data.train_samples, resolved.global_batch, 1), {});
  if (!data::owns_samples(spec.sharding)) return data::Sampler(seed, resolved.shares(), {});
  return data::survey(spec, "")
      .and_then([&](const data::Survey& survey) {
        return data::owners(spec.sharding, resolved.shards, survey.labels);
      })
      .map([&](std::vector<std::int32_t> owners) {
        return data::Sampler(seed, resolved.shares(), std::move(owners));
      });
}

namespace {

// Returns the index of the fastest worker that computes. Of equally fast workers, prefers the
// chief, otherwise the first one.
std::size_t fastest_worker(const Resolved& resolved) {
  std::vector<double> flops;  // Drawn flops per second of each worker, with its slowdown.
  for (const topology::Host& host : resolved.document.topology.hosts)
    for (const topology::Device& device : host.devices)
      if (topology::works(device))
        flops.push_back(device.peak_flops / (device.slow_down * (1 + device.jitter / 2)));
  auto fastest = static_cast<std::size_t>(resolved.chief);
  for (std::size_t rank = 0; rank < flops.size(); ++rank)
    if (std::cmp_not_equal(rank, resolved.storage_rank) && flops[rank] > flops[fastest])
      fastest = rank;
  return fastest;
}

}  // namespace

Resolved on_one_device(Resolved resolved) {
  const std::size_t fastest = fastest_worker(resolved);
  keep_only_worker(resolved.document.topology, fastest);
  resolved.document.strategy.kind = StrategyKind::one_device;
  resolved.document.training.batch_per_rank = resolved.global_batch;
  resolved.document.training.accumulation_steps = 1;
  resolved.document.data.sharding = {};
  resolved.shards.clear();
  resolved.ranks = {resolved.ranks[fastest]};
  resolved.hosts = {resolved.hosts[fastest]};
  resolved.storage_rank = kNoRank;
  resolved.servers = resolved.evaluators = resolved.chief = 0;
  count_steps(resolved);
  return resolved;
}

Json to_json(const Resolved& resolved) {
  Json json{{"document", to_json(resolved.document)},
            {"data", base::write_document(resolved.data)}};
  if (!resolved.shards.empty()) json["shards"] = resolved.shards;
  if (resolved.first_step > 0)
    json["start"] = {{"step", resolved.first_step}, {"version", resolved.first_version}};
  return json;
}

data::ShardTable shards_of(const Json& resolved) {
  const auto document = base::value_at(resolved, "document"),
             data = base::value_at(resolved, "data"), shards = base::value_at(resolved, "shards");
  if (!document || !data || !shards) return {};
  const auto known = from_json(*document);
  const auto summary = read_summary(*data);
  if (!known || !summary) return {};
  return read_shards(*shards, *known, *summary).value_or(data::ShardTable{});
}

namespace {

base::Result<Resolved> with_start(Resolved resolved, const Json& json) {
  ResumedProgress done;
  Problems problems;
  base::read_complete(json, done, "start", problems);
  if (!problems.empty()) return base::fail(problems.front());
  resolved.first_step = done.step;
  resolved.first_version = done.version;
  return resolved;
}

}  // namespace

base::Result<Resolved> resolved_from_json(const Json& json) {
  const std::size_t least = 2, known = least + json.count("shards") + json.count("start");
  if (!json.is_object() || !json.contains("document") || !json.contains("data") ||
      json.size() != known)
    return base::fail({"not_a_resolved_experiment", ProblemCode::bad_input, "",
                       "the JSON is not a resolved experiment",
                       "{\"document\": {...}, \"data\": {...}, \"shards\": [...]}",
                       "Name the resolved.json of a run directory."});
  const auto document = from_json(json["document"]);
  if (!document) return base::fail(document.error().front());
  const auto data = read_summary(json["data"]);
  if (!data) return base::fail(data.error());
  if (const Problems problems = semantic_problems(*document, &*data); !problems.empty())
    return base::fail(problems.front());
  const auto shards = read_shards(json.value("shards", Json::array()), *document, *data);
  if (!shards) return base::fail(shards.error());
  auto resolved = derive(*document, *data, *shards);
  if (!resolved || !json.contains("start")) return resolved;
  return with_start(std::move(*resolved), json["start"]);
}

}  // namespace trainyard::experiment
