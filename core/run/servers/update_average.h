// SPDX-License-Identifier: GPL-3.0-or-later
// Weights of gradients in an update of parameter servers. An update uses the mean gradient over the
// samples of all gradients in it: sum_i n_i g_i / sum_i n_i, with n_i samples and mean gradient g_i
// of worker i. A worker pushes n_i g_i / D, where D (plan::Program::global_samples) is the same for
// all gradients of an update. The server adds what is pushed, and multiplies the sum by
// D / sum_i n_i. The factor is 1 unless batches differ in size: in the last step of an epoch. With
// several servers it is always 1, because only the first server knows which step a worker computed.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/plan/plan.h"

namespace trainyard::run {

class UpdateAverage {
 public:
  UpdateAverage() = default;  // the factor is always 1
  // Reads the plans of the workers only if batches of an update may differ in size.
  UpdateAverage(const plan::Plan& plan, const plan::ArrivalRule& rule, int servers);

  // Returns D / sum_i n_i. `taken`: worker and step of each gradient in the update.
  double factor(std::span<const std::pair<int, std::int64_t>> taken) const;

 private:
  struct Samples {
    std::int64_t own = 0, divisor = 0;  // n_i and D
  };
  plan::Schedule schedule_;
  std::vector<std::map<std::string, Samples>> workers_;  // by worker and program; may be empty
};

}  // namespace trainyard::run
