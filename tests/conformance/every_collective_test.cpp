// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/conformance/every_collective.h"

#include "backends/inproc/transport.h"

namespace trainyard::tests {
namespace {

TEST(EveryCollective, gives_each_rank_its_values_and_sends_the_bytes_of_the_formula) {
  expect_every_collective(
      [](int ranks, std::size_t arena_bytes) { return inproc::make(ranks, arena_bytes).value(); });
}

}  // namespace
}  // namespace trainyard::tests
