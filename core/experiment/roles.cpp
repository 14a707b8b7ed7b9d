// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/experiment/roles.h"

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
  std::string path;  // Path of its role.
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

// Reports devices whose role the strategy does not use: they would silently get no rank.
void add_unused_roles(const Experiment& experiment, Problems& problems) {
  if (has_servers(experiment.strategy.kind)) return;
  const std::string strategy(base::name_of(experiment.strategy.kind));
  const bool calls = experiment.strategy.kind == StrategyKind::rpc;
  for (const Drawn& drawn :
       calls ? std::vector<Drawn>{} : with_role(experiment.topology, Role::parameter_server))
    problems.push_back(
        {ProblemCode::bad_input, drawn.path,
         drawn.device->name + " is a parameter_server, and " + strategy + " has none",
         "worker, idle", "Set its role to idle, or strategy.kind to parameter_server or rpc."});
  for (const Drawn& drawn : with_role(experiment.topology, Role::evaluator))
    problems.push_back(
        {ProblemCode::bad_input, drawn.path,
         drawn.device->name + " is an evaluator, which reads checkpoints while others train, and " +
             strategy + " writes one at the end alone",
         "worker, idle",
         "Set its role to idle (workers evaluate), or strategy.kind to parameter_server."});
}

void add_second(const Experiment& experiment, Role role, const char* advice, Problems& problems) {
  const auto all = with_role(experiment.topology, role);
  if (all.size() < 2) return;
  const std::string name(base::name_of(role));
  problems.push_back({ProblemCode::bad_input, all[1].path,
                      all[0].device->name + " is the " + name + " already, and " +
                          all[1].device->name + " would be another",
                      "one " + name, advice});
}

void add_other_chief(const Experiment& experiment, Problems& problems) {
  const auto chiefs = with_role(experiment.topology, Role::chief);
  if (chiefs.size() != 1) return;
  const int rank = chief_rank(experiment);
  const auto refuse = [&](const std::string& what, const char* accepted) {
    problems.push_back(
        {ProblemCode::bad_input, chiefs.front().path,
         chiefs.front().device->name + " is the chief, who writes checkpoints: " + what, accepted,
         "Make it a worker, and that one the chief, or none."});
  };
  if (rank == storage_rank(experiment))
    refuse("it keeps the variables of all, and takes no samples", "a device that computes");
  if (!keeps_parameters(experiment, rank))
    refuse("in " + std::string(base::name_of(experiment.strategy.kind)) +
               " only rank 0 keeps the parameters",
           "rank 0");
}

void add_idle_evaluator(const Experiment& experiment, const data::DataSummary* data,
                        Problems& problems) {
  if (!has_servers(experiment.strategy.kind)) return;
  for (const Drawn& drawn : with_role(experiment.topology, Role::evaluator)) {
    const std::string is = drawn.device->name + " is an evaluator, ";
    if (experiment.run.clock == RunClock::virtual_time)
      problems.push_back(
          {ProblemCode::bad_input, drawn.path,
           is + "which reads checkpoints, and on the virtual clock none are written on the way",
           "worker, idle", "Set its role to idle (workers evaluate), or run.clock to machine."});
    if (data != nullptr && data->held_out_samples == 0)
      problems.push_back({ProblemCode::bad_input, drawn.path,
                          is + "and no samples are held out that it could measure", "worker, idle",
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
  add_second(experiment, Role::chief, "Make one of them a worker.", problems);
  add_second(experiment, Role::evaluator, "Make one of them idle.", problems);
  add_other_chief(experiment, problems);
  add_idle_evaluator(experiment, data, problems);
  return problems;
}

}  // namespace trainyard::experiment
