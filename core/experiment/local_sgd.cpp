// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/experiment/local_sgd.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "core/base/json.h"
#include "core/base/units.h"
#include "core/experiment/placement.h"

namespace trainyard::experiment {
namespace {

constexpr double kParts = 1e12;

}  // namespace

bool averages_by_samples(const Resolved& experiment) {
  if (elasticity(experiment)) return false;
  const data::Shares shares = experiment.shares();
  return std::ranges::any_of(shares.stretches(), [&](const data::StepRange& range) {
    for (std::int64_t rank = 0; rank < shares.ranks(); ++rank)
      if (shares.samples(range.first_step, rank) * shares.ranks() !=
          shares.global_samples(range.first_step))
        return true;
    return false;
  });
}

double usual_elasticity(std::int64_t ranks) { return 0.9 / static_cast<double>(ranks); }

Elasticity elasticity(double alpha, std::int64_t ranks) {
  const auto of = static_cast<std::int64_t>(kParts);
  const std::int64_t moves = std::min<std::int64_t>(
                         of, std::llround(alpha * static_cast<double>(ranks) * kParts)),
                     common = std::gcd(moves, of);
  return {moves / common, ranks, of / common};
}

std::optional<Elasticity> elasticity(const Resolved& experiment) {
  const StrategySpec& strategy = experiment.document.strategy;
  if (strategy.kind != StrategyKind::local_sgd || strategy.local_sgd.rule != LocalRule::elastic)
    return std::nullopt;
  return elasticity(strategy.local_sgd.elasticity, experiment.world());
}

base::Problems local_sgd_problems(const Experiment& experiment) {
  const LocalSgdSpec& local = experiment.strategy.local_sgd;
  const std::int64_t ranks = count_workers(experiment.topology);
  if (local.rule != LocalRule::elastic ||
      local.elasticity * static_cast<double>(ranks) <= 1 + 1 / kParts)
    return {};
  const std::string n = base::format_count(ranks);
  return {{"elasticity_too_large", base::ProblemCode::bad_input, "strategy.local_sgd.elasticity",
           fmt::format("an elasticity of {} on each of {} ranks would move the center beyond the "
                       "mean of the ranks",
                       base::Json(local.elasticity).dump(), n),
           fmt::format("a number above 0 and up to 1/{0}; or 0, which stands for 0.9/{0}", n),
           "Lower strategy.local_sgd.elasticity, or set it to 0."}};
}

std::int64_t count_meetings(const Resolved& e) {
  const bool last_is_evaluated = count_evaluations(e) > 0;
  return e.steps / e.document.strategy.local_sgd.average_every_steps + count_evaluations(e) +
         (last_is_evaluated ? 0 : 1);
}

}  // namespace trainyard::experiment
