// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/telemetry/chunk_values.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/base/json.h"
#include "tests/core/telemetry/support.h"

namespace trainyard::telemetry {
namespace {

std::vector<std::byte> numbers(std::initializer_list<float> list) {
  const std::vector<float> values(list);
  const auto bytes = std::as_bytes(std::span(values));
  return {bytes.begin(), bytes.end()};
}

ChunkValues sample(int step = 4) {
  return {step,
          1,
          7,
          base::DType::fp32,
          100,
          {0, 50, 99},
          numbers({1, -2, 3}),
          numbers({10, -20, 0.5F})};
}

std::vector<std::byte> payload_of(const std::vector<ChunkValues>& list) {
  std::vector<std::byte> payload;
  for (const ChunkValues& values : list) append(values, payload);
  return payload;
}

TEST(ChunkValues, decode_from_their_bytes) {
  const ChunkValues none{2, 0, 0, base::DType::bf16, 0, {}, {}, {}};
  const auto payload = payload_of({sample(), none});
  EXPECT_EQ(payload.size(), size_of(sample()) + size_of(none));
  EXPECT_EQ(chunk_values_of(payload).value(), (std::vector{sample(), none}));
  EXPECT_TRUE(chunk_values_of({})->empty());
}

TEST(ChunkValues, that_are_truncated_anywhere_are_refused) {
  const auto payload = payload_of({sample()});
  for (std::size_t length = 1; length < payload.size(); ++length)
    EXPECT_FALSE(chunk_values_of(std::span(payload).first(length))) << length;
}

TEST(ChunkValues, with_impossible_sizes_are_refused) {
  const auto refusal = [](const ChunkValues& values) {
    const auto read = chunk_values_of(payload_of({values}));
    return read ? "" : read.error().id;
  };
  ChunkValues outside = sample(), backwards = sample(), strange = sample();
  outside.places.back() = 100;
  backwards.places = {50, 0, 99};
  strange.dtype = static_cast<base::DType>(99);
  EXPECT_EQ(refusal(outside), "bad_index");
  EXPECT_EQ(refusal(backwards), "bad_index");
  EXPECT_EQ(refusal(strange), "unknown_dtype");
  auto greedy = payload_of({sample()});
  greedy[31] = std::byte{0x7F};  // of the number of places
  EXPECT_EQ(chunk_values_of(greedy).error().id, "values_incomplete");
}

TEST(ChunkValues, are_kept_in_a_history_as_first_recorded) {
  History history;
  take_json(history, FrameType::header, -1, small_header());
  ChunkValues other = sample();
  other.after = numbers({0, 0, 0});
  for (const auto& values : {sample(), other, sample(8)})
    ASSERT_TRUE(history.take({FrameType::samples, 1, payload_of({values})}));
  ASSERT_EQ(history.chunk_values().size(), 2u);
  EXPECT_EQ(history.chunk_values().at({1, 7, 4, 1}), sample());
  EXPECT_EQ(history.chunk_values().at({1, 7, 8, 1}), sample(8));
  EXPECT_FALSE(history.take({FrameType::samples, 1, std::as_bytes(std::span("noise"))}));
}

}  // namespace
}  // namespace trainyard::telemetry
