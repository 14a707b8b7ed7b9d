// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/machine_choice.h"

#include <fmt/core.h>

#include <cstdlib>
#include <sstream>
#include <vector>

#include "backends/ssh/command.h"
#include "backends/ssh/ssh.h"
#include "core/base/units.h"

namespace trainyard::app {
namespace {

using base::Result;

constexpr std::string_view kHere = "here", kSlurm = "slurm";

base::Problem problem(const char* id, std::string what, std::string accepted, std::string advice) {
  return {id,
          base::ProblemCode::bad_usage,
          "--hosts",
          std::move(what),
          std::move(accepted),
          std::move(advice)};
}

std::string variable(const char* name) {
  const char* const value = std::getenv(name);
  return value != nullptr ? value : "";
}

// Returns the nodes of this job; empty for the node on which this process runs. Source:
// scontrol(1), "show hostnames".
Result<std::vector<std::string>> slurm_nodes() {
  std::string list = variable("SLURM_JOB_NODELIST");
  if (list.empty()) list = variable("SLURM_NODELIST");
  if (list.empty())
    return base::fail(problem("no_slurm_allocation", "this process is not in a Slurm allocation",
                              "",
                              "Use salloc or sbatch, or name the machines: --hosts NAME,NAME."));
  const auto shown = ssh::run({"scontrol", {"show", "hostnames", list}});
  if (!shown) return base::fail(shown.error());
  if (shown->exit_code != 0)
    return base::fail(
        problem("no_slurm_allocation",
                fmt::format("scontrol cannot read the list of nodes {}: {}", list, shown->printed),
                "", "Check that scontrol works on this node."));
  std::vector<std::string> nodes;
  std::istringstream lines(shown->printed);
  for (std::string node; lines >> node;)
    nodes.push_back(
        node == variable("SLURMD_NODENAME") ? "" : fmt::format("{}{}", ssh::kSlurmPrefix, node));
  return nodes;
}

std::vector<std::string> named(const std::string& choice) {
  std::vector<std::string> names;
  std::istringstream words(choice);
  for (std::string name; std::getline(words, name, ',');)
    names.push_back(name == kHere ? "" : name);
  return names;
}

}  // namespace

Result<void> choose_machines(const std::string& choice, topology::Topology& topology) {
  std::vector<std::string> machines(topology.hosts.size());
  if (choice == kSlurm) {
    auto nodes = slurm_nodes();
    if (!nodes) return base::fail(nodes.error());
    machines = std::move(*nodes);
  } else if (choice != kHere) {
    machines = named(choice);
  }
  if (machines.size() != topology.hosts.size())
    return base::fail(problem(
        "other_number_of_machines",
        fmt::format("{} for {}", base::counted(std::ssize(machines), "machine"),
                    base::counted(std::ssize(topology.hosts), "drawn host")),
        "as many machines as drawn hosts",
        "Name a machine for each host, in the order of the drawing; \"here\" is this machine."));
  if (choice.find(",,") != std::string::npos || choice.ends_with(',') || choice.starts_with(','))
    return base::fail(problem("bad_address", fmt::format("\"{}\" contains an empty name", choice),
                              "NAME,NAME,...", "\"here\" is this machine."));
  for (std::size_t host = 0; host < machines.size(); ++host)
    topology.hosts[host].address = machines[host];
  return {};
}

bool is_further_slurm_process(const std::string& choice) {
  const std::string process = variable("SLURM_PROCID");
  return choice == kSlurm && !process.empty() && process != "0";
}

}  // namespace trainyard::app
