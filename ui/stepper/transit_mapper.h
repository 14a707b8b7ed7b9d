// SPDX-License-Identifier: GPL-3.0-or-later
// Maps the last step of a collective to a transit: chunks that move along the links of the drawing.
#pragma once

#include <memory>
#include <optional>

#include "ui/canvas/transit.h"
#include "ui/stepper/stepper.h"

namespace trainyard::ui {

class TransitMapper {
 public:
  // Returns the transit of the last step. Returns nothing before the first step, or if the drawing
  // does not contain the ranks of the exercise.
  std::optional<Transit> step(const Stepper& stepper, const topology::Topology& drawing);

 private:
  std::unique_ptr<LinkTraffic> traffic_;  // routes on the last drawing
};

}  // namespace trainyard::ui
