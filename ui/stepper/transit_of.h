// SPDX-License-Identifier: GPL-3.0-or-later
// The last step of a collective, on the drawing that its ranks are drawn on.
#pragma once

#include <memory>
#include <optional>

#include "ui/canvas/transit.h"
#include "ui/stepper/stepper.h"

namespace trainyard::ui {

class TransitOf {
 public:
  // Nothing at the start, and where the drawing is not one on which these ranks stand.
  std::optional<Transit> step(const Stepper& stepper, const topology::Topology& drawing);

 private:
  std::unique_ptr<LinkTraffic> traffic_;  // of the drawing that was asked about last
};

}  // namespace trainyard::ui
