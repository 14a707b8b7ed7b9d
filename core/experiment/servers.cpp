// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/experiment/servers.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <set>

#include "core/base/units.h"
#include "core/experiment/buckets.h"
#include "core/experiment/fields.h"
#include "core/experiment/mesh.h"
#include "core/experiment/placement.h"
#include "core/experiment/rank_duties.h"
#include "core/experiment/stages.h"

namespace trainyard::experiment {
namespace {

using base::Problem;
using base::ProblemCode;
using base::Problems;

void add(std::vector<Share>& shares, const Share& share) {
  const bool goes_on = !shares.empty() && shares.back().server == share.server &&
                       shares.back().table == share.table &&
                       shares.back().first + shares.back().count == share.first;
  if (goes_on) shares.back().count += share.count;
  else if (share.count > 0) shares.push_back(share);
}

bool by_rows(const Resolved& e, const model::Segment& segment) {
  return segment.looks_up() && e.document.strategy.servers.tables == TablePull::rows;
}

// Rounds an element inside a table down to the beginning of its row, so that no row is split.
std::int64_t round_down_to_row(const Resolved& e, std::int64_t element) {
  for (const model::Segment& s : e.model.segments)
    if (by_rows(e, s) && element > s.first && element < s.first + s.elements)
      return element - (element - s.first) % s.table[1];
  return element;
}

std::vector<Share> balanced(const Resolved& e) {
  std::vector<Share> shares;
  for (int server = 0; server < e.servers; ++server) {
    const auto [first, part] = collective::part(e.model.elements, e.servers, server);
    const std::int64_t from = round_down_to_row(e, first);
    add(shares, {server, from, round_down_to_row(e, first + part) - from});
  }
  return shares;
}

std::vector<Share> by_turns(const Resolved& e) {
  std::vector<Share> shares;
  for (std::size_t v = 0; v < e.model.parameters.size(); ++v) {
    const model::Parameter& variable = e.model.parameters[v];
    add(shares, {static_cast<int>(v) % e.servers, variable.offset, variable.shape.elements()});
  }
  return shares;
}

std::vector<Share> by_hand(const Resolved& e) {
  std::vector<std::int64_t> has(static_cast<std::size_t>(e.servers));
  std::map<std::string, int> of_variable;
  for (const VariablePlacementEntry& place : e.document.strategy.servers.places)
    of_variable[place.variable] = static_cast<int>(place.server);
  for (const model::Parameter& variable : e.model.parameters)
    if (const auto at = of_variable.find(variable.name); at != of_variable.end())
      has[static_cast<std::size_t>(at->second)] += variable.shape.elements();
  std::vector<Share> shares;
  for (const model::Parameter& variable : e.model.parameters) {
    const std::int64_t elements = variable.shape.elements();
    auto at = of_variable.find(variable.name);
    if (at == of_variable.end()) {
      const auto least = std::ranges::min_element(has);
      *least += elements;
      at = of_variable.emplace(variable.name, static_cast<int>(least - has.begin())).first;
    }
    add(shares, {at->second, variable.offset, elements});
  }
  return shares;
}

std::vector<Share> placed(const Resolved& e) {
  switch (e.document.strategy.servers.placement) {
    case VariablePlacement::balanced: return balanced(e);
    case VariablePlacement::round_robin: return by_turns(e);
    case VariablePlacement::by_hand: return by_hand(e);
  }
  return {};
}

// Returns the part of a share whose elements are within [first, end); nothing if there are none.
std::optional<Share> within(const Share& share, std::int64_t first, std::int64_t end) {
  first = std::max(first, share.first), end = std::min(end, share.first + share.count);
  if (first >= end) return std::nullopt;
  return Share{share.server, first, end - first, share.table};
}

// Gives each table of which workers pull single rows its own shares.
std::vector<Share> tables_apart(const Resolved& e, const std::vector<Share>& shares) {
  std::vector<Share> list;
  for (const Share& share : shares)
    for (std::size_t s = 0; s < e.model.segments.size(); ++s) {
      const model::Segment& segment = e.model.segments[s];
      auto part = within(share, segment.first, segment.first + segment.elements);
      if (!part) continue;
      if (by_rows(e, segment)) part->table = static_cast<int>(s);
      add(list, *part);
    }
  return list;
}

// Splits shares at bucket boundaries, so that the gradient of each share can be sent as soon as the
// backward pass has computed it. Returns the shares unsplit if there would be more than kMaxShares.
std::vector<Share> cut(const Resolved& e, const std::vector<Share>& shares) {
  const std::vector<Bucket> buckets = experiment::buckets(e);
  std::vector<Share> list;
  for (const Share& share : shares)
    for (auto bucket = buckets.rbegin(); bucket != buckets.rend(); ++bucket)
      if (const auto part = within(share, bucket->first, bucket->first + bucket->count))
        list.push_back(*part);
  return std::ssize(list) > kMaxShares ? shares : list;
}

std::string names_of(const model::Model& model) {
  std::string names;
  for (const model::Parameter& variable : model.parameters)
    names += (names.empty() ? "" : ", ") + variable.name;
  return names;
}

Problem no_server() {
  return {"no_server",
          ProblemCode::bad_input,
          "topology.hosts",
          "parameter_server keeps the variables on servers, but no device has the role "
          "parameter_server",
          "one or more",
          "Set the role of a device to parameter_server, or strategy.kind to mirrored."};
}

void add_mode_problems(const Experiment& experiment, Problems& problems) {
  const ServerSpec& servers = experiment.strategy.servers;
  const std::int64_t workers = count_workers(experiment.topology);
  if (servers.mode == ServerMode::softsync && servers.softsync > workers)
    problems.push_back(
        {"softsync_exceeds_workers", ProblemCode::bad_input, "strategy.servers.softsync",
         fmt::format("an update takes workers / n gradients, but n is {} and there are {}",
                     base::format_count(servers.softsync), base::counted(workers, "worker")),
         fmt::format("1 to {}", base::format_count(workers)),
         "Lower strategy.servers.softsync, or draw more workers."});
  if (servers.mode == ServerMode::backup_workers && servers.backups >= workers)
    problems.push_back(
        {"backups_exceed_workers", ProblemCode::bad_input, "strategy.servers.backups",
         fmt::format("{} of {} are backups, so no gradient is left to apply",
                     base::format_count(servers.backups), base::counted(workers, "worker")),
         workers > 1 ? fmt::format("0 to {}", base::format_count(workers - 1)) : "0",
         "Lower strategy.servers.backups, or draw more workers."});
}

// Refuses several servers with backup workers. Each server would take the gradients that arrive
// first, so servers could drop different workers, and an update would mix two sets of gradients.
void add_servers_of_backups(const Experiment& experiment, Problems& problems) {
  const std::int64_t servers = count_servers(experiment.topology);
  if (experiment.strategy.servers.mode == ServerMode::backup_workers && servers > 1)
    problems.push_back(
        {"backups_with_several_servers", ProblemCode::bad_input, "topology.hosts",
         fmt::format("with backup_workers each server applies the gradients that arrive first, so "
                     "{} servers could apply gradients of different workers",
                     base::format_count(servers)),
         "1 parameter_server",
         "Set the role of the other servers to worker or idle, or strategy.servers.mode to "
         "synchronous."});
}

void refuse(const char* where, const std::string& what, const char* accepted, const char* advice,
            Problems& problems) {
  problems.push_back({"servers_do_not_support", ProblemCode::bad_input, where,
                      fmt::format("parameter_server does not support this setting: {}", what),
                      accepted, advice});
}

void add_refusals(const Experiment& experiment, Problems& problems) {
  if (experiment.training.clip_norm > 0)
    refuse("training.clip_norm",
           "clipping needs the norm of the full gradient, but no server has the full gradient", "0",
           "Set training.clip_norm to 0, or strategy.kind to mirrored.", problems);
  if (experiment.training.non_finite == NonFinite::skip)
    refuse("training.non_finite", "non_finite=skip needs the full gradient, but no server has it",
           "go_on, stop", "Set training.non_finite to stop, or strategy.kind to mirrored.",
           problems);
  if (experiment.data.sharding.kind != data::ShardingKind::iid)
    refuse("data.sharding.kind",
           "the next samples go to the next free worker, so workers cannot own samples", "iid",
           "Set data.sharding.kind to iid, or strategy.kind to mirrored.", problems);
}

}  // namespace

bool has_servers(StrategyKind kind) { return kind == StrategyKind::parameter_server; }

bool is_lockstep(const ServerSpec& servers) {
  return servers.mode == ServerMode::synchronous || servers.mode == ServerMode::backup_workers;
}

std::int64_t ranks_of_step(const Experiment& experiment) {
  const bool apart =
      has_servers(experiment.strategy.kind) && !is_lockstep(experiment.strategy.servers);
  const std::int64_t trainers = count_trainers(experiment);
  if (splits_model(experiment.strategy.kind)) return trainers > 0 ? mesh_of(experiment).data : 0;
  return apart ? std::min<std::int64_t>(trainers, 1) : trainers;
}

int gradients_per_update(const ServerSpec& servers, int workers) {
  switch (servers.mode) {
    case ServerMode::synchronous: return workers;
    case ServerMode::softsync: return std::max(1, workers / static_cast<int>(servers.softsync));
    case ServerMode::backup_workers: return workers - static_cast<int>(servers.backups);
    default: return 1;
  }
}

std::optional<std::string> softsync_line(const Experiment& experiment) {
  const ServerSpec& servers = experiment.strategy.servers;
  const std::int64_t workers = count_workers(experiment.topology), n = servers.softsync;
  if (!has_servers(experiment.strategy.kind) || servers.mode != ServerMode::softsync || n < 1 ||
      n > workers || workers % n == 0)
    return std::nullopt;
  const std::int64_t taken = gradients_per_update(servers, static_cast<int>(workers));
  const std::string text = fmt::format(
      "{} workers cannot be divided evenly by softsync {}: an update takes {}",
      base::format_count(workers), base::format_count(n), base::counted(taken, "gradient"));
  if (taken == 1) return text + ", as asynchronous does";
  if (workers % taken == 0)
    return fmt::format("{}, as with softsync {}", text, base::format_count(workers / taken));
  return text + ". There is no formula for the mean staleness in this case";
}

std::optional<std::string> paced_turns_note(const Experiment& experiment, double seconds_per_step) {
  const bool apart = has_servers(experiment.strategy.kind) &&
                     !is_lockstep(experiment.strategy.servers) &&
                     experiment.run.clock == RunClock::machine;
  if (!apart || !(seconds_per_step > 0)) return std::nullopt;
  return "with a minimum step time (pace), workers take turns one at a time, so no gradient is "
         "stale. To watch stale gradients slowly, slow down the devices instead";
}

int min_workers(const ServerSpec& servers, int workers) {
  return is_lockstep(servers) ? gradients_per_update(servers, workers) : 1;
}

bool ranks_are_processes(const RunSpec& run) {
  return run.clock == RunClock::machine && run.transport != TransportKind::inproc;
}

std::optional<std::string> unused_restarts_line(const Experiment& e) {
  const auto workers = static_cast<int>(count_workers(e.topology));
  const bool goes_on =
      has_servers(e.strategy.kind) && min_workers(e.strategy.servers, workers) < workers;
  if (e.run.restarts == 0 || (goes_on && ranks_are_processes(e.run))) return std::nullopt;
  return std::string("run.restarts has no effect: ") +
         (goes_on ? "the ranks are not separate processes, so none can be restarted"
                  : "the run ends as soon as any rank fails");
}

bool is_loss_allowed(const Resolved& e, int rank) {
  if (!ranks_are_processes(e.document.run) || e.servers == 0) return false;
  return e.is_evaluator(rank) || (rank < e.workers() && min_workers(e.document.strategy.servers,
                                                                    e.workers()) < e.workers());
}

StalenessTheory staleness_theory(const ServerSpec& servers, int workers) {
  switch (servers.mode) {
    case ServerMode::asynchronous: return {workers - 1.0, {}, "λ - 1"};
    case ServerMode::softsync:
      if (workers % servers.softsync != 0) return {};
      return {static_cast<double>(servers.softsync) * (1 - 1.0 / workers), {}, "n (1 - 1/λ)"};
    case ServerMode::stale_synchronous:
      return {{}, (2 * servers.bound + 1) * (workers - 1), "(2s + 1)(λ - 1)"};
    case ServerMode::synchronous:
    case ServerMode::backup_workers:
      return {0.0, 0, "gradients of older parameters are not applied"};
  }
  return {};
}

namespace {

// Returns the staleness of a pipeline that updates after every micro-batch. At stage s of p, the
// gradient of the i-th micro-batch of a step misses the updates of the micro-batches that are in
// flight. These are min(i, p - 1 - s) micro-batches (Narayanan et al. 2019). The pipeline is empty
// at the beginning of a step.
StalenessTheory staleness_of_stages(const Resolved& e) {
  const data::Shares shares = e.shares();
  const Mesh mesh = mesh_of(e);
  const std::int64_t batch = e.document.training.batch_per_rank, p = mesh.pipeline;
  double sum = 0, gradients = 0;
  std::int64_t most = 0;
  for (const data::StepRange& stretch : shares.stretches()) {
    std::int64_t max_samples = 0;  // Samples of the replica with the most samples, in one step.
    for (int replica = 0; replica < mesh.data; ++replica)
      max_samples = std::max(max_samples, shares.samples(stretch.first_step, replica));
    const std::int64_t micro_batches = (max_samples + batch - 1) / batch;
    gradients += static_cast<double>(stretch.steps * micro_batches * p);
    for (std::int64_t stage = 0; stage < p; ++stage)
      for (std::int64_t i = 0; i < micro_batches; ++i) {
        const std::int64_t behind = std::min(i, p - 1 - stage);
        sum += static_cast<double>(stretch.steps * behind);
        most = std::max(most, behind);
      }
  }
  return {sum / gradients, most, "stage s of p: p - 1 - s, less at the beginning of a step"};
}

}  // namespace

std::optional<StalenessTheory> staleness_theory(const Resolved& e) {
  if (updates_each_micro_batch(e.document.strategy)) return staleness_of_stages(e);
  if (e.servers == 0) return std::nullopt;
  return staleness_theory(e.document.strategy.servers, e.workers());
}

std::vector<Share> shares_of_servers(const Resolved& e) {
  return cut(e, tables_apart(e, placed(e)));
}

Problems checkpoint_problems(const Experiment& experiment) {
  Problems problems;
  const RunSpec& run = experiment.run;
  if (has_servers(experiment.strategy.kind) && run.clock == RunClock::machine) return problems;
  const std::string why = run.clock == RunClock::virtual_time
                              ? "a run on the virtual clock can be repeated from its seed"
                              : "other strategies save replicas only at the end";
  if (run.checkpoint_every_steps > 0)
    problems.push_back(
        {"checkpoints_not_supported", ProblemCode::bad_input, "run.checkpoint_every_steps",
         fmt::format("only parameter_server writes checkpoints during training: {}", why), "0",
         "Set run.checkpoint_every_steps to 0, or use strategy.kind=parameter_server with "
         "run.clock=machine."});
  if (!run.resume_from.empty())
    problems.push_back(
        {"resume_not_supported", ProblemCode::bad_input, "run.resume_from",
         fmt::format("only parameter_server resumes from a checkpoint: {}", why), "empty",
         "Clear run.resume_from, or use strategy.kind=parameter_server with run.clock=machine."});
  return problems;
}

Problems place_problems(const Experiment& experiment, const model::Model& model) {
  Problems problems;
  if (experiment.strategy.servers.placement != VariablePlacement::by_hand ||
      !has_servers(experiment.strategy.kind))
    return problems;
  const std::int64_t servers = count_servers(experiment.topology);
  std::set<std::string> seen;
  const auto& places = experiment.strategy.servers.places;
  for (std::size_t i = 0; i < places.size(); ++i) {
    const std::string where = "strategy.servers.places[" + std::to_string(i) + "]";
    if (places[i].server >= servers)
      problems.push_back(
          {"unknown_server", ProblemCode::bad_input, where + ".server",
           fmt::format("{} is placed on server {} (counted from 0), but there {} only {}",
                       places[i].variable, places[i].server, servers == 1 ? "is" : "are",
                       base::counted(servers, "server")),
           fmt::format("0 to {}", servers - 1), "Choose another server, or draw more servers."});
    if (!std::ranges::count(model.parameters, places[i].variable, &model::Parameter::name))
      problems.push_back({"unknown_variable", ProblemCode::bad_input, where + ".variable",
                          fmt::format("the model has no variable \"{}\"", places[i].variable),
                          names_of(model), "Choose a variable of the model, or remove the entry."});
    else if (!seen.insert(places[i].variable).second)
      problems.push_back({"variable_placed_twice", ProblemCode::bad_input, where + ".variable",
                          fmt::format("{} is placed twice", places[i].variable),
                          "each variable once", "Remove one of the entries."});
  }
  return problems;
}

Problems server_problems(const Experiment& experiment) {
  Problems problems;
  if (count_servers(experiment.topology) == 0) problems.push_back(no_server());
  add_mode_problems(experiment, problems);
  add_servers_of_backups(experiment, problems);
  add_refusals(experiment, problems);
  return problems;
}

}  // namespace trainyard::experiment
