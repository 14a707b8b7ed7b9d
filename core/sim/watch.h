// SPDX-License-Identifier: GPL-3.0-or-later
// Progress and cancellation of a simulation.
#pragma once

#include <functional>
#include <optional>
#include <stop_token>
#include <utility>

namespace trainyard::sim {

struct Watch {
  Watch() = default;
  Watch(std::stop_token token) : stop(std::move(token)) {}
  Watch(std::stop_token token, std::function<void(double)> report)
      : stop(std::move(token)), progress(std::move(report)) {}
  operator std::stop_token() const { return stop; }

  // requests the simulation to stop; it then soon fails with Problem `canceled`
  std::stop_token stop;
  // called often, in the thread of the simulation, with the fraction of ops that are simulated, 0
  // to 1; may be empty
  std::function<void(double fraction)> progress;
};

// Returns the time that a computation still needs, if its speed does not change; nothing while too
// little of it is done.
inline std::optional<double> remaining_seconds(double fraction, double elapsed_seconds) {
  if (fraction < 0.02 || fraction > 1) return std::nullopt;
  return elapsed_seconds * (1 - fraction) / fraction;
}

}  // namespace trainyard::sim
