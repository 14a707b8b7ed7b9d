// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/experiment/roles.h"

#include <fmt/core.h>

#include <algorithm>

#include "core/base/units.h"
#include "core/experiment/fields.h"
#include "core/experiment/rank_duties.h"
#include "core/experiment/servers.h"

namespace trainyard::experiment {
namespace {

using base::Problem;
using base::ProblemCode;
using base::Problems;
using topology::Device;
using topology::Role;

struct Drawn {
  const Device* device;
  std::string path;  // Path of the role in the document.
};

std::vector<Drawn> with_role(const topology::Topology& topology, Role role) {
  std::vector<Drawn> list;
  for (std::size_t h = 0; h < topology.hosts.size(); ++h)
    for (std::size_t d = 0; d < topology.hosts[h].devices.size(); ++d)
      if (const Device& device = topology.hosts[h].devices[d]; device.role == role)
        list.push_back({&device, "topology.hosts[" + std::to_string(h) + "].devices[" +
                                     std::to_string(d) + "].role"});
  return list;
}

// Reports devices whose role the strategy does not use, because such devices would get no rank
// without any message.
void add_unused_roles(const Experiment& experiment, Problems& problems) {
  if (has_servers(experiment.strategy.kind)) return;
  const std::string strategy(base::name_of(experiment.strategy.kind));
  const bool calls = experiment.strategy.kind == StrategyKind::rpc;
  for (const Drawn& drawn :
       calls ? std::vector<Drawn>{} : with_role(experiment.topology, Role::parameter_server))
    problems.push_back({"role_not_used", ProblemCode::bad_input, drawn.path,
                        fmt::format("{} has the role parameter_server, but {} has no servers",
                                    drawn.device->name, strategy),
                        "worker, chief, idle",
                        "Set its role to idle, or strategy.kind to parameter_server or rpc."});
  for (const Drawn& drawn : with_role(experiment.topology, Role::evaluator))
    problems.push_back(
        {"role_not_used", ProblemCode::bad_input, drawn.path,
         fmt::format("{} has the role evaluator, which needs checkpoints during training, but {} "
                     "writes a checkpoint only at the end",
                     drawn.device->name, strategy),
         "worker, chief, idle",
         "Set its role to idle, so that the workers evaluate, or set strategy.kind to "
         "parameter_server."});
}

void add_second(const Experiment& experiment, Role role, const char* advice, Problems& problems) {
  const auto all = with_role(experiment.topology, role);
  if (all.size() < 2) return;
  const std::string name(base::name_of(role));
  problems.push_back({"role_taken", ProblemCode::bad_input, all[1].path,
                      fmt::format("{0} and {1} both have the role {2}", all[0].device->name,
                                  all[1].device->name, name),
                      fmt::format("one {}", name), advice});
}

void add_other_chief(const Experiment& experiment, Problems& problems) {
  const auto chiefs = with_role(experiment.topology, Role::chief);
  if (chiefs.size() != 1) return;
  const int rank = chief_rank(experiment);
  const auto refuse = [&](const std::string& what, const char* accepted) {
    problems.push_back({"wrong_chief", ProblemCode::bad_input, chiefs.front().path,
                        fmt::format("{} is the chief, which writes checkpoints: {}",
                                    chiefs.front().device->name, what),
                        accepted,
                        "Make the device a worker. The chief is then chosen automatically, unless "
                        "another device has the role chief."});
  };
  if (rank == storage_rank(experiment))
    refuse("the chief must be a rank that takes samples, but this device only keeps the variables",
           "a device that computes");
  if (!keeps_parameters(experiment, rank))
    refuse(fmt::format("in {} only rank 0 keeps the parameters, so only rank 0 can be the chief",
                       base::name_of(experiment.strategy.kind)),
           "rank 0");
}

void add_idle_evaluator(const Experiment& experiment, const data::DataSummary* data,
                        Problems& problems) {
  if (!has_servers(experiment.strategy.kind)) return;
  for (const Drawn& drawn : with_role(experiment.topology, Role::evaluator)) {
    const std::string is = fmt::format("{} is an evaluator, ", drawn.device->name);
    if (experiment.run.clock == RunClock::virtual_time)
      problems.push_back(
          {"evaluator_without_checkpoints", ProblemCode::bad_input, drawn.path,
           is + "which needs checkpoints, but a run on the virtual clock writes "
                "none during training",
           "worker, chief, idle",
           "Set its role to idle, so that the workers evaluate, or set run.clock to machine."});
    if (data != nullptr && data->held_out_samples == 0)
      problems.push_back({"evaluator_without_samples", ProblemCode::bad_input, drawn.path,
                          is + "but there are no held-out samples", "worker, chief, idle",
                          "Set its role to idle, or data.held_out_samples to 1 or more."});
  }
}

}  // namespace

int chief_rank(const Experiment& experiment) {
  int rank = 0;
  for (const topology::Host& host : experiment.topology.hosts)
    for (const Device& device : host.devices) {
      if (device.role == Role::chief) return rank;
      rank += topology::works(device) ? 1 : 0;
    }
  return storage_rank(experiment) == 0 ? 1 : 0;
}

Problems role_problems(const Experiment& experiment, const data::DataSummary* data) {
  Problems problems;
  add_unused_roles(experiment, problems);
  add_second(experiment, Role::chief, "Make one of the chiefs a worker.", problems);
  add_second(experiment, Role::evaluator, "Make one of the evaluators idle.", problems);
  add_other_chief(experiment, problems);
  add_idle_evaluator(experiment, data, problems);
  return problems;
}

}  // namespace trainyard::experiment
