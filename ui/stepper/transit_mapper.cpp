// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/stepper/transit_mapper.h"

#include <algorithm>

#include "ui/model/topology/topology_edit.h"
#include "ui/stepper/step_text.h"

namespace trainyard::ui {
namespace {

// Returns the label of the chunk that moves, with the value that arrives. If a total replaces a
// partial sum, that value is the total. If several chunks move, the label has no value.
QString label_of(const Stepper& stepper, const collective::Move& move) {
  QString what = chunks_text(move.chunk, move.chunks);
  if (move.chunks > 1) return what;
  const auto& held =
      stepper.state()
          .held[static_cast<std::size_t>(move.from)][static_cast<std::size_t>(move.chunk)];
  return what + ": " + value_text(held.value);
}

}  // namespace

std::optional<Transit> TransitMapper::step(const Stepper& stepper,
                                           const topology::Topology& drawing) {
  const collective::Move* move = stepper.move();
  if (!move || !topology::validate(drawing, "").empty()) return {};
  if (topology::Topology drawn = without_positions(drawing);
      !traffic_ || traffic_->topology() != drawn)
    traffic_ = std::make_unique<LinkTraffic>(std::move(drawn));
  const collective::Exercise& exercise = stepper.steps().exercise;
  const int drawn = static_cast<int>(traffic_->ranks().size()), from = exercise.rank(move->from),
            to = exercise.rank(move->to);
  if (exercise.ranks.empty() ? drawn != exercise.members() : std::max(from, to) >= drawn) return {};
  const auto device = [&](int rank) {
    return traffic_->network().device(traffic_->ranks()[static_cast<std::size_t>(rank)]).name;
  };
  Transit transit{device(from), device(to), {}, label_of(stepper, *move)};
  if (from == to) return transit;
  transit.route = traffic_->main_route(from, to);
  return transit.route.empty() ? std::nullopt : std::optional(transit);
}

}  // namespace trainyard::ui
