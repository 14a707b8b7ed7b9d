// SPDX-License-Identifier: GPL-3.0-or-later
// Mixing matrix of gossip: which ranks average with which weights, and how fast their parameters
// converge. In D-PSGD (Lian et al. 2017) the matrix W is used as x_i <- sum_j W_ij x_j - learning
// rate g_i. W is symmetric and doubly stochastic, so the mean of all x_i moves by the mean of all
// steps. Without gradients, the distance of the x_i from their mean (consensus distance) shrinks at
// every step at least by the factor |lambda_2|. It shrinks by exactly that factor in the direction
// of the eigenvector of lambda_2 (Xiao and Boyd 2004).
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/experiment/resolve.h"

namespace trainyard::experiment {

// W_ij = numerators[i ranks + j] / denominator. With integers, rows and columns sum to exactly one,
// and a plan can contain the matrix.
struct MixingMatrix {
  int ranks = 1;
  std::int64_t denominator = 1;
  std::vector<std::int64_t> numerators = {1};

  std::int64_t at(int i, int j) const {
    return numerators[static_cast<std::size_t>(i) * static_cast<std::size_t>(ranks) +
                      static_cast<std::size_t>(j)];
  }
  double weight(int i, int j) const {
    return static_cast<double>(at(i, j)) / static_cast<double>(denominator);
  }
  std::vector<int> neighbors(
      int rank) const;  // Other ranks with nonzero weight in this rank's average, ascending.
  bool operator==(const MixingMatrix&) const = default;
};

// Neighbor graph: by rank, its neighbors in ascending order. For n ranks, the neighbors of rank i
// are:
//
// ring         i - 1 and i + 1, modulo n
// exponential  i - 2^k and i + 2^k, modulo n, for every 2^k < n (the static exponential
//              graph, Ying et al. 2021, both ways)
// torus        up, down, left and right in the grid of the torus all-reduce
//              (collective/formation.h); a ring for a prime number of ranks
// complete     all others
// drawn        ranks on the same host, and on hosts that a drawn link joins with it
using Graph = std::vector<std::vector<int>>;
inline std::size_t at_rank(int rank) { return static_cast<std::size_t>(rank); }
Graph graph_of(const Experiment& experiment);

// Returns Metropolis-Hastings weights (Xiao, Boyd, Lall 2005, "max degree" form). W_ij = 1 / (1 +
// max(degree i, degree j)) between neighbors, and W_ii makes the row sum to one; in a ring all
// weights are 1/3. The weights are exact if their denominators have a common multiple below 10^12.
// If there is no such multiple, the weights are rounded to 10^-12, and rows still sum to one.
MixingMatrix metropolis(const Graph& graph);

// Returns the mixing matrix of the experiment: Metropolis weights, replaced by the weights in the
// document, which are rounded to 12 decimals. If only one of W_ij and W_ji is given, the other one
// is equal. If W_ii is not given, it makes the row sum to one. `mixing_problems` validates the
// result.
MixingMatrix mixing(const Experiment& experiment);

// Returns problems of the matrix: negative entries, asymmetry, rows or columns that do not sum to
// 1, or a disconnected graph. A bipartite graph without self-weights is also a problem: the two
// sides of the graph would swap values at every step and never converge.
base::Problems mixing_problems(const MixingMatrix& mixing, const std::string& where);

// Returns problems of gossip. The document's drawing must be valid and have workers.
base::Problems gossip_problems(const Experiment& experiment);

// All eigenvalues of a symmetric matrix, by descending absolute value, and eigenvectors of length
// 1, by Jacobi rotations (Golub and Van Loan, section 8.5).
struct Spectrum {
  std::vector<double> values;
  std::vector<std::vector<double>> vectors;
};
Spectrum spectrum(const MixingMatrix& mixing);

// Second largest absolute eigenvalue |lambda_2| of a valid matrix, and its eigenvector. The
// spectral gap is 1 - |lambda_2|. 0 for one rank.
struct SecondEigenvalue {
  double absolute = 0;
  std::vector<double> vector;
};
SecondEigenvalue second_eigenvalue(const MixingMatrix& mixing);

// Returns |lambda_2| of an experiment with synchronous gossip of two or more ranks; nothing for
// others.
std::optional<double> lambda_2(const Resolved& experiment);

}  // namespace trainyard::experiment
