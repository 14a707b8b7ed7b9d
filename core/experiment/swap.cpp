// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/experiment/swap.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "core/base/descriptor.h"
#include "core/experiment/servers.h"

namespace trainyard::experiment {
namespace {

using base::Problem;
using base::ProblemCode;
using base::Problems;

bool keeps_moments(const OptimizerSpec& optimizer) {
  return optimizer.kind != OptimizerKind::sgd || optimizer.momentum > 0;
}

Problem of_optimizer(std::string what, std::string advice) {
  return {"offload_not_supported",
          ProblemCode::bad_input,
          "training.swap.optimizer",
          std::move(what),
          "nowhere",
          std::move(advice)};
}

// Returns the reason why no file can be created in the directory; empty if a file can be created.
// Creates a file instead of checking permissions: root passes every permission check, but may still
// be unable to write.
std::string file_creation_error(const std::string& directory) {
  std::error_code error;
  if (!std::filesystem::exists(directory, error)) return "no such directory";
  if (!std::filesystem::is_directory(directory, error)) return "it is not a directory";
  std::string name = directory + "/swap-XXXXXX";
  const base::Descriptor file(::mkostemp(name.data(), O_CLOEXEC));
  if (file.get() < 0) return std::strerror(errno);
  ::unlink(name.c_str());
  return "";
}

}  // namespace

Problems offload_problems(const Experiment& e) {
  const OffloadSpec& offload = e.training.swap;
  Problems problems;
  if (offload.optimizer != OffloadTarget::nowhere && has_servers(e.strategy.kind))
    problems.push_back(
        of_optimizer("servers keep the moments and update when gradients arrive, so they cannot "
                     "fetch moments ahead",
                     "Set training.swap.optimizer to nowhere, or draw more servers, so that each "
                     "keeps fewer moments."));
  else if (offload.optimizer != OffloadTarget::nowhere && !keeps_moments(e.training.optimizer))
    problems.push_back(of_optimizer("sgd without momentum has no moments",
                                    "Set training.swap.optimizer to nowhere."));
  if (!offload.directory.empty() && offload.directory.front() != '/')
    problems.push_back(
        {"relative_directory", ProblemCode::bad_input, "training.swap.directory",
         fmt::format("\"{}\" is a relative path, but ranks may start in different directories",
                     offload.directory),
         "an absolute path, or empty",
         "Use a path that begins with /, or leave the field empty to use the run directory."});
  return problems;
}

Problems offload_directory_problems(const Experiment& e) {
  const std::string& directory = e.training.swap.directory;
  if (!offloads_to_disk(e.training) || directory.empty() || directory.front() != '/') return {};
  if (std::any_of(e.topology.hosts.begin(), e.topology.hosts.end(),
                  [](const topology::Host& host) { return !host.address.empty(); }))
    return {};
  const std::string why = file_creation_error(directory);
  if (why.empty()) return {};
  return {{"directory_not_writable", ProblemCode::bad_input, "training.swap.directory",
           fmt::format("cannot create a file in {}: {}", directory, why), "a writable directory",
           "Create the directory, choose another directory, or offload to host memory instead."}};
}

}  // namespace trainyard::experiment
