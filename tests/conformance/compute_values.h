// SPDX-License-Identifier: GPL-3.0-or-later
// Tensors with memory of their own, filled with repeatable numbers, and how near two of them are.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <vector>

#include "core/base/random.h"
#include "core/compute/compute.h"
#include "core/compute/numbers.h"
#include "core/compute/ops.h"

namespace trainyard::conformance {

using compute::DType;
using compute::Shape;
using compute::Tensor;

inline double element(const Tensor& tensor, std::int64_t i) {
  if (tensor.dtype == DType::fp16 || tensor.dtype == DType::bf16)
    return compute::number_at(tensor.dtype, tensor.data + 2 * i);
  if (tensor.dtype == DType::fp64) return tensor.as<double>()[i];
  if (tensor.dtype == DType::fp32) return tensor.as<float>()[i];
  return tensor.as<std::int32_t>()[i];
}

inline void set_element(const Tensor& tensor, std::int64_t i, double value) {
  if (tensor.dtype == DType::fp64) tensor.as<double>()[i] = value;
  else if (tensor.dtype == DType::fp32) tensor.as<float>()[i] = static_cast<float>(value);
  else tensor.as<std::int32_t>()[i] = static_cast<std::int32_t>(value);
}

// Allocator of values. A device that cannot access all memory sets its own.
using AllocateValues = std::shared_ptr<std::byte> (*)(std::size_t bytes);
inline AllocateValues allocate_values = [](std::size_t bytes) {
  return std::shared_ptr<std::byte>(new std::byte[bytes](), std::default_delete<std::byte[]>());
};

// Owns what tensors point to, and can be copied as a whole: the same tensors for two devices.
class Values {
 public:
  // Every address is `shift` elements of its tensor beyond what the allocator aligns to.
  explicit Values(std::uint32_t seed = 1, std::size_t shift = 0) : seed_(seed), shift_(shift) {}

  Tensor zeros(DType dtype, Shape shape) {
    const Tensor plain{dtype, shape, nullptr};
    // Ends exactly where the tensor ends, so that a sanitizer sees one element too many.
    const std::size_t skipped = shift_ * static_cast<std::size_t>(base::size_of(dtype));
    memory_.push_back(allocate_values(
        skipped + static_cast<std::size_t>(std::max<std::int64_t>(plain.bytes(), 1))));
    return {dtype, shape, memory_.back().get() + skipped};
  }

  Tensor uniform(DType dtype, Shape shape, double low = -1, double high = 1) {
    const Tensor tensor = zeros(dtype, shape);
    const base::Random random(seed_, base::Purpose::generate,
                              static_cast<std::uint32_t>(memory_.size()));
    for (std::int64_t i = 0; i < tensor.elements(); ++i)
      set_element(tensor, i, random.uniform(static_cast<std::uint64_t>(i), low, high));
    return tensor;
  }

  Tensor labels(std::int64_t batch, std::int64_t classes) {
    return uniform(DType::int32, {batch}, 0, static_cast<double>(classes) - 1e-9);
  }
  Tensor scalar(double value) {
    const Tensor tensor = zeros(DType::fp64, {1});
    set_element(tensor, 0, value);
    return tensor;
  }

 private:
  std::uint32_t seed_;
  std::size_t shift_;
  std::vector<std::shared_ptr<std::byte>> memory_;
};

inline double tolerance(DType dtype) { return dtype == DType::fp32 ? 1e-5 : 1e-12; }

// Largest difference, relative to the largest expected element.
inline void expect_near(const Tensor& found, const Tensor& expected, double relative,
                        const char* what) {
  ASSERT_EQ(found.shape, expected.shape) << what;
  double largest = 0, difference = 0;
  for (std::int64_t i = 0; i < expected.elements(); ++i) {
    ASSERT_TRUE(std::isfinite(element(found, i)))
        << what << "[" << i << "] = " << element(found, i);
    largest = std::max(largest, std::abs(element(expected, i)));
    difference = std::max(difference, std::abs(element(found, i) - element(expected, i)));
  }
  EXPECT_LE(difference, relative * largest) << what << ", of at most " << largest;
}

inline void run(compute::Compute& device, const compute::Op& op) {
  auto kernel = device.prepare(op);
  ASSERT_TRUE(kernel) << base::to_string(kernel.error());
  const auto queue = device.make_queue();
  (*kernel)->enqueue(*queue);
  const auto ran = compute::finish(*queue);
  ASSERT_TRUE(ran) << base::to_string(ran.error());
}

}  // namespace trainyard::conformance
