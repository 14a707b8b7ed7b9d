// SPDX-License-Identifier: GPL-3.0-or-later
// Normalization of rows of any length: a device may keep short ones, and read several numbers at
// once.
#pragma once

#include "tests/conformance/compute_halves_conformance.h"

namespace trainyard::conformance {

inline std::vector<NamedCase> row_norms(std::int64_t columns) {
  const Shape shape{3, columns - 2};  // cases of row norms have two more
  const auto of = [&](auto make, compute::RowNorm norm) {
    return
        [=](Values& values, DType dtype, const Sizes&) { return make(values, dtype, shape, norm); };
  };
  std::vector<NamedCase> cases;
  for (const auto norm : {compute::RowNorm::layer, compute::RowNorm::root_mean_square}) {
    cases.push_back({"forward", of(row_norm_forward, norm)});
    cases.push_back({"backward_weight", of(row_norm_backward_weight, norm)});
    cases.push_back({"backward_input", of(row_norm_backward_input, norm)});
  }
  return cases;
}

inline constexpr std::int64_t kRowLengths[] = {4, 20, 130, 132, 1024, 1028};

// Every dtype, at aligned and unaligned addresses.
inline void expect_rows_normalized(compute::Compute& device, compute::Compute& reference) {
  for (const std::int64_t columns : kRowLengths)
    for (const NamedCase& named : row_norms(columns)) {
      SCOPED_TRACE(named.name + " of " + std::to_string(columns) + " columns");
      for (const DType dtype : {DType::fp32, DType::fp64})
        compare(device, reference, named, dtype, Sizes{});
      for (const DType dtype : kHalves)
        for (const std::size_t shift : {0U, 1U}) {
          Values mine(1, shift), its;
          Case found = named.make(mine, DType::fp32, {}),
               expected = named.make(its, DType::fp32, {});
          ASSERT_TRUE(halve(found, dtype, mine) && halve(expected, dtype, its));
          run(device, found.op);
          run(reference, expected.op);
          for (std::size_t r = 0; r < found.results.size(); ++r)
            expect_rounded_once(found.results[r].second, expected.results[r].second,
                                found.results[r].first);
        }
    }
}

TEST_P(ComputeConformance, normalization_handles_rows_of_any_length) {
  expect_rows_normalized(*device_, *reference_);
}

}  // namespace trainyard::conformance
