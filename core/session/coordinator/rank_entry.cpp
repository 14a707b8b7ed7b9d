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
    names.push_back(fmt::format("rank {} ({} on {})", r, network.device(experiment.ranks[r]).name,
                                network.host(experiment.ranks[r]).name));
  return names;
}

bool any_differs(const RankEntries& seats, std::string RankEntry::*value,
                 const std::string& expected) {
  return std::any_of(seats.begin(), seats.end(), [&](const RankEntry& seat) {
    return !(seat.*value).empty() && seat.*value != expected;
  });
}

bool all_reported(const RankEntries& seats, std::string RankEntry::*value) {
  return std::none_of(seats.begin(), seats.end(),
                      [&](const RankEntry& seat) { return (seat.*value).empty(); });
}

Problem disagreement(const RankEntries& seats, const std::string& of, std::string RankEntry::*value,
                     const std::string& expected) {
  std::string table = fmt::format("coordinator {}", expected);
  for (const RankEntry& seat : seats)
    table +=
        fmt::format("; {} {}", seat.name, (seat.*value).empty() ? "(not reported)" : seat.*value);
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

std::optional<Problem> different_weights(const RankEntries& seats, const std::vector<int>& alike) {
  std::set<std::string> distinct;
  std::string table;
  for (const int rank : alike) {
    const RankEntry& seat = seats[static_cast<std::size_t>(rank)];
    if (!seat.finished) continue;  // It failed.
    const std::string& weights = seat.finished->parameters_xxh64;
    if (weights.empty()) continue;  // It holds no parameters.
    distinct.insert(weights);
    table += fmt::format("{}{} {}", table.empty() ? "" : "; ", seat.name, weights);
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

Problem not_started(const RankEntries& seats, double seconds) {
  std::string missing;
  for (const RankEntry& seat : seats)
    if (!seat.planned) missing += (missing.empty() ? "" : ", ") + seat.name;
  return {"rank_not_ready",
          ProblemCode::failed,
          missing,
          fmt::format("not ready within {}", base::format_seconds(seconds)),
          "",
          "See the logs of these ranks in the run directory."};
}

}  // namespace trainyard::session
