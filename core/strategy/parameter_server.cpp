// SPDX-License-Identifier: GPL-3.0-or-later
// Parameter servers. A worker runs the step of a replica, without the update. Instead of updating,
// it pushes its gradient to the servers, share by share, during the backward pass. Before every
// round, program "turn" runs: the worker gets its work assignment from the first server, and
// parameters of one version from every server. A server has no steps. Its programs run when a
// gradient has arrived, when an update is complete, and when a worker may be answered.
//
// A worker pulls and pushes only the rows of a lookup table that its round uses. The worker can
// list these rows once it has its work assignment. Then it sends the list to the servers and
// receives the rows. Each server sends rows and other parameters of the same version. The worker
// pushes the gradients of the rows in the same order.
//
// Groups: first one group per server, for requests and answers; its members are the server and all
// workers. Then one group per share; its members are the server of the share and all workers.
#include <fmt/core.h>

#include <algorithm>
#include <numeric>

#include "core/strategy/replica.h"
#include "core/strategy/serving.h"
#include "core/strategy/strategy.h"

namespace trainyard::strategy {
namespace {

using experiment::Share;

plan::ArrivalRule rule_of(const experiment::Resolved& e) {
  const experiment::ServerSpec& servers = e.document.strategy.servers;
  plan::ArrivalRule rule{
      .workers = e.workers(),
      .gradients_per_update = experiment::gradients_per_update(servers, e.workers())};
  rule.answers_after_update = experiment::is_lockstep(servers);
  if (servers.mode == experiment::ServerMode::stale_synchronous) rule.clock_bound = servers.bound;
  return rule;
}

std::vector<plan::Group> groups_of(const Serving& serving) {
  std::vector<plan::Group> groups;
  const auto add = [&](int server) {
    plan::Group group;
    group.ranks.resize(static_cast<std::size_t>(serving.workers()));
    std::iota(group.ranks.begin(), group.ranks.end(), 0);
    group.ranks.push_back(serving.rank_of(server));
    groups.push_back(std::move(group));
  };
  for (int server = 0; server < serving.servers(); ++server) add(server);
  for (const Share& share : serving.shares) add(share.server);
  return groups;
}

constexpr std::size_t kMaxGroups = 64;  // maximum number of channels of a transport

std::optional<base::Problem> refusal(const experiment::Resolved& e, const Serving& serving) {
  if (e.servers < 1 || e.workers() < 1)
    return base::Problem{"no_server",
                         base::ProblemCode::bad_input,
                         "strategy.kind",
                         "parameter_server needs a worker and a server",
                         "one of each, or more",
                         "Draw a worker and a server, or set strategy.kind to mirrored."};
  for (int server = 0; server < e.servers; ++server)
    if (std::ranges::none_of(serving.shares,
                             [server](const Share& share) { return share.server == server; }))
      return base::Problem{
          "server_without_variables",
          base::ProblemCode::bad_input,
          "topology.hosts",
          fmt::format(
              "parameter server {} would keep no variable (there are {} servers, counted from 0)",
              server, e.servers),
          "at least one variable, or one row of a table, on every server",
          "Draw fewer servers, or change the placement of variables (strategy.servers.placement)."};
  const std::size_t groups = serving.shares.size() + static_cast<std::size_t>(e.servers);
  if (groups <= kMaxGroups) return std::nullopt;
  return base::Problem{
      "too_many_pieces",
      base::ProblemCode::bad_input,
      "strategy.servers.placement",
      fmt::format(
          "the servers would keep {} pieces of the parameters, each of which is sent separately",
          serving.shares.size()),
      fmt::format("at most {}", kMaxGroups - static_cast<std::size_t>(e.servers)),
      "Set strategy.servers.placement to balanced, or draw fewer servers."};
}

}  // namespace

std::int64_t Serving::max_named(const Share& share) const {
  const data::Shares of_step = experiment.shares();
  std::int64_t samples = 0;
  for (std::int64_t rank = 0; rank < of_step.ranks(); ++rank)
    samples = std::max(samples, of_step.samples(0, rank));
  return std::min(share.count / row_of(share), samples * table_of(share).slot_count);
}

base::Result<plan::Plan> parameter_server(const experiment::Resolved& experiment) {
  const Serving serving{
      experiment,
      experiment.servers > 0 ? experiment::shares_of_servers(experiment) : std::vector<Share>{},
      experiment.servers > 0 ? rule_of(experiment) : plan::ArrivalRule{}};
  if (auto refused = refusal(experiment, serving)) return base::fail(*refused);
  return plan::Plan{
      experiment.world(), groups_of(serving), schedule(experiment), [serving](std::int32_t rank) {
        if (serving.experiment.is_evaluator(rank)) return evaluator(serving.experiment, rank);
        return rank < serving.workers() ? server_worker(serving, rank)
                                        : parameter_server_rank(serving, rank - serving.workers());
      }};
}

}  // namespace trainyard::strategy
