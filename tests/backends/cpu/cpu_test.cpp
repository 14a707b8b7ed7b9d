// SPDX-License-Identifier: GPL-3.0-or-later
#include "backends/cpu/cpu.h"

#include <gmock/gmock.h>

#include <cstring>
#include <thread>

#include "backends/cpu/kernels.h"
#include "backends/cpu/queue.h"
#include "core/compute/ops.h"
#include "tests/conformance/compute_cases.h"
#include "tests/conformance/compute_image_cases.h"

namespace trainyard::cpu {
namespace {

using compute::DType;
using compute::Tensor;
using conformance::Case;
using conformance::run;
using conformance::Sizes;
using conformance::Values;

constexpr Sizes kSeveralBlocks = {300, 8, 200};

void expect_same_bits(const Case& found, const Case& expected, const std::string& what) {
  for (std::size_t r = 0; r < found.results.size(); ++r) {
    const Tensor &a = found.results[r].second, &b = expected.results[r].second;
    EXPECT_EQ(std::memcmp(a.data, b.data, static_cast<std::size_t>(a.bytes())), 0)
        << what << " " << found.results[r].first;
  }
}

TEST(cpu, name_has_library_and_cores) {
  EXPECT_THAT((*make(1))->name(), testing::MatchesRegex("cpu \\(oneDNN .*, 1 core\\)"));
  EXPECT_THAT((*make(2))->name(), testing::HasSubstr("2 cores"));
}

TEST(cpu, requires_a_core) {
  const auto none = make(0);
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().where, "device.cores");
}

TEST(cpu, updates_and_norms_are_bit_identical_for_any_number_of_cores) {
  for (const auto& named : conformance::all_cases()) {
    const bool product =
        named.name.starts_with("linear") ||
        named.name.starts_with("conv2d");  // oneDNN's own cut of the work is not ours to promise
    if (product) continue;
    Values one, three;
    const Case a = named.make(one, DType::fp32, kSeveralBlocks),
               b = named.make(three, DType::fp32, kSeveralBlocks);
    run(**make(1), a.op);
    run(**make(3), b.op);
    expect_same_bits(b, a, named.name);
  }
}

TEST(cpu, kernel_runs_in_another_thread_than_it_was_prepared_in) {
  for (const auto& named : conformance::all_cases()) {
    Values here, there;
    const Case a = named.make(here, DType::fp32, {64, 300, 200}),
               b = named.make(there, DType::fp32, {64, 300, 200});
    const auto device = *make(1);
    run(*device, a.op);
    const auto kernel = *device->prepare(b.op);
    std::thread([&] { kernel->enqueue(*device->make_queue()); }).join();
    expect_same_bits(b, a, named.name);
  }
}

TEST(cpu, queues_of_many_threads_are_independent) {
  const auto device = *make(1);
  Values expected_values;
  const Case expected = conformance::linear_forward(expected_values, DType::fp32, {64, 300, 200},
                                                    compute::Activation::relu);
  run(*device, expected.op);
  std::vector<Values> values(4);
  std::vector<Case> cases;
  std::vector<std::unique_ptr<compute::Kernel>> kernels;
  for (Values& own : values) {
    cases.push_back(
        conformance::linear_forward(own, DType::fp32, {64, 300, 200}, compute::Activation::relu));
    kernels.push_back(*device->prepare(cases.back().op));
  }
  std::vector<std::thread> threads;
  for (auto& kernel : kernels)
    threads.emplace_back([&] {
      const auto queue = device->make_queue();
      for (int i = 0; i < 20; ++i) kernel->enqueue(*queue);
    });
  for (auto& thread : threads) thread.join();
  for (const Case& found : cases) expect_same_bits(found, expected, "linear_forward");
}

// Returns the scratch bytes of a queue after an attention op with a context of `context` rows.
std::size_t scratch_of(Case (*make_case)(Values&, DType, const conformance::Shape&), DType dtype,
                       std::int64_t context) {
  const auto device = *make(1);
  Values values;
  const Case attention = make_case(values, dtype, {2, context, 1, 16});
  const auto queue = device->make_queue();
  (*device->prepare(attention.op))->enqueue(*queue);
  return static_cast<const CpuQueue&>(*queue).scratch_bytes();
}

// 64 rows of scores at a time, and of the backward pass their gradients: what a row more takes is
// the same at every length. The whole square at 2048 rows would be 32 times as much as that.
TEST(cpu, attention_scratch_grows_linearly_with_the_context) {
  constexpr std::size_t page = 4096;
  for (const auto& [make_case, tiles] : {std::pair{&conformance::attention_forward, 1},
                                         std::pair{&conformance::attention_backward, 2}})
    for (const std::int64_t context : {64, 256, 1024, 2048}) {
      const auto of_tiles = static_cast<std::size_t>(tiles * 64 * context) * sizeof(float);
      EXPECT_LE(scratch_of(make_case, DType::fp32, context), of_tiles + page) << context;
    }
}

// Every level of CPU that this one can play, with its name.
template <class T>
std::vector<std::pair<const char*, const Kernels<T>*>> levels() {
  std::vector<std::pair<const char*, const Kernels<T>*>> found = {{"v1", &kernels_v1<T>()}};
  if (&kernels<T>() != &kernels_v1<T>()) found.emplace_back("v3", &kernels_v3<T>());
  if (&kernels<T>() == &kernels_v4<T>()) found.emplace_back("v4", &kernels_v4<T>());
  return found;
}

template <class T>
void expect_levels_agree(DType dtype) {
  constexpr std::int64_t count = 1003;
  std::vector<Tensor> results;
  Values values;
  for (const auto& [name, level] : levels<T>()) {
    Values inputs;
    const Tensor p = inputs.uniform(dtype, {count}), g = inputs.uniform(dtype, {count}),
                 m = inputs.uniform(dtype, {count});
    const Tensor v = inputs.uniform(dtype, {count}, 0.1, 1),
                 statistics = values.zeros(DType::fp64, {3});
    const Tensor columns = values.zeros(dtype, {59}), o = inputs.uniform(dtype, {count});
    level->sgd({p.as<T>(), g.as<T>(), o.as<T>(), p.as<T>(), m.as<T>(), 0.1, 0.5, 0.9, 0.01}, 0,
               count, statistics.as<double>());
    level->adam({p.as<T>(), g.as<T>(), o.as<T>(), p.as<T>(), m.as<T>(), v.as<T>(), 0.1, 0.5, 0.9,
                 0.999, 1e-8, 0.01, 0.1, 0.001, false},
                0, count, statistics.as<double>());
    level->relu_backward(m.as<T>(), g.as<T>(), 0, count);
    level->tanh_backward(m.as<T>(), g.as<T>(), 0, count);
    level->squared_norm(p.as<T>(), 0, count, statistics.as<double>());
    level->column_sums(p.as<T>(), 17, 59, 0, 59, columns.as<T>());
    const std::byte* sources[] = {p.data, m.data, v.data};
    const Tensor sum = values.zeros(dtype, {count}), gradient = values.zeros(dtype, {count});
    level->sum(sum.as<T>(), sources, 3, count);
    level->relu(sum.as<T>(), 0, count);
    std::memcpy(gradient.data, g.data, static_cast<std::size_t>(g.bytes()));
    const std::vector<Tensor> these = {sum, gradient, statistics, columns};
    if (results.empty()) results = these;
    for (std::size_t r = 0; r < these.size(); ++r)
      conformance::expect_near(these[r], results[r], conformance::tolerance(dtype), name);
  }
}

TEST(kernels, every_instruction_set_computes_the_same) {
  expect_levels_agree<float>(DType::fp32);
  expect_levels_agree<double>(DType::fp64);
}

// Two samples of 7 x 5 pixels and 11 channels.
template <class T>
void expect_levels_agree_on_images(DType dtype) {
  std::vector<Tensor> results;
  Values values;
  for (const auto& [name, level] : levels<T>()) {
    Values inputs;
    const Tensor image = inputs.uniform(dtype, {2, 7, 5, 11}),
                 gradient = inputs.uniform(dtype, {2, 4, 3, 11}),
                 by_channel = inputs.uniform(dtype, {4, 11}, 0.5, 1);
    const Tensor largest = values.zeros(dtype, {2, 4, 3, 11}),
                 average = values.zeros(dtype, {2, 4, 3, 11}),
                 sums = values.zeros(DType::fp64, {2, 11});
    const Tensor back = values.zeros(dtype, {2, 7, 5, 11}),
                 normal = values.zeros(dtype, {2, 7, 5, 11}),
                 dropped = values.zeros(dtype, {2, 7, 5, 11});
    PoolArguments<T> pool{
        image.as<T>(), largest.as<T>(), largest.as<T>(), gradient.as<T>(), 7, 5, 11, 4, 3, 3, 2, 1};
    level->max_pool(pool, 0, 2);
    pool.result = back.as<T>();
    level->max_pool_backward(pool, 0, 2);
    pool.result = average.as<T>();
    level->average_pool(pool, 0, 2);
    const T* const numbers = by_channel.as<T>();
    ChannelArguments<T> rows{image.as<T>(), back.as<T>(), normal.as<T>(), 11,
                             numbers,       numbers + 11, numbers + 22,   numbers + 33};
    level->channel_moments(rows, 0, 70, sums.as<double>());
    level->channel_products(rows, 0, 70, sums.as<double>());
    level->normalize(rows, 0, 35);
    level->normalize_backward(rows, 35, 70);
    level->dropout(image.as<T>(), dropped.as<T>(), 770, 0x123456789ABCDEFULL, 3, 10, 1U << 31,
                   T{2});
    const std::vector<Tensor> these = {largest, average, back, sums, normal, dropped};
    if (results.empty()) results = these;
    for (std::size_t r = 0; r < these.size(); ++r)
      conformance::expect_near(these[r], results[r], conformance::tolerance(dtype), name);
  }
}

TEST(kernels, every_instruction_set_computes_the_same_on_images) {
  expect_levels_agree_on_images<float>(DType::fp32);
  expect_levels_agree_on_images<double>(DType::fp64);
}

}  // namespace
}  // namespace trainyard::cpu
