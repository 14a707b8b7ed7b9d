// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/session/checkpoint/resume.h"

#include <fmt/core.h>

#include <algorithm>

#include "core/base/file.h"
#include "core/base/units.h"
#include "core/compute/host_copy.h"
#include "core/experiment/fsdp.h"
#include "core/experiment/mesh.h"
#include "core/experiment/servers.h"
#include "core/experiment/stages.h"
#include "core/experiment/tensor.h"
#include "core/session/checkpoint/checkpoint_pieces.h"
#include "core/session/system/socket_directory.h"

namespace trainyard::session {
namespace {

namespace fs = std::filesystem;
using base::ProblemCode;
using base::Result;

constexpr const char* kField = "run.resume_from";

int moments_of(const experiment::OptimizerSpec& optimizer) {
  if (optimizer.kind != experiment::OptimizerKind::sgd) return 2;
  return optimizer.momentum > 0 ? 1 : 0;
}

// True if the run's coordinator still runs: it holds the lock of its socket directory. After a
// crash the sockets may still exist; they are then removed.
bool lives(const fs::path& run_directory) {
  const auto endpoint = base::read_file(run_directory / "control", 4096);
  const std::string scheme = "ipc://";
  if (!endpoint || !endpoint->starts_with(scheme)) return false;
  const fs::path socket = endpoint->substr(scheme.size(), endpoint->find('\n') - scheme.size());
  return SocketDirectory::in_use(socket.parent_path());
}

struct Found {
  LoadedCheckpoint loaded;
  InitialState initial_state;
};

Result<Found> read(const experiment::Resolved& e, const fs::path& checkpoints) {
  const base::DType dtype = e.document.training.precision == experiment::Precision::fp64
                                ? base::DType::fp64
                                : base::DType::fp32;
  const auto flat = [dtype](std::vector<std::byte>& bytes, std::int64_t elements) {
    bytes.resize(static_cast<std::size_t>(elements * base::size_of(dtype)));
    return compute::Tensor{dtype, {elements}, bytes.data()};
  };
  Found found;
  InitialState& b = found.initial_state;
  b.moments.resize(static_cast<std::size_t>(moments_of(e.document.training.optimizer)));
  std::vector<compute::Tensor> moments;
  for (auto& moment : b.moments) moments.push_back(flat(moment, e.model.elements));
  b.tensors = {
      flat(b.parameters, e.model.elements),
      e.model.state_elements > 0 ? flat(b.state, e.model.state_elements) : compute::Tensor{},
      moments};
  auto loaded = read_checkpoint(checkpoints, e.model, b.tensors);
  if (!loaded) return base::fail(loaded.error());
  found.loaded = std::move(*loaded);
  return found;
}

}  // namespace

Result<base::Problems> resume(experiment::Resolved& resolved) {
  std::string& from = resolved.document.run.resume_from;
  if (from.empty()) return base::Problems{};
  const fs::path directory = fs::absolute(from);
  if (lives(directory))
    return base::fail({"run_in_progress", ProblemCode::refused, kField,
                       fmt::format("{} belongs to a run that is in progress", directory.string()),
                       "the directory of a run that has ended", "Stop that run first."});
  base::remove_unfinished(directory);
  auto found = read(resolved, directory / "checkpoints");
  if (!found) return base::fail(found.error());
  const std::int64_t step = found->loaded.info.step;
  if (step >= resolved.steps)
    return base::fail(
        {"checkpoint_too_late", ProblemCode::bad_input, kField,
         fmt::format("the checkpoint is of step {}, but the run ends at or before that step",
                     base::format_count(step)),
         fmt::format("a checkpoint of a step below training.steps, which is {}",
                     base::format_count(resolved.steps)),
         "Raise training.steps."});
  from = directory.string();
  resolved.first_step = step;
  for (const CheckpointFile& file : found->loaded.files)
    resolved.first_version = std::max(resolved.first_version, file.version);
  return std::move(found->loaded.skipped);
}

Result<InitialState> initial_state(const experiment::Resolved& e) {
  auto found = read(e, fs::path(e.document.run.resume_from) / "checkpoints");
  if (!found) return base::fail(found.error());
  if (found->loaded.info.step == e.first_step) return std::move(found->initial_state);
  return base::fail(
      {"checkpoint_changed", ProblemCode::failed, e.document.run.resume_from,
       fmt::format("the newest checkpoint has changed; it is now the checkpoint of step {}",
                   base::format_count(found->loaded.info.step)),
       fmt::format("step {}", base::format_count(e.first_step)),
       "Another process writes to this directory, or damaged the checkpoint. Start "
       "the run again."});
}

std::vector<CheckpointSpan> spans_of_server(const experiment::Resolved& e, int server,
                                            const compute::Tensor& parameters,
                                            const std::vector<compute::Tensor>& moments) {
  std::vector<CheckpointSpan> spans;
  const auto add = [&](CheckpointBuffer buffer, const compute::Tensor& share) {
    std::byte* at = share.data;
    for (const experiment::Share& part : experiment::shares_of_servers(e)) {
      if (part.server != server) continue;
      spans.push_back({buffer, part.first, {share.dtype, {part.count}, at}});
      at += part.count * base::size_of(share.dtype);
    }
  };
  add(CheckpointBuffer::parameters, parameters);
  for (std::size_t m = 0; m < moments.size(); ++m)
    add(m == 0 ? CheckpointBuffer::moment1 : CheckpointBuffer::moment2, moments[m]);
  return spans;
}

namespace {

// True if the rank is in the chief's replica, whose running statistics are saved.
bool is_of_chief(const experiment::Resolved& e, int rank) {
  return experiment::peer_in_chief_replica(e, rank) == rank;
}

// Returns the positions of a rank's parameters in the full model, as checkpoint spans. `parameters`
// holds the rank's shards one after another. A rank that holds all parameters has one span.
std::vector<CheckpointSpan> spans_of_kept(const experiment::Resolved& e, int rank,
                                          const compute::Tensor& parameters) {
  std::vector<CheckpointSpan> spans;
  if (!experiment::shards_parameters(e)) return spans_of({parameters});
  std::byte* at = parameters.data;
  for (const experiment::ElementRange& part : experiment::shards_of_rank(e, rank)) {
    spans.push_back(
        {CheckpointBuffer::parameters, part.first, {parameters.dtype, {part.count}, at}});
    at += part.count * base::size_of(parameters.dtype);
  }
  return spans;
}

// Returns the part of the span that lies within the parameter `p`.
CheckpointSpan within(const CheckpointSpan& span, const model::Parameter& p) {
  const std::int64_t first = std::max(span.first, p.offset),
                     end = std::min(span.first + span.values.elements(),
                                    p.offset + p.shape.elements());
  const base::DType dtype = span.values.dtype;
  return {span.buffer,
          first,
          {dtype,
           {std::max<std::int64_t>(end - first, 0)},
           span.values.data + (first - span.first) * base::size_of(dtype)}};
}

}  // namespace

// If several ranks hold the same shard, only the rank in the chief's shard group writes it. In a
// mesh, the shard group of the rank's peer in the chief's replica takes the place of the chief's
// shard group (`peer_in_chief_replica`).
bool writes_part(const experiment::Resolved& e, int rank) {
  const bool splits = experiment::splits_model(e.document.strategy.kind);
  if (!experiment::shards_parameters(e)) return !splits || is_of_chief(e, rank);
  const auto groups = experiment::shard_groups(e);
  const std::vector<int>& writers =
      experiment::group_with(groups, splits ? experiment::peer_in_chief_replica(e, rank) : e.chief);
  return std::binary_search(writers.begin(), writers.end(), rank);
}

int count_parts(const experiment::Resolved& e) {
  int count = 0;
  for (int rank = 0; rank < e.world(); ++rank) count += writes_part(e, rank) ? 1 : 0;
  return count;
}

namespace {

// True if the parameter is tied and the rank has only a copy, because another stage has the
// parameter's segment.
bool is_copy(const experiment::Resolved& e, int rank, const model::Parameter& p) {
  const auto s = static_cast<std::size_t>(p.segment);
  return e.model.segments[s].apart &&
         experiment::owners_of(e)[s] != experiment::mesh_of(e).place_of(rank).stage;
}

}  // namespace

// Omits parameters that another rank writes. If a layer is split among tensor-parallel ranks, the
// first rank writes the parameters that all these ranks hold in full. If a tied table is in two
// stages, the stage that has the table's segment writes it.
std::vector<CheckpointSpan> spans_of_part(const experiment::Resolved& e, int rank,
                                          const compute::Tensor& parameters,
                                          const compute::Tensor& state) {
  std::vector<CheckpointSpan> spans = spans_of_kept(e, rank, parameters);
  const bool first =
      !experiment::splits_layers(e) || experiment::mesh_of(e).place_of(rank).part == 0;
  const auto writes = [&](const model::Parameter& p) {
    return (first || p.box.any()) && !is_copy(e, rank, p);
  };
  if (!std::ranges::all_of(e.model.parameters, writes)) {
    std::vector<CheckpointSpan> written;
    for (const CheckpointSpan& span : spans)
      for (const model::Parameter& p : e.model.parameters)
        if (writes(p) && within(span, p).values.elements() > 0) written.push_back(within(span, p));
    spans = std::move(written);
  }
  const bool tells = experiment::splits_model(e.document.strategy.kind)
                         ? is_of_chief(e, rank)
                         : rank == e.chief || !experiment::shards_parameters(e);
  if (first && tells && !state.empty()) spans.push_back({CheckpointBuffer::state, 0, state});
  std::erase_if(spans, [](const CheckpointSpan& span) { return span.values.empty(); });
  return spans;  // empty for a rank without parameters
}

void load_initial_state(const InitialState& initial_state, const experiment::Resolved& e,
                        const plan::RankPlan& rank, const run::BoundPlan& bound) {
  const auto copy = [&](const compute::Tensor& to, const std::byte* from) {
    if (!to.empty()) compute::host_copy(bound.device, to.data, from, to.bytes());
  };
  if (bound.versions.empty()) return copy(bound.state, initial_state.state.data());
  const std::int64_t width = base::size_of(bound.versions.front().dtype);
  const auto copy_share = [&](std::byte* to, const std::vector<std::byte>& all) {
    for (const experiment::Share& part : experiment::shares_of_servers(e)) {
      if (part.server != rank.rank - e.workers()) continue;
      compute::host_copy(bound.device, to, all.data() + part.first * width, part.count * width);
      to += part.count * width;
    }
  };
  copy_share(bound.versions.front().data, initial_state.parameters);
  for (std::size_t m = 0; m < bound.moments.size(); ++m)
    copy_share(bound.moments[m].data, initial_state.moments[m]);
}

}  // namespace trainyard::session
