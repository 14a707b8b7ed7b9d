// SPDX-License-Identifier: GPL-3.0-or-later
// Of local SGD: every rank takes steps of its own, and only every H-th are the parameters x_i of
// all n ranks brought together, by one of two rules. With m the mean of all x_i after that step:
//   average   x_i <- m (McMahan et al. 2017; Stich 2019; Lin et al. 2020)
//   elastic   x_i <- x_i - alpha (x_i - c),  c <- c + n alpha (m - c), both by the c from before; c, the centre, begins where all do. These are the moves of
//             Zhang, Choromanska, LeCun 2015, equations 5 and 6 (beta = n alpha), taken after the gradient's step and not along with it.
// n alpha = 1 puts the centre on the mean. The moments of an optimizer are never averaged: they
// stay a rank's own.
#pragma once

#include <cstdint>
#include <optional>

#include "core/experiment/resolve.h"

namespace trainyard::experiment {

// beta = n alpha as a fraction in lowest terms, so that a plan can hold it: moves / of, of `ranks`;
// rounded to 12 decimals.
struct Elasticity {
  std::int64_t moves = 0, ranks = 1, of = 1;
  bool operator==(const Elasticity&) const = default;
};
Elasticity elasticity(double alpha, std::int64_t ranks);

// Of an experiment by the elastic rule; of others nothing.
std::optional<Elasticity> elasticity(const Resolved& experiment);

// beta = 0.9, as in the paper: of so many ranks alpha is 0.9 / ranks.
double usual_elasticity(std::int64_t ranks);

// What local SGD asks of the document, of a drawing that is sound and has workers.
base::Problems local_sgd_problems(const Experiment& experiment);

// How often in the run the ranks' parameters are all-reduced: after every H-th step, and besides
// for every evaluation and after the last step.
std::int64_t count_meetings(const Resolved& experiment);

}  // namespace trainyard::experiment
