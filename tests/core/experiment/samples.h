// SPDX-License-Identifier: GPL-3.0-or-later
// Experiments for tests: a small valid one, and random valid ones.
#pragma once

#include "core/experiment/document.h"

namespace trainyard::experiment {

// Returns `hosts` hosts with `devices` workers each, all on one switch.
topology::Topology star(int hosts, int devices);

Experiment small(int hosts = 1, int devices = 2);

// Returns a random valid experiment; call it inside a property.
Experiment any_experiment();

}  // namespace trainyard::experiment
