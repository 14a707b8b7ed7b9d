// SPDX-License-Identifier: GPL-3.0-or-later
// Tensors as views of memory that the plan lays out: dtype, shape and address. They are row-major,
// and do not own memory.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>

#include "core/base/dtype.h"

namespace trainyard::compute {

using base::DType;
using base::size_of;

struct Shape {
  std::array<std::int64_t, 4> extents{};
  int dimensions = 0;

  constexpr Shape() = default;
  constexpr Shape(std::initializer_list<std::int64_t> list) {
    for (const std::int64_t extent : list) extents[static_cast<std::size_t>(dimensions++)] = extent;
  }
  constexpr std::int64_t operator[](int i) const { return extents[static_cast<std::size_t>(i)]; }
  constexpr std::int64_t elements() const {
    std::int64_t product = 1;
    for (int i = 0; i < dimensions; ++i) product *= extents[static_cast<std::size_t>(i)];
    return product;
  }
  constexpr bool operator==(const Shape&) const = default;
};

struct Tensor {
  DType dtype = DType::fp32;
  Shape shape;
  std::byte* data = nullptr;

  constexpr std::int64_t elements() const { return shape.elements(); }
  constexpr std::int64_t bytes() const { return elements() * size_of(dtype); }
  constexpr bool empty() const { return data == nullptr; }
  template <class T>
  T* as() const {
    return reinterpret_cast<T*>(data);
  }
};

}  // namespace trainyard::compute
