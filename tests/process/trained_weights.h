// SPDX-License-Identifier: GPL-3.0-or-later
// The weights that a run left in its checkpoint, and how far two such are apart.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "cli_program.h"
#include "core/experiment/resolve.h"
#include "core/session/checkpoint/checkpoint.h"

namespace trainyard::process {

template <class Number>
inline std::vector<double> read_weights(const std::filesystem::path& run_directory,
                                        const model::Model& model, base::DType dtype) {
  std::vector<Number> values(static_cast<std::size_t>(model.elements));
  const auto info = session::read_checkpoint(
      run_directory / "checkpoints", model,
      compute::Tensor{dtype, {model.elements}, reinterpret_cast<std::byte*>(values.data())});
  EXPECT_TRUE(info) << (info ? "" : base::to_string(info.error()));
  return {values.begin(), values.end()};
}

inline std::vector<double> trained_weights(const base::Json& result) {
  const std::filesystem::path directory = result["run_directory"].get<std::string>();
  const auto resolved =
      experiment::resolved_from_json(base::Json::parse(read(directory / "resolved.json"))).value();
  return resolved.document.training.precision == experiment::Precision::fp64
             ? read_weights<double>(directory, resolved.model, base::DType::fp64)
             : read_weights<float>(directory, resolved.model, base::DType::fp32);
}

// Relative, in the L2 norm over all elements.
inline double distance(const std::vector<double>& a, const std::vector<double>& b) {
  double difference = 0, norm = 0;
  for (std::size_t i = 0; i < a.size(); ++i)
    difference += (a[i] - b[i]) * (a[i] - b[i]), norm += b[i] * b[i];
  return std::sqrt(difference / norm);
}

}  // namespace trainyard::process
