// SPDX-License-Identifier: GPL-3.0-or-later
// List of compared figures, and the rules of comparison.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/session/verify/figure_check.h"

namespace trainyard::session {

class FigureChecks {
 public:
  // `result`: what the run states. It must outlive this object.
  explicit FigureChecks(const base::Json& result) : result_(result) {}

  // Returns the stated value at a path such as "wire_bytes.payload" or "ranks.0.sent_bytes"; null
  // if the result does not have it.
  base::Json stated(const std::string& path) const;

  // Compares the figure at `path` with `recomputed`. Adds nothing if both are null. `tolerance`:
  // largest relative difference of two numbers.
  void compare(const std::string& path, const base::Json& recomputed, double tolerance = 0,
               std::string note = "");
  void compare_values(const std::string& name, const base::Json& stated,
                      const base::Json& recomputed, double tolerance = 0, std::string note = "");
  void add(FigureCheck check) { checks_.push_back(std::move(check)); }
  // Records why the value at `path` is not checked. Adds nothing if the result has no such value.
  void skip(const std::string& path, const std::string& reason);

  std::vector<FigureCheck> take() { return std::move(checks_); }

 private:
  const base::Json& result_;
  std::vector<FigureCheck> checks_;
};

// True if both values are equal, or are numbers that differ relatively by at most `tolerance`.
bool agree(const base::Json& a, const base::Json& b, double tolerance);

// Returns the value as JSON; null if it is missing or not finite.
base::Json finite(const std::optional<double>& value);

}  // namespace trainyard::session
