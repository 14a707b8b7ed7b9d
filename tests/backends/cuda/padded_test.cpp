// SPDX-License-Identifier: GPL-3.0-or-later
#include "backends/cuda/module/kernels/padded.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace trainyard::cuda {
namespace {

// Keeps what it is asked for.
class Asked final : public Device {
 public:
  bool reaches(const std::byte*) override { return true; }
  bool fuses(DType, Activation) const override { return true; }
  base::Result<Run> product(const Product& asked) override {
    products.push_back(asked);
    return Run([](Stream&) {});
  }
  base::Result<Run> order(const std::int32_t*, std::int32_t*, std::int64_t, std::int32_t) override {
    return Run([](Stream&) {});
  }

  std::vector<std::int64_t> allocated;
  std::vector<Product> products;
  std::int64_t most = 1 << 30;  // bytes, at once

 private:
  base::Result<Memory> take(std::int64_t bytes) override {
    if (bytes > most)
      return base::fail(
          {"made_by_test", base::ProblemCode::unavailable, "test", "has no room", "", ""});
    allocated.push_back(bytes);
    return compute::allocate(bytes, "test");
  }
  base::Result<Memory> take_zeros(std::int64_t bytes) override { return take(bytes); }
};

Product product_of(std::int64_t m, std::int64_t n, std::int64_t k, bool left_transposed,
                   bool right_transposed, DType dtype = DType::bf16) {
  Product p;
  p.left.dtype = p.right.dtype = dtype, p.result.dtype = DType::fp32;
  p.m = m, p.n = n, p.k = k, p.left_transposed = left_transposed,
  p.right_transposed = right_transposed;
  return p;
}

// Products of the three passes of a last layer with 1,003 classes.
TEST(PaddedProducts, pad_rows_to_full_units) {
  Asked device;
  for (const Product& p :
       {product_of(160, 128, 1003, false, false), product_of(1003, 128, 160, true, false),
        product_of(160, 129, 1003, false, true), product_of(131, 133, 135, true, false),
        product_of(160, 133, 1003, false, false)}) {
    ASSERT_TRUE(pays_to_pad(p));
    ASSERT_TRUE(in_padded_rows<float>(device, p));
    const Product& asked = device.products.back();
    EXPECT_EQ(left_of(asked).columns % kRowUnit, 0);
    EXPECT_EQ(right_of(asked).columns % kRowUnit, 0);
    for (const auto& [its, mine] :
         {std::pair{asked.m, p.m}, std::pair{asked.n, p.n}, std::pair{asked.k, p.k}}) {
      EXPECT_GE(its, mine);
      EXPECT_LT(its, mine + kRowUnit);
    }
    for (const auto& [mine, its] : {std::pair{p.left, asked.left}, std::pair{p.right, asked.right},
                                    std::pair{p.result, asked.result}})
      EXPECT_EQ(its.dtype, mine.dtype);
  }
}

TEST(PaddedProducts, without_enough_memory_report_the_size) {
  Asked device;
  ASSERT_TRUE(in_padded_rows<float>(device, product_of(160, 128, 1003, false, false)));
  ASSERT_TRUE(device.allocate(100'000)) << "and it is freed immediately";
  device.most = 1'000'000;
  const auto refused = in_padded_rows<float>(device, product_of(1600, 128, 1003, false, false));
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().what, testing::HasSubstr("581 kB"));
}

TEST(PaddedProducts, share_the_memory_of_the_largest) {
  Asked device;
  ASSERT_TRUE(in_padded_rows<float>(device, product_of(160, 128, 1003, false, false)));
  EXPECT_EQ(device.allocated, (std::vector<std::int64_t>{160 * 1008 * 2, 1008 * 128 * 2}));
  ASSERT_TRUE(in_padded_rows<float>(device, product_of(150, 128, 1003, false, false)));
  ASSERT_TRUE(in_padded_rows<float>(device, product_of(1003, 128, 160, true, false)));
  EXPECT_EQ(device.allocated,
            (std::vector<std::int64_t>{160 * 1008 * 2, 1008 * 128 * 2, 1008 * 128 * 4}))
      << "and its result, which has more rows";
}

TEST(PaddedProducts, are_not_used_without_a_benefit) {
  EXPECT_FALSE(pays_to_pad(product_of(160, 128, 1008, false, false))) << "no row is split";
  EXPECT_FALSE(pays_to_pad(product_of(1003, 128, 160, false, true)))
      << "an odd number is not a row";
  EXPECT_FALSE(pays_to_pad(product_of(160, 10, 1003, false, false)))
      << "a factor is used too seldom";
  EXPECT_FALSE(pays_to_pad(product_of(160, 128, 1003, false, false, DType::fp32)))
      << "not for tensor cores";
  Product accumulating = product_of(160, 128, 1003, false, false);
  accumulating.accumulates = true;
  EXPECT_FALSE(pays_to_pad(accumulating));
}

TEST(PaddedProducts, copy_the_content_and_clear_the_padding) {
  Stream stream;
  std::vector<float> from{1, 2, 3, 4, 5, 6}, to(12, 9), back(6, 9);
  fit<float>(stream, {DType::fp32, {2, 3}, reinterpret_cast<std::byte*>(from.data())}, {2, 3},
             {DType::fp32, {3, 4}, reinterpret_cast<std::byte*>(to.data())}, {3, 4});
  EXPECT_EQ(to, (std::vector<float>{1, 2, 3, 0, 4, 5, 6, 0, 0, 0, 0, 0}));
  fit<float>(stream, {DType::fp32, {3, 4}, reinterpret_cast<std::byte*>(to.data())}, {3, 4},
             {DType::fp32, {2, 3}, reinterpret_cast<std::byte*>(back.data())}, {2, 3});
  EXPECT_EQ(back, from);
}

// Wherever it begins, and with no byte beside it touched.
TEST(PaddedProducts, copy_16_bits_unchanged) {
  Stream stream;
  for (const std::int64_t columns : {1, 3, 8, 13, 18, 51})
    for (const std::size_t first : {0U, 1U, 2U, 3U}) {
      const std::int64_t rows = 5, wide = parts(columns, kRowUnit) * kRowUnit;
      std::vector<std::uint16_t> from(first + static_cast<std::size_t>(rows * columns));
      for (std::size_t i = 0; i < from.size(); ++i)
        from[i] = static_cast<std::uint16_t>(i * 2654435761U);
      from.shrink_to_fit();
      std::vector<std::uint64_t> to(static_cast<std::size_t>((rows + 2) * wide / 4),
                                    ~std::uint64_t{0});
      fit<float>(
          stream, {DType::bf16, {rows, columns}, reinterpret_cast<std::byte*>(from.data() + first)},
          {rows, columns}, {DType::bf16, {rows + 2, wide}, reinterpret_cast<std::byte*>(to.data())},
          {rows + 2, wide});
      const auto* const found = reinterpret_cast<const std::uint16_t*>(to.data());
      for (std::int64_t row = 0; row < rows + 2; ++row)
        for (std::int64_t c = 0; c < wide; ++c)
          ASSERT_EQ(found[row * wide + c],
                    row < rows && c < columns
                        ? from[first + static_cast<std::size_t>(row * columns + c)]
                        : 0)
              << columns << " from " << first << ": " << row << ", " << c;
    }
}

}  // namespace
}  // namespace trainyard::cuda
