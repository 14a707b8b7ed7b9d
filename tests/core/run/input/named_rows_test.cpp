// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/run/input/named_rows.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/compute/reference/reference.h"

namespace trainyard::run {
namespace {

using testing::ElementsAre;

std::vector<std::byte> sent(const std::vector<std::int32_t>& words) {
  const auto bytes = std::as_bytes(std::span(words));
  return {bytes.begin(), bytes.end()};
}

TEST(RowList, is_received_as_sent) {
  std::array<std::int32_t, 6> there{}, here{};
  RowList(there.data()).write(std::array{1, 4, 7}, true);
  const NamedRows table{.rows = 8, .row_bytes = 16, .most = 4};
  RowList list(here.data());
  ASSERT_TRUE(list.take(RowList(there.data()).message(), table));
  EXPECT_THAT(list.numbers(), ElementsAre(1, 4, 7));
  EXPECT_TRUE(list.wants_all());
  EXPECT_EQ(RowList(there.data()).message().size(), 16U);
  RowList(there.data()).write({}, false);
  ASSERT_TRUE(list.take(RowList(there.data()).message(), table));
  EXPECT_TRUE(list.numbers().empty());
  EXPECT_FALSE(list.wants_all());
}

TEST(RowList, that_is_invalid_is_refused) {
  std::array<std::int32_t, 6> here{};
  const NamedRows table{.rows = 8, .row_bytes = 16, .most = 4};
  const auto refused = [&](std::vector<std::byte> message) {
    const auto taken = RowList(here.data()).take(message, table);
    return taken ? std::string() : taken.error().id;
  };
  EXPECT_EQ(refused({}), "bad_row_list_size");
  EXPECT_EQ(refused(std::vector<std::byte>(6)), "bad_row_list_size");
  EXPECT_EQ(refused(sent({0, 0, 1, 2, 3, 4})), "bad_row_list_size") << "more than a list can name";
  EXPECT_EQ(refused(sent({0, 3, 3})), "bad_row_number");
  EXPECT_EQ(refused(sent({0, 3, 2})), "bad_row_number");
  EXPECT_EQ(refused(sent({0, -1})), "bad_row_number");
  EXPECT_EQ(refused(sent({0, 8})), "bad_row_number");
  EXPECT_EQ(refused(sent({0, 0, 7})), "");
}

TEST(Rows, are_packed_from_a_table_and_unpacked) {
  const auto compute = compute::reference::make();
  const std::vector<float> table{0, 1, 10, 11, 20, 21, 30, 31};
  std::vector<float> packed(4), other(8, -1);
  const std::vector<std::int32_t> numbers{1, 3};
  const auto bytes = [](auto& floats) {
    return reinterpret_cast<std::byte*>(const_cast<float*>(floats.data()));
  };
  gather_rows(*compute, 8, numbers, bytes(table), bytes(packed));
  EXPECT_THAT(packed, ElementsAre(10, 11, 30, 31));
  scatter_rows(*compute, 8, numbers, bytes(packed), bytes(other));
  EXPECT_THAT(other, ElementsAre(-1, -1, 10, 11, -1, -1, 30, 31));
}

// Samples of two indices and a number: what is no row of the share is not named.
class Indices : public data::Dataset {
 public:
  Indices() { summary_ = {{3}, 2, 4, 0}; }
  const data::DataSummary& summary() const override { return summary_; }
  void fill(data::Split, std::span<const std::int64_t> indices, std::span<float> features,
            std::span<std::int32_t> labels) const override {
    for (std::size_t i = 0; i < indices.size(); ++i) {
      const auto sample = static_cast<float>(indices[i]);
      features[3 * i] = sample, features[3 * i + 1] = 2 * sample, features[3 * i + 2] = 1;
      labels[i] = 0;
    }
  }

 private:
  data::DataSummary summary_;
};

TEST(RowNames, are_those_that_the_samples_of_a_step_look_up) {
  RoundInput whole(std::make_shared<Indices>(), data::Sampler(1, 4, 4, 1), 0, 4),
      parts(std::make_shared<Indices>(), data::Sampler(1, 4, 4, 1), 0, 1);
  for (RoundInput* input : {&whole, &parts}) {
    RowNames names(*input);
    EXPECT_THAT(names.of(0, {.rows = 10, .slot_count = 2}), ElementsAre(0, 1, 2, 3, 4, 6))
        << "samples 0 to 3, in one micro-step or in four";
    EXPECT_THAT(names.of(0, {.rows = 10, .slot_count = 1}), ElementsAre(0, 1, 2, 3));
    EXPECT_THAT(names.of(0, {.first = 2, .rows = 3, .slot_count = 2}), ElementsAre(0, 1, 2))
        << "rows 2 to 4, counted from the second";
    EXPECT_THAT(names.of(1, {.rows = 3, .slot_count = 2}), ElementsAre(0, 1, 2))
        << "of the next pass";
  }
}

}  // namespace
}  // namespace trainyard::run
