// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/experiment/swap.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>

#include "core/experiment/servers.h"

namespace trainyard::experiment {
namespace {

using base::Problem;
using base::ProblemCode;
using base::Problems;

bool keeps_moments(const OptimizerSpec& optimizer) { return optimizer.kind != OptimizerKind::sgd || optimizer.momentum > 0; }

Problem of_optimizer(std::string what, std::string advice) {
  return {ProblemCode::bad_input, "training.swap.optimizer", std::move(what), "nowhere", std::move(advice)};
}

}  // namespace

Problems swap_problems(const Experiment& e) {
  const SwapSpec& swap = e.training.swap;
  Problems problems;
  if (swap.optimizer != SwapTo::nowhere && has_servers(e.strategy.kind))
    problems.push_back(of_optimizer("servers keep the moments, and update when gradients come: they cannot tell what is needed next",
                                    "Set it to nowhere, or draw more servers: each keeps its share."));
  else if (swap.optimizer != SwapTo::nowhere && !keeps_moments(e.training.optimizer))
    problems.push_back(of_optimizer("sgd without momentum keeps no moments", "Set it to nowhere."));
  if (!swap.directory.empty() && swap.directory.front() != '/')
    problems.push_back({ProblemCode::bad_input, "training.swap.directory",
                        "\"" + swap.directory + "\" does not begin with /, and ranks are not all started in one directory",
                        "a directory from the root on, or nothing", "Name it from the root on, or leave it empty: then files are in the run's own directory."});
  return problems;
}

Problems swap_directory_problems(const Experiment& e) {
  const std::string& directory = e.training.swap.directory;
  if (!swaps_to_disk(e.training) || directory.empty() || directory.front() != '/') return {};
  if (std::any_of(e.topology.hosts.begin(), e.topology.hosts.end(), [](const topology::Host& host) { return !host.address.empty(); })) return {};
  std::error_code ignored;
  const bool is_there = std::filesystem::is_directory(directory, ignored);
  if (is_there && ::access(directory.c_str(), W_OK | X_OK) == 0) return {};
  const std::string why = is_there ? std::strerror(errno) : "no such directory";
  return {{ProblemCode::bad_input, "training.swap.directory", "no file can be made in " + directory + ": " + why, "a directory that can be written to",
           "Make it, name another one, or put aside to host."}};
}

}  // namespace trainyard::experiment
