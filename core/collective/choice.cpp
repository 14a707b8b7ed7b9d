// SPDX-License-Identifier: GPL-3.0-or-later
#include <fmt/core.h>

#include <algorithm>

#include "core/base/units.h"
#include "core/collective/cost.h"

namespace trainyard::collective {

Choice choice(const std::vector<Offer>& offers, const Work& work) {
  std::vector<const Offer*> by_cost;
  for (const Offer& offer : offers)
    if (offer.unfit_reason.empty()) by_cost.push_back(&offer);
  std::stable_sort(by_cost.begin(), by_cost.end(), [](const Offer* a, const Offer* b) {
    return a->cost.seconds < b->cost.seconds;
  });
  const Offer& best = *by_cost[0];
  const auto takes = [](const Offer& offer) { return base::format_seconds(offer.cost.seconds); };
  const auto name = [](const Offer& offer) { return std::string(base::name_of(offer.algorithm)); };
  // Skips algorithms whose cost equals that of the cheapest one: their program for this group is
  // the same or equivalent, so they do not explain the choice.
  const auto next = std::ranges::find_if(
      by_cost, [&](const Offer* offer) { return offer->cost.seconds > best.cost.seconds; });
  return {best.algorithm,
          fmt::format("{}: {} for {} on this drawing; {}", name(best), takes(best),
                      base::format_bytes(static_cast<double>(work.bytes())),
                      next == by_cost.end()
                          ? std::string("all algorithms take the same time")
                          : fmt::format("next best: {}, {}", name(**next), takes(**next)))};
}

base::Result<Choice> choose(std::int64_t segment_bytes, const Work& work,
                            const topology::Network& network) {
  return offers(segment_bytes, work, network).map([&](const std::vector<Offer>& all) {
    return choice(all, work);
  });
}

}  // namespace trainyard::collective
