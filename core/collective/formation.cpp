// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/collective/formation.h"

#include <algorithm>
#include <cstdint>
#include <map>

namespace trainyard::collective {
namespace {

int columns_nearest_to_a_square(int members) {
  int rows = 1;
  for (int r = 1; r * r <= members; ++r)
    if (members % r == 0) rows = r;
  return members / rows;
}

bool is_host_contiguous(const std::vector<std::vector<int>>& hosts) {
  return std::all_of(hosts.begin(), hosts.end(), [](const auto& host) {
    return host.back() - host.front() + 1 == static_cast<int>(host.size());
  });
}

}  // namespace

bool Formation::even() const {
  return std::all_of(hosts.begin(), hosts.end(),
                     [&](const auto& host) { return host.size() == hosts.front().size(); });
}

const std::vector<int>& Formation::host_of(int position) const {
  return *std::find_if(hosts.begin(), hosts.end(), [&](const auto& host) {
    return std::binary_search(host.begin(), host.end(), position);
  });
}

Formation formation(int members) {
  return formation(std::vector<int>(static_cast<std::size_t>(members), 0));
}

Formation formation(const std::vector<int>& host_of) {
  Formation f{static_cast<int>(host_of.size()), {}, 1};
  std::map<int, std::size_t> known;
  for (int position = 0; position < f.members; ++position) {
    const auto [host, added] =
        known.try_emplace(host_of[static_cast<std::size_t>(position)], f.hosts.size());
    if (added) f.hosts.emplace_back();
    f.hosts[host->second].push_back(position);
  }
  const bool hosts_are_rows = f.hosts.size() > 1 && f.even() && is_host_contiguous(f.hosts);
  f.columns = hosts_are_rows ? static_cast<int>(f.hosts.front().size())
                             : columns_nearest_to_a_square(f.members);
  return f;
}

}  // namespace trainyard::collective
