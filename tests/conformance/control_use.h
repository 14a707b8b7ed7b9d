// SPDX-License-Identifier: GPL-3.0-or-later
// Short words for tests that talk over a control plane.
#pragma once

#include <chrono>
#include <stdexcept>
#include <type_traits>

#include "core/session/protocol/control.h"

namespace trainyard::conformance {

using std::chrono::milliseconds;

constexpr milliseconds patience{10'000};  // for what is sure to come

template <class T>
T must(base::Result<T> result) {
  if (!result) throw std::runtime_error(base::to_string(result.error()));
  if constexpr (!std::is_void_v<T>) return std::move(*result);
}

inline session::Horizon step(std::int64_t number) { return {number, false}; }
inline std::int64_t step_of(const session::Message& message) {
  return std::get<session::Horizon>(message).step;
}

}  // namespace trainyard::conformance
