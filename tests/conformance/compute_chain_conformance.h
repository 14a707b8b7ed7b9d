// SPDX-License-Identifier: GPL-3.0-or-later
// Requirements on a Compute that supports chains: a chain is bit-identical to its ops run one by
// one, each time.
#pragma once

#include <thread>

#include "tests/conformance/compute_conformance.h"

namespace trainyard::conformance {

// Every case once, prepared; what it was given lives as long.
struct PreparedCases {
  std::vector<std::unique_ptr<Values>> values;
  std::vector<Case> cases;
  std::vector<std::unique_ptr<compute::Kernel>> kernels;

  explicit PreparedCases(compute::Compute& device) {
    for (const NamedCase& named : all_cases()) {
      cases.push_back(
          named.make(*values.emplace_back(std::make_unique<Values>()), DType::fp32, {5, 24, 8}));
      kernels.push_back(device.prepare(cases.back().op).value());
    }
  }
};

inline constexpr std::size_t kChained = 16;  // ops of each
inline constexpr int kTimes = 4;             // a graph may be made the second time

TEST_P(ComputeConformance, chain_equals_its_separate_ops) {
  PreparedCases alone(*device_), together(*device_);
  std::vector<std::unique_ptr<compute::Chain>> chains;
  for (std::size_t first = 0; first < together.kernels.size(); first += kChained) {
    std::vector<std::vector<compute::Kernel*>> ops;
    for (std::size_t i = first; i < std::min(first + kChained, together.kernels.size()); ++i)
      ops.push_back({together.kernels[i].get()});
    chains.push_back(device_->chain(std::move(ops)));
    if (!chains.back()) GTEST_SKIP() << "it makes none";
  }
  const auto queue = device_->make_queue();
  for (int time = 0; time < kTimes; ++time) {
    for (const auto& kernel : alone.kernels) kernel->enqueue(*queue);
    for (std::size_t c = 0; c < chains.size(); ++c) {
      const std::uint64_t first = chains[c]->enqueue(*queue),
                          last = first +
                                 std::min(kChained, together.kernels.size() - c * kChained) - 1;
      while (!queue->reached(last)) std::this_thread::yield();
      EXPECT_TRUE(queue->reached(first));
      EXPECT_GE(queue->between(first, last), 0);
    }
    ASSERT_TRUE(compute::finish(*queue));
    for (std::size_t i = 0; i < alone.cases.size(); ++i)
      for (std::size_t r = 0; r < alone.cases[i].results.size(); ++r) {
        const Tensor mine = alone.cases[i].results[r].second,
                     its = together.cases[i].results[r].second;
        EXPECT_EQ(std::memcmp(mine.data, its.data, static_cast<std::size_t>(mine.bytes())), 0)
            << all_cases()[i].name << " " << alone.cases[i].results[r].first << ", time " << time;
      }
  }
}

// Each op a copy that takes its time, and whose end tells which one it was: a mark that is reached
// too early shows what was there before.
TEST_P(ComputeConformance, chain_reaches_a_mark_when_its_op_is_done_and_not_before) {
  constexpr std::size_t kOps = 6;
  constexpr std::int64_t kNumbers = 1 << 20;
  Values values;
  std::vector<Tensor> inputs, outputs;
  std::vector<std::unique_ptr<compute::Kernel>> kernels;
  std::vector<std::vector<compute::Kernel*>> ops;
  for (std::size_t i = 0; i < kOps; ++i) {
    inputs.push_back(values.zeros(DType::fp32, {kNumbers}));
    outputs.push_back(values.zeros(DType::fp32, {kNumbers}));
    kernels.push_back(device_->prepare(compute::Copy{inputs.back(), outputs.back()}).value());
    ops.push_back({kernels.back().get()});
  }
  const auto chain = device_->chain(std::move(ops));
  if (!chain) GTEST_SKIP() << "it makes none";
  const auto queue = device_->make_queue();
  for (int time = 0; time < kTimes; ++time) {
    for (std::size_t i = 0; i < kOps; ++i)
      set_element(inputs[i], kNumbers - 1,
                  static_cast<double>(100 * (time + 1)) + static_cast<double>(i));
    const std::uint64_t first = chain->enqueue(*queue);
    for (std::size_t i = 0; i < kOps; ++i) {
      while (!queue->reached(first + i)) std::this_thread::yield();
      EXPECT_EQ(element(outputs[i], kNumbers - 1), element(inputs[i], kNumbers - 1))
          << "op " << i << ", time " << time;
    }
    ASSERT_TRUE(compute::finish(*queue));
  }
}

}  // namespace trainyard::conformance
