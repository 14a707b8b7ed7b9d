// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/session/recompute.h"

#include "core/base/file.h"
#include "core/base/hash.h"
#include "core/base/json.h"
#include "core/experiment/halves.h"
#include "core/plan/served.h"
#include "core/plan/text.h"
#include "core/session/journal.h"
#include "core/session/recipe.h"
#include "core/session/resume.h"
#include "core/strategy/strategy.h"

namespace trainyard::session {
namespace {

using base::ProblemCode;
using base::Result;

constexpr std::size_t kMostBytes = std::size_t{64} << 20;  // of a JSON file

Result<base::Json> read_json(const std::filesystem::path& path) {
  return base::read_file(path, kMostBytes).and_then([&](const std::string& text) { return base::parse_json(text, path.string()); });
}

Result<experiment::Resolved> resolved_of(const std::filesystem::path& run_directory) {
  return read_json(run_directory / "resolved.json").and_then([](const base::Json& json) { return experiment::resolved_from_json(json); });
}

// Events of another plan may fit by number, and mean something else. Orders that older versions wrote down do not say whose they are.
Result<void> is_of(const telemetry::Frame& header, const std::string& plan_hash, const std::string& path) {
  const auto json = telemetry::json_of(header);
  if (!json) return base::fail(json.error());
  const auto said = json->find("plan_hash");
  if (said == json->end() || *said == plan_hash) return {};
  return base::fail(
      {ProblemCode::refused, path,
       "is the order of plan " + (said->is_string() ? said->get<std::string>() : said->dump()) + ", and the experiment beside it makes plan " + plan_hash,
       "the order of this run, by the version that ran it", "It is of another run, or resolved.json was changed since."});
}

// There is one copy of an order, and without all of it nobody knows what came after.
base::Problem unreadable(base::Problem problem, const std::string& path) {
  if (problem.where.find(path) == std::string::npos) problem.where = path;
  problem.advice =
      "Copy " + path +
      " again from where the run was made. If it is damaged there too, this run cannot be computed again: its recording can still be "
      "replayed without --recompute, and its weights are in checkpoints/. A run with run.clock = virtual needs no such file: it is the same again.";
  return problem;
}

// By server. The order ends where the file does; damage before that is a Problem.
Result<std::vector<std::vector<plan::Served>>> order_of(const std::filesystem::path& path, const experiment::Resolved& resolved, const std::string& plan_hash) {
  auto reader = telemetry::RecordingReader::open(path);
  if (!reader) return base::fail(unreadable(reader.error(), path.string()));
  std::vector<std::vector<plan::Served>> servers(static_cast<std::size_t>(resolved.servers));
  for (auto frame = reader->next();; frame = reader->next()) {
    if (!frame) return base::fail(unreadable(frame.error(), path.string()));
    if (!*frame) return servers;
    if ((*frame)->type == telemetry::FrameType::header)
      if (const auto own = is_of(**frame, plan_hash, path.string()); !own) return base::fail(own.error());
    if ((*frame)->type != telemetry::FrameType::order) continue;
    const int server = (*frame)->rank - resolved.workers();
    if (server < 0 || server >= resolved.servers)
      return base::fail(
          {ProblemCode::bad_input, path.string(), "rank " + std::to_string((*frame)->rank) + " is no server of the run", "", "It is of another run."});
    auto events = plan::served_of((*frame)->payload);
    if (!events) return base::fail(unreadable(events.error(), path.string()));
    auto& of_server = servers[static_cast<std::size_t>(server)];
    of_server.insert(of_server.end(), events->begin(), events->end());
  }
}

// Of the first worker that was there at the end: rank 0 and nothing where none was.
std::pair<int, std::string> recorded_hash(const std::filesystem::path& run_directory) {
  const auto json = read_json(run_directory / "result.json");
  const auto ranks = json.and_then([](const base::Json& result) { return base::value_at(result, "ranks"); });
  if (!ranks || !ranks->is_array()) return {0, ""};
  for (std::size_t rank = 0; rank < ranks->size(); ++rank)
    if (const auto hash = base::value_at((*ranks)[rank], "parameters_xxh64"); hash && hash->is_string())
      return {static_cast<int>(rank), hash->get<std::string>()};
  return {0, ""};
}

}  // namespace

Result<Recomputed> recompute(const std::filesystem::path& run_directory, const MakeCompute& make_compute) {
  const auto resolved = resolved_of(run_directory);
  if (!resolved) return base::fail(resolved.error());
  if (experiment::averages_in_pairs(resolved->document.strategy))
    return base::fail({ProblemCode::bad_input, run_directory.string(),
                       "its ranks averaged in pairs, each on its own clock, and who came when is not written down", "a run with servers",
                       "It cannot be had again; strategy.gossip.mode = synchronous can."});
  if (resolved->servers == 0)
    return base::fail({ProblemCode::bad_input, run_directory.string(), "the run has no parameter servers: nothing in it depends on who came first",
                       "a run with servers", "Run its experiment again: it comes to the same weights."});
  const auto whole = strategy::make_plan(*resolved);
  if (!whole) return base::fail(whole.error());
  auto servers = order_of(run_directory / kOrderFile, *resolved, plan::hash(*whole));
  if (!servers) return base::fail(servers.error());
  Recomputed outcome;
  for (const auto& server : *servers) outcome.left_over += std::ssize(server);
  auto order = plan::RecordedOrder::make(std::move(*servers), resolved->workers());
  if (!order) return base::fail(order.error());

  const plan::Plan plan = plan::without_evaluators(*whole);
  const topology::Network network(resolved->document.topology);
  const auto compute = make_compute(network.device(resolved->ranks.front()));
  if (!compute) return base::fail(compute.error());
  const run::Recipe recipe = session::recipe(*resolved);
  auto parts = served_training_parts(*resolved, plan, recipe, **compute);
  if (!parts) return base::fail(parts.error());
  auto begins = resolved->first_step > 0 ? beginning(*resolved) : Result<Beginning>(Beginning{});
  if (!begins) return base::fail(begins.error());
  if (resolved->first_step > 0)
    parts->initialise = [&](const plan::RankPlan& rank, const run::BoundPlan& bound) {
      initialise(*resolved, rank, bound);
      take_over(*begins, *resolved, rank, bound);
    };
  parts->first_version = resolved->first_version;
  if (parts->swap_directory.empty()) parts->swap_directory = run_directory.string();
  const auto training = run::ServedTraining::make(std::move(*parts));
  if (!training) return base::fail(training.error());

  for (auto event = order->next(); event && *event; event = order->next()) {
    if (const auto ok = (*training)->follow(**event); !ok) return base::fail(ok.error());
    ++outcome.events, --outcome.left_over;
  }
  outcome.gradients = (*training)->gradients();
  const auto [rank, hash] = recorded_hash(run_directory);
  const compute::Tensor parameters = (*training)->parameters(rank);
  outcome.parameters_xxh64 = base::hex(base::xxh64({parameters.data, static_cast<std::size_t>(parameters.bytes())}));
  outcome.recorded_xxh64 = hash;
  return outcome;
}

}  // namespace trainyard::session
