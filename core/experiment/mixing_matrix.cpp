// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/experiment/mixing_matrix.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <optional>
#include <set>

#include "core/base/units.h"
#include "core/collective/formation.h"
#include "core/experiment/bipartition.h"
#include "core/experiment/fields.h"
#include "core/experiment/placement.h"
#include "core/topology/network.h"

namespace trainyard::experiment {
namespace {

using base::Problem;
using base::ProblemCode;
using base::Problems;

constexpr std::int64_t kMaxDenominator = 1'000'000'000'000;
// Maximum number of ranks, because the matrix has ranks x ranks entries.
constexpr std::int64_t kMaxRanks = 512;
const char* const kWeights = "strategy.gossip.weights";

int size(const Graph& graph) { return static_cast<int>(graph.size()); }
std::string of_rank(int rank) { return "rank " + std::to_string(rank); }

// Neighbor graphs

class Drawing {
 public:
  explicit Drawing(int ranks) : neighbors_(at_rank(ranks)) {}

  void join(int a, int b) {
    if (a == b) return;
    neighbors_[at_rank(a)].insert(b);
    neighbors_[at_rank(b)].insert(a);
  }
  Graph graph() const {
    Graph graph;
    for (const auto& one : neighbors_) graph.emplace_back(one.begin(), one.end());
    return graph;
  }

 private:
  std::vector<std::set<int>> neighbors_;
};

Graph in_a_ring(int ranks) {
  Drawing drawing(ranks);
  for (int i = 0; i < ranks; ++i) drawing.join(i, (i + 1) % ranks);
  return drawing.graph();
}

Graph by_powers_of_two(int ranks) {
  Drawing drawing(ranks);
  for (int distance = 1; distance < ranks; distance *= 2)
    for (int i = 0; i < ranks; ++i) drawing.join(i, (i + distance) % ranks);
  return drawing.graph();
}

Graph in_a_torus(const collective::Formation& grid) {
  Drawing drawing(grid.members);
  for (int i = 0; i < grid.members; ++i) {
    const int row = i / grid.columns, column = i % grid.columns;
    drawing.join(i, row * grid.columns + (column + 1) % grid.columns);
    drawing.join(i, (row + 1) % grid.rows() * grid.columns + column);
  }
  return drawing.graph();
}

Graph of_all(int ranks) {
  Drawing drawing(ranks);
  for (int i = 0; i < ranks; ++i)
    for (int j = 0; j < i; ++j) drawing.join(i, j);
  return drawing.graph();
}

Graph trains_drawing(const topology::Topology& topology, const std::vector<int>& hosts) {
  std::set<std::pair<std::string, std::string>> linked;
  for (const topology::Link& link : topology.links)
    linked.insert({link.from, link.to}), linked.insert({link.to, link.from});
  const auto name = [&](int rank) { return topology.hosts[at_rank(hosts[at_rank(rank)])].name; };
  Drawing drawing(static_cast<int>(hosts.size()));
  for (int i = 0; i < static_cast<int>(hosts.size()); ++i)
    for (int j = 0; j < i; ++j)
      if (hosts[at_rank(i)] == hosts[at_rank(j)] || linked.contains({name(i), name(j)}))
        drawing.join(i, j);
  return drawing.graph();
}

// Weights of the mixing matrix

std::int64_t metropolis_parts(const Graph& graph, int i, int j) {
  return 1 + std::max(std::ssize(graph[at_rank(i)]), std::ssize(graph[at_rank(j)]));
}

// Returns the least common multiple of the denominators of all weights, or kMaxDenominator if the
// multiple is larger.
std::int64_t common_denominator(const Graph& graph) {
  std::int64_t common = 1;
  for (int i = 0; i < size(graph); ++i)
    for (const int j : graph[at_rank(i)]) {
      common = std::lcm(common, metropolis_parts(graph, i, j));
      if (common > kMaxDenominator) return kMaxDenominator;
    }
  return common;
}

class Writer {
 public:
  Writer(int ranks, std::int64_t denominator)
      : made_{ranks, denominator, std::vector<std::int64_t>(at_rank(ranks) * at_rank(ranks), 0)} {}

  std::int64_t& at(int i, int j) {
    return made_.numerators[at_rank(i) * at_rank(made_.ranks) + at_rank(j)];
  }

  // Sets the diagonal element to one minus the sum of the row's other weights.
  void set_rest(int rank) {
    std::int64_t others = 0;
    for (int j = 0; j < made_.ranks; ++j) others += j == rank ? 0 : at(rank, j);
    at(rank, rank) = made_.denominator - others;
  }

  MixingMatrix reduced() {
    std::int64_t common = made_.denominator;
    for (const std::int64_t numerator : made_.numerators) common = std::gcd(common, numerator);
    for (std::int64_t& numerator : made_.numerators) numerator /= common;
    made_.denominator /= common;
    return std::move(made_);
  }

 private:
  MixingMatrix made_;
};

void write_metropolis_weights(const Graph& graph, std::int64_t denominator, Writer& writer) {
  for (int i = 0; i < size(graph); ++i)
    for (const int j : graph[at_rank(i)]) {
      const std::int64_t parts = metropolis_parts(graph, i, j);
      writer.at(i, j) = (denominator + parts / 2) / parts;
    }
}

std::int64_t to_numerator(double weight) {
  return std::llround(weight * static_cast<double>(kMaxDenominator));
}

using Given = std::map<std::pair<int, int>, double>;

// Returns the weights given in the document. A weight applies to both directions of its pair of
// ranks, unless the document gives the other direction as well.
Given given_weights(const std::vector<GossipWeight>& list, int ranks) {
  Given given;
  const auto there = [&](const GossipWeight& one) { return one.a < ranks && one.b < ranks; };
  for (const GossipWeight& one : list)
    if (there(one)) given[{static_cast<int>(one.a), static_cast<int>(one.b)}] = one.weight;
  for (const GossipWeight& one : list)
    if (there(one)) given.insert({{static_cast<int>(one.b), static_cast<int>(one.a)}, one.weight});
  return given;
}

// Corrects the weight of a rank for itself if it differs from the exact value only by rounding. For
// example, three weights of 0.333333333333 do not sum to exactly 1.
void round_own_weight(int rank, int ranks, Writer& writer) {
  constexpr std::int64_t kRounding = 1000;
  const std::int64_t written = writer.at(rank, rank);
  writer.set_rest(rank);
  if (std::abs(writer.at(rank, rank) - written) > kRounding || ranks == 1)
    writer.at(rank, rank) = written;
}

// Problems

Problem matrix_problem(const char* id, const std::string& where, std::string what,
                       std::string accepted, std::string advice) {
  return {
      id, ProblemCode::bad_input, where, std::move(what), std::move(accepted), std::move(advice)};
}

std::string number(double value) {
  std::string text = std::to_string(value);
  text.erase(text.find_last_not_of('0') + 1);
  return text.ends_with('.') ? text + "0" : text;
}

std::optional<Problem> negative_entry(const MixingMatrix& m, const std::string& where) {
  for (int i = 0; i < m.ranks; ++i)
    for (int j = 0; j < m.ranks; ++j)
      if (m.at(i, j) < 0)
        return matrix_problem(
            "negative_gossip_weight", where,
            fmt::format("rank {} has the weight {} in the average of rank {}{}", j,
                        number(m.weight(i, j)), i,
                        i == j ? ", because the weights of its neighbors sum to more than 1" : ""),
            "weights of 0 to 1", "Lower the weights of the neighbors in the average of this rank.");
  return std::nullopt;
}

std::optional<Problem> asymmetry(const MixingMatrix& m, const std::string& where) {
  for (int i = 0; i < m.ranks; ++i)
    for (int j = 0; j < i; ++j)
      if (m.at(i, j) != m.at(j, i))
        return matrix_problem(
            "asymmetric_gossip_weights", where,
            fmt::format("rank {0} has the weight {1} in the average of rank {2}, but rank {2} has "
                        "the weight {3} in the average of rank {0}",
                        j, number(m.weight(i, j)), i, number(m.weight(j, i))),
            "a symmetric mixing matrix",
            "List the pair once, with one weight for both directions.");
  return std::nullopt;
}

std::optional<Problem> other_sum(const MixingMatrix& m, const std::string& where) {
  for (int i = 0; i < m.ranks; ++i) {
    std::int64_t row = 0, column = 0;
    for (int j = 0; j < m.ranks; ++j) row += m.at(i, j), column += m.at(j, i);
    const std::int64_t wrong = row != m.denominator ? row : column;
    if (wrong == m.denominator) continue;
    return matrix_problem(
        "wrong_sum_of_gossip_weights", where,
        fmt::format("the {} of {} in the mixing matrix sums to {}, so the mean of all "
                    "ranks would drift",
                    row != m.denominator ? "row" : "column", of_rank(i),
                    number(static_cast<double>(wrong) / static_cast<double>(m.denominator))),
        "1 for every rank",
        "Remove the entry for the weight of the rank itself. That weight is then 1 minus the other "
        "weights.");
  }
  return std::nullopt;
}

// Assigns neighbors to opposite sides 0 and 1 of the graph, starting at rank 0. -1 marks a rank
// that cannot be reached from rank 0. Sets `two_sided` to false if two neighbors are on the same
// side.
std::vector<int> sides_from_first(const MixingMatrix& m, bool& two_sided) {
  std::vector<int> side(at_rank(m.ranks), -1), open{0};
  side[0] = 0;
  two_sided = true;
  while (!open.empty()) {
    const int i = open.back();
    open.pop_back();
    for (int j = 0; j < m.ranks; ++j) {
      if (m.at(i, j) == 0 && m.at(j, i) == 0) continue;
      if (side[at_rank(j)] < 0) side[at_rank(j)] = 1 - side[at_rank(i)], open.push_back(j);
      else if (side[at_rank(j)] == side[at_rank(i)]) two_sided = false;
    }
  }
  return side;
}

// Returns a text such as "rank 1", "ranks 1, 2 and 5", or "ranks 1, 2, 5 and 13 others".
std::string ranks_text(const std::vector<int>& ranks) {
  constexpr std::size_t kNamed = 8;
  if (ranks.size() == 1) return of_rank(ranks.front());
  std::string words = "ranks ";
  const std::size_t named = ranks.size() > kNamed ? kNamed - 1 : ranks.size() - 1;
  for (std::size_t i = 0; i < named; ++i) words += (i == 0 ? "" : ", ") + std::to_string(ranks[i]);
  const std::size_t left = ranks.size() - named;
  return fmt::format("{} and {}", words,
                     left == 1 ? std::to_string(ranks.back())
                               : base::counted(static_cast<std::int64_t>(left), "other"));
}

Problem cut_off(const std::vector<int>& side, const std::string& where) {
  std::vector<int> lost;
  for (int i = 0; i < static_cast<int>(side.size()); ++i)
    if (side[at_rank(i)] < 0) lost.push_back(i);
  return matrix_problem("gossip_graph_not_connected", where,
                        fmt::format("the graph has no path from rank 0 to {}", ranks_text(lost)),
                        "a connected graph",
                        "Connect the workers (with strategy.gossip.graph=drawn: draw a link "
                        "between their hosts), or set strategy.gossip.graph to ring.");
}

Problem not_by_engine() {
  return {"engine_lacks_operation",
          ProblemCode::bad_input,
          "strategy.engine",
          "gossip sends parameters between neighbors, which collectives libraries do not support",
          "own",
          "Set strategy.engine to own, or strategy.kind to mirrored."};
}

void add_weight_problems(const Experiment& e, const Graph& graph, Problems& problems) {
  const auto& list = e.strategy.gossip.weights;
  for (std::size_t w = 0; w < list.size(); ++w) {
    const std::string where = std::string(kWeights) + "[" + std::to_string(w) + "]";
    const std::int64_t ranks = std::ssize(graph);
    if (list[w].a >= ranks || list[w].b >= ranks) {
      problems.push_back(matrix_problem(
          "unknown_rank", where, fmt::format("there is no rank {}", std::max(list[w].a, list[w].b)),
          fmt::format("0 to {}", ranks - 1),
          "Ranks are numbered from 0, in the order of the drawing."));
      continue;
    }
    const auto& neighbors = graph[static_cast<std::size_t>(list[w].a)];
    if (list[w].a == list[w].b ||
        std::binary_search(neighbors.begin(), neighbors.end(), static_cast<int>(list[w].b)))
      continue;
    problems.push_back(matrix_problem(
        "not_neighbors", where,
        fmt::format("ranks {} and {} are not neighbors in the graph {}", list[w].a, list[w].b,
                    base::name_of(e.strategy.gossip.graph)),
        "pairs of neighbors", "Remove the entry, or set strategy.gossip.graph to another graph."));
  }
}

// Eigenvalues

// Computes the eigenvalues of a symmetric matrix by Jacobi rotations, which make the matrix
// diagonal. The columns of the product of all rotations are then the eigenvectors.
class Jacobi {
 public:
  explicit Jacobi(const MixingMatrix& m)
      : n_(m.ranks), a_(at_rank(n_) * at_rank(n_)), v_(a_.size(), 0) {
    for (int i = 0; i < n_; ++i) {
      v(i, i) = 1;
      for (int j = 0; j < n_; ++j) a(i, j) = m.weight(i, j);
    }
  }

  void run() {
    constexpr int kMaxSweeps = 60;
    // Stops the rotations when `off_diagonal` reaches its rounding error for entries of at most 1.
    // Further rotations could not make it smaller.
    const double rounding = 1e-31 * n_ * n_;
    for (int sweep = 0; sweep < kMaxSweeps && off_diagonal() > rounding; ++sweep)
      for (int p = 0; p < n_; ++p)
        for (int q = p + 1; q < n_; ++q) rotate(p, q);
  }

  double value(int i) const { return a_[at_rank(i) * at_rank(n_) + at_rank(i)]; }
  std::vector<double> vector(int i) const {
    std::vector<double> column(at_rank(n_));
    for (int row = 0; row < n_; ++row)
      column[at_rank(row)] = v_[at_rank(row) * at_rank(n_) + at_rank(i)];
    return column;
  }

 private:
  double& a(int i, int j) { return a_[at_rank(i) * at_rank(n_) + at_rank(j)]; }
  double& v(int i, int j) { return v_[at_rank(i) * at_rank(n_) + at_rank(j)]; }

  double off_diagonal() {
    double sum = 0;
    for (int i = 0; i < n_; ++i)
      for (int j = 0; j < i; ++j) sum += a(i, j) * a(i, j);
    return sum;
  }

  // Makes a(p, q) zero.
  void rotate(int p, int q) {
    if (a(p, q) == 0) return;
    const double theta = (a(q, q) - a(p, p)) / (2 * a(p, q));
    const double t = (theta >= 0 ? 1 : -1) / (std::abs(theta) + std::sqrt(theta * theta + 1)),
                 c = 1 / std::sqrt(t * t + 1), s = t * c;
    const auto turn = [&](double& x, double& y) {
      const double old = x;
      x = c * old - s * y;
      y = s * old + c * y;
    };
    for (int k = 0; k < n_; ++k) turn(a(k, p), a(k, q));
    for (int k = 0; k < n_; ++k) turn(a(p, k), a(q, k)), turn(v(k, p), v(k, q));
  }

  int n_;
  std::vector<double> a_, v_;
};

}  // namespace

std::vector<int> MixingMatrix::neighbors(int rank) const {
  std::vector<int> list;
  for (int j = 0; j < ranks; ++j)
    if (j != rank && at(rank, j) != 0) list.push_back(j);
  return list;
}

Graph graph_of(const Experiment& experiment) {
  const std::vector<int> hosts = hosts_of_workers(experiment.topology);
  const int ranks = static_cast<int>(hosts.size());
  switch (experiment.strategy.gossip.graph) {
    case GossipGraph::ring: return in_a_ring(ranks);
    case GossipGraph::exponential: return by_powers_of_two(ranks);
    case GossipGraph::torus: return in_a_torus(collective::formation(hosts));
    case GossipGraph::complete: return of_all(ranks);
    case GossipGraph::drawn: return trains_drawing(experiment.topology, hosts);
  }
  return Graph(hosts.size());
}

MixingMatrix metropolis(const Graph& graph) {
  const std::int64_t denominator = common_denominator(graph);
  Writer writer(size(graph), denominator);
  write_metropolis_weights(graph, denominator, writer);
  for (int i = 0; i < size(graph); ++i) writer.set_rest(i);
  return writer.reduced();
}

MixingMatrix mixing(const Experiment& experiment) {
  const Graph graph = graph_of(experiment);
  if (experiment.strategy.gossip.weights.empty()) return metropolis(graph);
  const Given given = given_weights(experiment.strategy.gossip.weights, size(graph));
  Writer writer(size(graph), kMaxDenominator);
  write_metropolis_weights(graph, kMaxDenominator, writer);
  for (const auto& [pair, weight] : given)
    writer.at(pair.first, pair.second) = to_numerator(weight);
  for (int i = 0; i < size(graph); ++i)
    given.contains({i, i}) ? round_own_weight(i, size(graph), writer) : writer.set_rest(i);
  return writer.reduced();
}

Problems mixing_problems(const MixingMatrix& mixing, const std::string& where) {
  Problems problems;
  for (auto&& problem :
       {negative_entry(mixing, where), asymmetry(mixing, where), other_sum(mixing, where)})
    if (problem) problems.push_back(*problem);
  if (!problems.empty() || mixing.ranks < 2) return problems;
  bool two_sided = false;
  const std::vector<int> side = sides_from_first(mixing, two_sided);
  if (std::find(side.begin(), side.end(), -1) != side.end()) return {cut_off(side, where)};
  if (two_sided)
    return {
        matrix_problem("gossip_does_not_converge", where,
                       "no rank has a weight for itself, and the graph is bipartite: its two sides "
                       "would swap values at every step and never converge",
                       "at least one rank with a weight for itself, or an odd cycle",
                       "Lower the weights of neighbors in the averages of some ranks.")};
  return problems;
}

Problems gossip_problems(const Experiment& experiment) {
  Problems problems;
  if (experiment.strategy.engine != Engine::own) problems.push_back(not_by_engine());
  const std::int64_t ranks = count_workers(experiment.topology);
  if (ranks > kMaxRanks) {
    problems.push_back({"too_many_gossip_ranks", ProblemCode::bad_input, "topology.hosts",
                        fmt::format("gossip has {} workers", base::format_count(ranks)),
                        fmt::format("up to {}", base::format_count(kMaxRanks)),
                        "Set the role of some workers to idle."});
    return problems;
  }
  const Graph graph = graph_of(experiment);
  const bool in_pairs = is_asynchronous_gossip(experiment.strategy),
             by_hand = !in_pairs && !experiment.strategy.gossip.weights.empty();
  if (!in_pairs) add_weight_problems(experiment, graph, problems);
  for (Problem& problem : mixing_problems(by_hand ? mixing(experiment) : metropolis(graph),
                                          by_hand ? kWeights : "strategy.gossip.graph"))
    problems.push_back(std::move(problem));
  if (in_pairs && problems.empty()) problems = pair_problems(experiment, graph);
  return problems;
}

Spectrum spectrum(const MixingMatrix& mixing) {
  Jacobi jacobi(mixing);
  jacobi.run();
  std::vector<int> order(at_rank(mixing.ranks));
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](int a, int b) {
    return std::abs(jacobi.value(a)) > std::abs(jacobi.value(b));
  });
  Spectrum spectrum;
  for (const int i : order) {
    spectrum.values.push_back(jacobi.value(i));
    spectrum.vectors.push_back(jacobi.vector(i));
  }
  return spectrum;
}

SecondEigenvalue second_eigenvalue(const MixingMatrix& mixing) {
  if (mixing.ranks < 2) return {0, std::vector<double>(at_rank(mixing.ranks), 0)};
  const Spectrum all = spectrum(mixing);
  return {std::abs(all.values[1]), all.vectors[1]};
}

std::optional<double> lambda_2(const Resolved& experiment) {
  const StrategySpec& strategy = experiment.document.strategy;
  if (strategy.kind != StrategyKind::gossip || is_asynchronous_gossip(strategy) ||
      experiment.world() < 2)
    return std::nullopt;
  return second_eigenvalue(mixing(experiment.document)).absolute;
}

}  // namespace trainyard::experiment
