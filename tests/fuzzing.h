// SPDX-License-Identifier: GPL-3.0-or-later
// Fuzz tests: readers get inputs that were changed at random, from fixed seeds. Suites of fuzz
// tests are called Fuzz, so that tests/soak/fuzz.sh finds them.
//
// Environment: TRAINYARD_FUZZ_SECONDS: duration of each test, instead of its number of inputs.
// TRAINYARD_FUZZ_SEED: seed of the first input; each further input has the next seed.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <random>
#include <string>
#include <vector>

#include "core/base/json.h"

namespace trainyard::fuzzing {

class Mutator {
 public:
  explicit Mutator(std::uint64_t seed) : generator_(seed) {}

  std::size_t below(std::size_t bound) {
    return std::uniform_int_distribution<std::size_t>(0, bound - 1)(generator_);
  }

  std::string noise(std::size_t size) {
    std::string bytes(size, '\0');
    for (char& byte : bytes) byte = static_cast<char>(below(256));
    return bytes;
  }

  // Returns the bytes with some of them changed, removed, inserted or repeated.
  std::string mutate(std::string bytes) {
    for (std::size_t times = 1 + below(3); times > 0 && !bytes.empty(); --times) {
      const std::size_t at = below(bytes.size()),
                        length = below(std::min<std::size_t>(bytes.size() - at, 60)) + 1;
      switch (below(5)) {
        case 0: bytes[at] = static_cast<char>(below(256)); break;
        case 1: bytes.resize(at + 1); break;
        case 2: bytes.erase(at, length == bytes.size() ? length - 1 : length); break;
        case 3: bytes.insert(at, noise(length)); break;
        default: bytes.insert(at, bytes.substr(below(bytes.size()), length)); break;
      }
    }
    return bytes;
  }

  // Returns the JSON with some keys removed, and some values replaced by others.
  base::Json mutate(base::Json json) {
    for (std::size_t times = 1 + below(3); times > 0; --times) change(json);
    return json;
  }

 private:
  // Changes the value, or a value in it.
  void change(base::Json& json) {
    if (json.is_structured() && !json.empty() && below(5) != 0) return change_child(json);
    json = other_value(json);
  }

  void change_child(base::Json& json) {
    auto at = json.begin();
    std::advance(at, static_cast<std::ptrdiff_t>(below(json.size())));
    const bool removes = below(4) == 0 && (!at->is_structured() || below(2) == 0);
    if (removes) json.erase(at);
    else change(*at);
  }

  base::Json other_value(const base::Json& json) {
    switch (below(14)) {
      case 0: return nullptr;
      case 1: return below(2) == 0;
      case 2: return "a text";
      case 3: return "";
      case 4: return 0;
      case 5: return -1;
      case 6: return 0.5;
      case 7: return 1e300;
      case 8: return INT64_MIN;
      case 9: return below(2) == 0 ? base::Json(INT64_MAX) : base::Json(UINT64_MAX);
      case 10: return base::Json::array();
      case 11: return base::Json::object();
      case 12: return nested(json);
      default:
        // Few copies of a list or an object, so that changes in sequence stay small.
        return base::Json(std::vector<base::Json>(below(json.is_structured() ? 4 : 300), json));
    }
  }

  // Returns the value in more lists than a document may have.
  base::Json nested(base::Json json) {
    for (std::size_t levels = below(80); levels > 0; --levels)
      json = base::Json::array({std::move(json)});
    return json;
  }

  std::mt19937_64 generator_;
};

inline double number_in_environment(const char* name, double otherwise) {
  const char* text = std::getenv(name);
  return text == nullptr ? otherwise : std::atof(text);
}

// Calls use(mutator) with `inputs` mutators of different seeds. Fails if a call throws or takes too
// long, and stops at the first fatal failure.
template <class Use>
void fuzz(std::size_t inputs, const Use& use) {
  using Clock = std::chrono::steady_clock;
  constexpr auto kHang = std::chrono::seconds(30);
  const double seconds = number_in_environment("TRAINYARD_FUZZ_SECONDS", 0);
  const auto seed =
      static_cast<std::uint64_t>(number_in_environment("TRAINYARD_FUZZ_SEED", 20240607));
  const auto end = Clock::now() + std::chrono::duration<double>(seconds);
  std::size_t input = 0;
  for (; seconds > 0 ? Clock::now() < end : input < inputs; ++input) {
    const std::string name = "TRAINYARD_FUZZ_SEED=" + std::to_string(seed + input);
    SCOPED_TRACE(name);
    const auto began = Clock::now();
    Mutator mutator(seed + input);
    try {
      use(mutator);
    } catch (const std::exception& error) {
      ADD_FAILURE() << name << ": uncaught exception: " << error.what();
      break;
    }
    EXPECT_LT(Clock::now() - began, kHang) << name;
    if (testing::Test::HasFailure()) break;
  }
  std::printf("fuzzed inputs: %zu\n", input);
}

}  // namespace trainyard::fuzzing
