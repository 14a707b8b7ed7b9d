// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/session/coordinator/rank_entry.h"

#include <fmt/core.h>

#include <algorithm>
#include <random>
#include <set>

#include "core/base/hash.h"
#include "core/base/units.h"

namespace trainyard::session {

using base::Problem;
using base::ProblemCode;

std::vector<std::string> rank_names(const experiment::Resolved& experiment) {
  const topology::Network network(experiment.document.topology);
  std::vector<std::string> names;
  for (std::size_t r = 0; r < experiment.ranks.size(); ++r)
    names.push_back(fmt::format("rank {} ({}/{})", r, network.host(experiment.ranks[r]).name,
                                network.device(experiment.ranks[r]).name));
  return names;
}

bool any_differs(const RankEntries& entries, std::string RankEntry::*value,
                 const std::string& expected) {
  return std::any_of(entries.begin(), entries.end(), [&](const RankEntry& entry) {
    return !(entry.*value).empty() && entry.*value != expected;
  });
}

bool all_reported(const RankEntries& entries, std::string RankEntry::*value) {
  return std::none_of(entries.begin(), entries.end(),
                      [&](const RankEntry& entry) { return (entry.*value).empty(); });
}

Problem disagreement(const RankEntries& entries, const std::string& of,
                     std::string RankEntry::*value, const std::string& expected) {
  std::string table = fmt::format("coordinator {}", expected);
  for (const RankEntry& entry : entries)
    table += fmt::format("; {} {}", entry.name,
                         (entry.*value).empty() ? "(not reported)" : entry.*value);
  return {"ranks_differ",
          ProblemCode::refused,
          of,
          fmt::format("ranks and coordinator differ: {}", table),
          fmt::format("the same {} everywhere", of),
          "Install one version of Trainyard everywhere."};
}

std::uint64_t random_number() {
  std::random_device device;
  return (std::uint64_t{device()} << 32) | device();
}

std::string new_token() { return base::hex(random_number()); }

std::optional<Problem> different_weights(const RankEntries& entries,
                                         const std::vector<int>& alike) {
  std::set<std::string> distinct;
  std::string table;
  for (const int rank : alike) {
    const RankEntry& entry = entries[static_cast<std::size_t>(rank)];
    if (!entry.finished) continue;  // The rank failed.
    const std::string& weights = entry.finished->parameters_xxh64;
    if (weights.empty()) continue;  // The rank holds no parameters.
    distinct.insert(weights);
    table += fmt::format("{}{} {}", table.empty() ? "" : "; ", entry.name, weights);
  }
  if (distinct.size() < 2) return std::nullopt;
  return Problem{
      "weights_differ",
      ProblemCode::failed,
      "final weights",
      fmt::format("ranks ended with different weights: {}", table),
      "bit-identical replicas",
      "This is a fault of the software or the machine: please report it with the run directory."};
}

Problem not_started(const RankEntries& entries, double seconds) {
  std::string missing;
  for (const RankEntry& entry : entries)
    if (!entry.planned) missing += (missing.empty() ? "" : ", ") + entry.name;
  return {"rank_not_ready",
          ProblemCode::failed,
          missing,
          fmt::format("not ready within {}", base::format_seconds(seconds)),
          "",
          "See the logs of these ranks in the run directory."};
}

}  // namespace trainyard::session
