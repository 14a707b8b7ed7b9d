// SPDX-License-Identifier: GPL-3.0-or-later
// Local SGD: every rank makes local steps. After every H-th step the parameters x_i of all n ranks
// are synchronized by one of two rules, where m is the mean of all x_i after that step:
//
// average   x_i <- m, the weighted mean. The weight of a rank is its fraction of the samples of the
//           H local steps: n_k / n in McMahan et al. 2017, algorithm 1 (with equal samples: Stich
//           2019; Lin et al. 2020)
// elastic   x_i <- x_i - alpha (x_i - c),  c <- c + n alpha (m - c), both with the old c.
//           c is the center, which starts at the common initial parameters. These are
//           equations 5 and 6 of Zhang, Choromanska, LeCun 2015 (beta = n alpha), applied
//           after the gradient step instead of together with it.
//
// With n alpha = 1 the center equals the mean. The optimizer's moments are never averaged.
#pragma once

#include <cstdint>
#include <optional>

#include "core/experiment/resolve.h"

namespace trainyard::experiment {

// beta = n alpha of the elastic rule as the reduced fraction `moves` / `of`, because a plan
// contains only integers. alpha is rounded to 12 decimals. `ranks` is n.
struct Elasticity {
  std::int64_t moves = 0, ranks = 1, of = 1;
  bool operator==(const Elasticity&) const = default;
};
Elasticity elasticity(double alpha, std::int64_t ranks);

// Returns the elasticity of the elastic rule; nothing for experiments without this rule.
std::optional<Elasticity> elasticity(const Resolved& experiment);

// True if the rule is `average`, and ranks have different numbers of samples in some step. Their
// parameters are then averaged with weights in proportion to samples.
bool averages_by_samples(const Resolved& experiment);

// Returns the default of alpha, 0.9 / ranks. beta is then 0.9, as in the paper.
double usual_elasticity(std::int64_t ranks);

// Returns problems of local SGD with other settings. The drawing must be valid and have workers.
base::Problems local_sgd_problems(const Experiment& experiment);

// Returns the number of all-reduces of the parameters in the run: after every H-th step, for every
// evaluation, and after the last step.
std::int64_t count_meetings(const Resolved& experiment);

}  // namespace trainyard::experiment
