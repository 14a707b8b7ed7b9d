// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/data/input_pipeline.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <new>
#include <thread>

#include "tests/core/data/files.h"

namespace {

std::atomic<std::int64_t> allocations{0};

void* counted_or_none(std::size_t size) noexcept {
  ++allocations;
  return std::malloc(size == 0 ? 1 : size);
}

void* counted(std::size_t size) {
  if (void* memory = counted_or_none(size)) return memory;
  throw std::bad_alloc();
}

}  // namespace

// The whole test program counts what it allocates, on every thread.
void* operator new(std::size_t size) { return counted(size); }
void* operator new[](std::size_t size) { return counted(size); }
void* operator new(std::size_t size, const std::nothrow_t&) noexcept {
  return counted_or_none(size);
}
void* operator new[](std::size_t size, const std::nothrow_t&) noexcept {
  return counted_or_none(size);
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete[](void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete[](void* memory, std::size_t) noexcept { std::free(memory); }

namespace trainyard::data {
namespace {

std::shared_ptr<const Dataset> digits(std::int64_t samples) {
  DataSpec spec;
  spec.train_samples = samples;
  return open(spec, "").value();
}

TEST(InputPipeline, returns_the_batches_of_its_rank_in_order) {
  const auto set = digits(100);
  Sampler sampler(1, 100, 8, 3);
  for (std::int64_t rank = 0; rank < 3; ++rank) {
    InputPipeline pipeline(set, sampler, rank, 2, 13);
    for (std::int64_t step = 2; step < 13; ++step) {
      const Batch& batch = pipeline.wait_next();
      const auto indices = sampler.indices(step, rank);
      const auto expected = read(*set, Split::train, {indices.begin(), indices.end()});
      EXPECT_EQ(batch.step, step);
      EXPECT_EQ(batch.samples, std::ssize(indices));
      EXPECT_EQ(batch.labels, expected.labels);
      EXPECT_EQ(batch.features, expected.features);
      pipeline.release();
    }
    EXPECT_EQ(pipeline.try_next(), nullptr);
  }
}

// Bytes of a data set, converted by its table, equal its numbers.
TEST(InputPipeline, returns_bytes_if_there_is_memory_for_them) {
  const auto set = digits(100);
  ASSERT_NE(set->byte_values(), nullptr);
  const AllocateBytes make_room = [](std::int64_t bytes) {
    return std::shared_ptr<std::byte>(new std::byte[static_cast<std::size_t>(bytes)],
                                      std::default_delete<std::byte[]>());
  };
  InputPipeline as_numbers(set, Sampler(1, 100, 8, 1), 0, 0, 14),
      as_bytes(set, Sampler(1, 100, 8, 1), 0, 0, 14, 2, InputPipeline::kFullStep, Rows::own,
               make_room);
  for (std::int64_t step = 0; step < 14; ++step) {
    const Batch &numbers = as_numbers.wait_next(), &bytes = as_bytes.wait_next();
    EXPECT_EQ(numbers.byte_values, nullptr);
    ASSERT_EQ(bytes.byte_values, set->byte_values());
    EXPECT_TRUE(bytes.features.empty());
    EXPECT_EQ(bytes.labels, numbers.labels);
    std::vector<float> meant;
    for (const std::uint8_t byte : bytes.as_bytes(bytes.samples * 784))
      meant.push_back((*bytes.byte_values)[byte]);
    EXPECT_EQ(meant, numbers.features);
    as_numbers.release(), as_bytes.release();
  }
}

TEST(InputPipeline, returns_numbers_of_a_set_without_bytes) {
  DataSpec spec;
  spec.kind = DataKind::spirals, spec.train_samples = 30;
  const auto set = open(spec, "").value();
  InputPipeline pipeline(set, Sampler(1, 30, 8, 1), 0, 0, 1, 2, InputPipeline::kFullStep, Rows::own,
                         [](std::int64_t) { return std::shared_ptr<std::byte>(); });
  EXPECT_EQ(pipeline.wait_next().byte_values, nullptr);
  EXPECT_EQ(std::ssize(pipeline.wait_next().features), 16);
}

// 100 samples in steps of 24 for three ranks: eight each, and of the last step 2, 1 and 1.
TEST(InputPipeline, returns_a_step_in_micro_steps) {
  const auto set = digits(100);
  Sampler sampler(1, 100, 8, 3);
  for (std::int64_t rank = 0; rank < 3; ++rank) {
    InputPipeline pipeline(set, sampler, rank, 0, 7, 2, 3);
    for (std::int64_t step = 0; step < 7; ++step) {
      const auto indices = sampler.indices(step, rank);
      const std::vector<std::int64_t> all(indices.begin(), indices.end());
      for (std::int64_t first = 0, micro = 0; first < std::ssize(all); first += 3, ++micro) {
        const Batch& batch = pipeline.wait_next();
        const auto begin = all.begin() + first;
        EXPECT_EQ(batch.step, step);
        EXPECT_EQ(batch.micro, micro);
        EXPECT_EQ(batch.samples, std::min<std::int64_t>(3, std::ssize(all) - first));
        EXPECT_EQ(batch.labels, read(*set, Split::train, {begin, begin + batch.samples}).labels);
        pipeline.release();
      }
    }
    EXPECT_EQ(pipeline.try_next(), nullptr);
  }
}

TEST(InputPipeline, returns_one_empty_batch_for_a_step_without_samples) {
  InputPipeline pipeline(digits(10),
                         Sampler(1, Shares::owned({8, 2}, 2), {0, 0, 0, 0, 0, 0, 0, 0, 1, 1}), 1, 0,
                         4, 2, 1);
  for (const std::int64_t samples : {1, 1, 0, 0, 0}) {
    EXPECT_EQ(pipeline.wait_next().samples, samples);
    pipeline.release();
  }
  EXPECT_EQ(pipeline.try_next(), nullptr);
}

TEST(InputPipeline, returns_the_same_batch_until_it_is_released) {
  InputPipeline pipeline(digits(50), Sampler(1, 50, 5, 1), 0, 0, 20, 3);
  const Batch* first = &pipeline.wait_next();
  EXPECT_EQ(pipeline.try_next(), first);
  EXPECT_EQ(&pipeline.wait_next(), first);
  EXPECT_EQ(first->step, 0);
  pipeline.release();
  EXPECT_EQ(pipeline.wait_next().step, 1);
}

// Counts the batches that were asked of it, and how many more they ever were than those given back.
class Counting : public Dataset {
 public:
  const DataSummary& summary() const override { return summary_; }
  void fill(Split, std::span<const std::int64_t>, std::span<float>,
            std::span<std::int32_t>) const override {
    furthest = std::max<int>(
        furthest, asked + 1 - given_back);  // when it is asked, however late the test looks
    ++asked;
    asked.notify_all();
  }
  mutable std::atomic<int> asked{0}, furthest{0};
  std::atomic<int> given_back{0};

 private:
  DataSummary summary_{{4}, 2, 100, 0};
};

TEST(InputPipeline, prefetches_up_to_its_depth) {
  constexpr int steps = 2000, depth = 3;  // enough steps to reveal an off-by-one error
  const auto set = std::make_shared<Counting>();
  InputPipeline pipeline(set, Sampler(1, 100, 5, 1), 0, 0, steps, depth);
  for (int step = 0; step < steps; ++step) {
    const int due = std::min(step + depth, steps);
    for (int asked = set->asked; asked < due; asked = set->asked) set->asked.wait(asked);
    std::this_thread::yield();  // a chance to go too far
    EXPECT_EQ(pipeline.wait_next().step, step);
    ++set->given_back;
    pipeline.release();
  }
  EXPECT_EQ(set->asked, steps);
  EXPECT_EQ(set->furthest, depth) << "one more needs a slot that is in use";
}

TEST(InputPipeline, allocates_nothing_after_its_slots_are_filled) {
  const auto set = digits(64);
  InputPipeline pipeline(set, Sampler(1, 64, 8, 1), 0, 0, 80);
  for (int step = 0; step < 5; ++step) pipeline.wait_next(), pipeline.release();
  const std::int64_t before = allocations;
  for (int step = 5; step < 80; ++step) pipeline.wait_next(), pipeline.release();
  EXPECT_EQ(allocations - before, 0);
}

TEST(InputPipeline, can_be_destroyed_at_any_time) {
  const auto set = digits(300);
  for (int round = 0; round < 300; ++round) {
    InputPipeline pipeline(set, Sampler(1, 300, 16, 2), round % 2, 0, 1000, 1 + round % 3);
    for (int taken = 0; taken < round % 5; ++taken) {
      EXPECT_EQ(pipeline.wait_next().step, taken);
      if (taken + 1 < round % 5 || round % 2 == 0) pipeline.release();
    }
  }
}

TEST(InputPipeline, without_steps_is_empty) {
  InputPipeline pipeline(digits(10), Sampler(1, 10, 5, 1), 0, 7, 7);
  EXPECT_EQ(pipeline.try_next(), nullptr);
}

}  // namespace
}  // namespace trainyard::data
