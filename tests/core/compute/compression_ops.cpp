// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/core/compute/compression_ops.h"

#include <gtest/gtest.h>

#include "core/compute/reference/reference.h"

namespace trainyard::compute::compression {

void run(const Op& op) {
  const auto compute = reference::make();
  const auto kernel = compute->prepare(op);
  ASSERT_TRUE(kernel) << base::to_string(kernel.error());
  (*kernel)->enqueue(*compute->make_queue());
}

}  // namespace trainyard::compute::compression
