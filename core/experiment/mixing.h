// SPDX-License-Identifier: GPL-3.0-or-later
// Of gossip: who averages with whom, by which weights, and how fast that brings ranks together. The
// mixing matrix W of D-PSGD (Lian et al. 2017), x_i <- sum_j W_ij x_j - learning rate g_i, is
// symmetric and doubly stochastic, so that the mean of all ranks moves by the mean of all steps.
// Without gradients the disagreement, the distance of all ranks from their mean, shrinks every step
// by |lambda_2| or more, and by just that when it lies in its eigenvector (Xiao and Boyd 2004).
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/experiment/resolve.h"

namespace trainyard::experiment {

// W_ij = numerators[i ranks + j] / denominator: integers, so that rows and columns sum to one
// exactly, and a plan can hold them.
struct Mixing {
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
  std::vector<int> neighbours(
      int rank) const;  // ascending: the others that count something in what it gets
  bool operator==(const Mixing&) const = default;
};

// By rank its neighbours, ascending. Of n ranks:
//   ring         i - 1 and i + 1, modulo n
//   exponential  i - 2^k and i + 2^k, modulo n, for every 2^k < n (the static exponential graph, Ying et al. 2021, both ways)
//   torus        up, down, left and right in the grid that the torus all-reduce makes of the ranks (collective/formation.h); of a prime number a ring
//   complete     all others
//   drawn        those on one's own host, and those on hosts that a drawn link joins with it
using Graph = std::vector<std::vector<int>>;
inline std::size_t at_rank(int rank) { return static_cast<std::size_t>(rank); }
Graph graph_of(const Experiment& experiment);

// Metropolis and Hastings (Xiao, Boyd, Lall 2005, "max degree" form): W_ij = 1 / (1 + max(degree i,
// degree j)) between neighbours, W_ii the rest; a ring has 1/3. Exact, unless the degrees have no
// common multiple below 10^12: then weights are rounded to 10^-12, and rows still sum to one.
Mixing metropolis(const Graph& graph);

// The matrix of the experiment: of Metropolis, but where weights are given by hand, those, to 12
// decimals. W_ji is W_ij where only one is given, and W_ii the rest where it is not given. Pure;
// whether it is any good `mixing_problems` says.
Mixing mixing(const Experiment& experiment);

// What is wrong with a matrix as such: entries below 0, not symmetric, rows or columns that do not
// sum to 1, ranks that hear nothing of others, whichever way round, and ranks that fall into two
// camps which change places at every step, so that they never come together.
base::Problems mixing_problems(const Mixing& mixing, const std::string& where);

// What gossip asks of the document, of a drawing that is sound and has workers.
base::Problems gossip_problems(const Experiment& experiment);

// Of a symmetric matrix: all eigenvalues, the largest absolute value first, and their eigenvectors
// of length 1, by Jacobi's rotations (Golub and Van Loan, section 8.5).
struct Spectrum {
  std::vector<double> values;
  std::vector<std::vector<double>> vectors;
};
Spectrum spectrum(const Mixing& mixing);

// |lambda_2|, the second largest absolute eigenvalue of a sound matrix, and an eigenvector of it.
// The spectral gap is 1 - |lambda_2|. Of one rank: 0.
struct SecondEigenvalue {
  double absolute = 0;
  std::vector<double> vector;
};
SecondEigenvalue second_eigenvalue(const Mixing& mixing);

// |lambda_2| of an experiment whose ranks gossip in step, two or more; of others nothing.
std::optional<double> lambda_2(const Resolved& experiment);

}  // namespace trainyard::experiment
