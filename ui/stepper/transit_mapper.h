// SPDX-License-Identifier: GPL-3.0-or-later
// Maps the last step of a collective to a transit on the drawing.
#pragma once

#include <memory>
#include <optional>

#include "ui/canvas/transit.h"
#include "ui/stepper/stepper.h"

namespace trainyard::ui {

class TransitMapper {
 public:
  // Returns nothing at the start, or if the drawing does not contain these ranks.
  std::optional<Transit> step(const Stepper& stepper, const topology::Topology& drawing);

 private:
  std::unique_ptr<LinkTraffic> traffic_;  // routes on the last drawing
};

}  // namespace trainyard::ui
