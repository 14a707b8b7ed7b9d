// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/architecture/cycles.h"

#include <algorithm>
#include <deque>
#include <functional>
#include <iterator>
#include <map>

namespace trainyard::architecture {
namespace {

namespace fs = std::filesystem;

using Graph = std::map<std::string, Folders>;
using NodeOf = std::function<std::string(const fs::path& file)>;

Graph include_graph(const fs::path& root, const NodeOf& node_of) {
  Graph graph;
  for (const std::string& file : product_sources(root))
    for (const Include& include : includes_of(root, file)) {
      if (include.library || !fs::exists(root / include.target)) continue;
      const std::string from = node_of(file), to = node_of(include.target);
      if (from != to) graph[from].insert(to);
    }
  return graph;
}

// Returns the shortest cycle through `start`: its nodes in order, `start` first and last. Returns
// an empty list if there is none.
std::vector<std::string> cycle_through(const Graph& graph, const std::string& start) {
  std::map<std::string, std::string> previous;
  std::deque<std::string> queue{start};
  while (!queue.empty()) {
    const std::string node = queue.front();
    queue.pop_front();
    const auto edges = graph.find(node);
    if (edges == graph.end()) continue;
    for (const std::string& next : edges->second) {
      if (!previous.emplace(next, node).second) continue;
      if (next != start) {
        queue.push_back(next);
        continue;
      }
      std::vector<std::string> cycle{start};
      for (std::string at = node; at != start; at = previous.at(at)) cycle.push_back(at);
      cycle.push_back(start);
      std::ranges::reverse(cycle);
      return cycle;
    }
  }
  return {};
}

std::string text_of(const std::vector<std::string>& cycle) {
  std::string text;
  for (const std::string& node : cycle) text += (text.empty() ? "" : " -> ") + node;
  return text;
}

// The nodes that are in a cycle with `node`.
Folders cycle_members(const Graph& graph, const std::string& node) {
  const auto reachable = [](const Graph& edges, const std::string& start) {
    Folders seen;
    std::deque<std::string> queue{start};
    while (!queue.empty()) {
      if (const auto at = edges.find(queue.front()); at != edges.end())
        for (const std::string& next : at->second)
          if (seen.insert(next).second) queue.push_back(next);
      queue.pop_front();
    }
    return seen;
  };
  Graph reversed;
  for (const auto& [from, edges] : graph)
    for (const std::string& to : edges) reversed[to].insert(from);
  Folders members;
  std::ranges::set_intersection(reachable(graph, node), reachable(reversed, node),
                                std::inserter(members, members.end()));
  return members;
}

// The members of `known` that include each other, without other nodes.
Graph subgraph(const Graph& graph, const Folders& known) {
  Graph inside;
  for (const auto& [from, edges] : graph)
    for (const std::string& to : edges)
      if (known.contains(from) && known.contains(to)) inside[from].insert(to);
  return inside;
}

Findings check_cycles(const Graph& graph, const KnownCycles& known) {
  Findings findings;
  Folders seen;
  for (const auto& [node, edges] : graph) {
    if (seen.contains(node)) continue;
    const Folders members = cycle_members(graph, node);
    seen.insert(members.begin(), members.end());
    if (members.empty()) continue;
    const auto covers = [&](const Folders& set) { return std::ranges::includes(set, members); };
    if (std::ranges::any_of(known, covers)) continue;
    const auto is_new = [&](const std::string& member) {
      return std::ranges::none_of(known, [&](const Folders& set) { return set.contains(member); });
    };
    const auto first_new = std::ranges::find_if(members, is_new);
    const std::string& start = first_new == members.end() ? *members.begin() : *first_new;
    findings.push_back("include cycle: " + text_of(cycle_through(graph, start)));
  }
  for (const Folders& members : known) {
    const Graph inside = subgraph(graph, members);
    for (const std::string& member : members)
      if (cycle_through(inside, member).empty())
        findings.push_back(member + " is no longer in its known include cycle: remove it there");
  }
  return findings;
}

}  // namespace

Findings check_unit_cycles(const fs::path& root, const KnownCycles& known) {
  return check_cycles(include_graph(root,
                                    [](const fs::path& file) {
                                      return (file.parent_path() / file.stem()).generic_string();
                                    }),
                      known);
}

Findings check_folder_cycles(const fs::path& root, const KnownCycles& known) {
  return check_cycles(
      include_graph(root, [](const fs::path& file) { return file.parent_path().generic_string(); }),
      known);
}

}  // namespace trainyard::architecture
