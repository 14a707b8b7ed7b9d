// SPDX-License-Identifier: GPL-3.0-or-later
// Experiments for tests: one that is small and right, and random ones that are right too.
#pragma once

#include "core/experiment/document.h"

namespace trainyard::experiment {

// `hosts` hosts with `devices` workers each, all on one switch.
topology::Topology star(int hosts, int devices);

Experiment small(int hosts = 1, int devices = 2);

// Without problems; call it inside a property.
Experiment any_experiment();

}  // namespace trainyard::experiment
