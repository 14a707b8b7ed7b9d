// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/session/checkpoint/safetensors.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <random>

#include "tests/problem_matchers.h"

namespace trainyard::session {
namespace {

using base::DType;
using base::IsProblem;
using base::Reports;
using compute::Shape;
using testing::AllOf;

const base::Problem kNone;
const auto kBad = IsProblem("bad_safetensors", "x.safetensors");

std::string file_of(const std::string& header, std::size_t data_bytes) {
  const std::uint64_t length = header.size();
  return std::string(reinterpret_cast<const char*>(&length), sizeof length) + header +
         std::string(data_bytes, 'd');
}

// The problem of reading the file, or one without an id when there is none.
base::Problem refusal(const std::string& file) {
  const auto tensors = read_safetensors(file, "x.safetensors");
  return tensors ? base::Problem{} : tensors.error();
}
base::Problem refusal(const std::string& header, std::size_t data_bytes) {
  return refusal(file_of(header, data_bytes));
}

std::string entry(const std::string& name, const std::string& dtype, const std::string& shape,
                  const std::string& offsets) {
  return R"(")" + name + R"(":{"dtype":")" + dtype + R"(","shape":)" + shape +
         R"(,"data_offsets":)" + offsets + "}";
}

TEST(Safetensors, return_tensors_in_order_with_every_byte) {
  const std::vector<float> weights{1.5F, -2.25F, 3e-38F, 0, -0.0F, 7};
  const std::vector<double> bias{1.0 / 3};
  const std::vector<NamedTensor> tensors{
      {"0.weight", DType::fp32, Shape{2, 3}, std::as_bytes(std::span(weights))},
      {"0.bias \"é\"", DType::fp64, Shape{1}, std::as_bytes(std::span(bias))},
      {"empty", DType::fp32, Shape{0, 4}, {}},
      {"scalar", DType::fp64, Shape{}, std::as_bytes(std::span(bias))}};
  const std::string file = write_safetensors(tensors);
  const auto read = read_safetensors(file, "x.safetensors");
  ASSERT_TRUE(read) << base::to_string(read.error());
  ASSERT_EQ(read->size(), tensors.size());
  for (const NamedTensor& tensor : tensors) {
    const auto same = std::find_if(read->begin(), read->end(),
                                   [&](const NamedTensor& r) { return r.name == tensor.name; });
    ASSERT_NE(same, read->end()) << tensor.name;
    EXPECT_EQ(same->dtype, tensor.dtype);
    EXPECT_EQ(same->shape, tensor.shape);
    EXPECT_TRUE(
        std::equal(same->data.begin(), same->data.end(), tensor.data.begin(), tensor.data.end()));
  }
}

// A transformer of a thousand blocks has 12,000 tensors, and three times as many with moments.
TEST(Safetensors, return_any_number_of_tensors) {
  const float one = 1;
  std::vector<NamedTensor> tensors;
  for (int i = 0; i < 40'000; ++i)
    tensors.push_back(
        {std::to_string(i), DType::fp32, Shape{1}, std::as_bytes(std::span(&one, 1))});
  const std::string file = write_safetensors(tensors);
  const auto read = read_safetensors(file, "x.safetensors");
  ASSERT_TRUE(read) << base::to_string(read.error());
  EXPECT_EQ(read->size(), tensors.size());
}

TEST(Safetensors, have_the_layout_of_the_format) {
  const std::vector<float> weights{1, 2};
  const std::vector<NamedTensor> tensors{
      {"w", DType::fp32, Shape{2}, std::as_bytes(std::span(weights))}};
  const std::string header = R"({"w":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}})";
  const std::string file = write_safetensors(tensors);
  std::uint64_t length = 0;
  std::memcpy(&length, file.data(), sizeof length);
  EXPECT_EQ(length % 8, 0U);
  EXPECT_EQ(file.substr(8, header.size()), header);
  EXPECT_EQ(file.substr(8 + header.size(), length - header.size()),
            std::string(length - header.size(), ' '));
  EXPECT_EQ(file.substr(8 + length), std::string(reinterpret_cast<const char*>(weights.data()), 8));
}

TEST(Safetensors, may_be_empty_and_have_metadata) {
  EXPECT_EQ(refusal("{}", 0), kNone);
  EXPECT_EQ(refusal(write_safetensors({})), kNone);
  EXPECT_EQ(
      refusal(R"({"__metadata__":{"format":"pt"},)" + entry("w", "F32", "[1]", "[0,4]") + "}   ",
              4),
      kNone);
  EXPECT_NE(refusal(R"({"__metadata__":{"format":1}})", 0), kNone);
}

TEST(Safetensors, refuse_a_header_with_a_wrong_length) {
  EXPECT_THAT(refusal(""), AllOf(kBad, Reports("8 bytes")));
  for (const std::uint64_t claim : {~std::uint64_t{0}, std::uint64_t{1} << 63, std::uint64_t{3}}) {
    std::string file = file_of("{}", 0);
    std::memcpy(file.data(), &claim, sizeof claim);
    EXPECT_THAT(refusal(file), AllOf(kBad, Reports(std::to_string(claim)))) << claim;
  }
  EXPECT_THAT(refusal("{" + std::string(std::size_t{17} << 20, ' ') + "}", 0),
              AllOf(kBad, Reports(std::to_string((std::size_t{17} << 20) + 2))));
}

TEST(Safetensors, refuse_a_header_that_is_not_an_object_of_tensors) {
  for (const char* header : {"", "[]", "null", " {}", "{", "{}x", "{\"w\":1}", "{\"w\":{}}",
                             "{\"w\":{\"dtype\":\"F32\",\"shape\":[]}}", "\xff"})
    EXPECT_NE(refusal(header, 0), kNone) << header;
  EXPECT_NE(refusal("{" + entry("w", "F32", "[1]", "[0,4],\"more\":1") + "}", 4), kNone);
  EXPECT_NE(refusal(std::string(100'000, '{'), 0), kNone);
}

TEST(Safetensors, refuse_a_duplicate_name) {
  EXPECT_THAT(refusal("{" + entry("w", "F32", "[1]", "[0,4]") + "," +
                          entry("w", "F32", "[1]", "[4,8]") + "}",
                      8),
              AllOf(IsProblem("bad_json", "x.safetensors, header"), Reports("\"w\"")));
}

TEST(Safetensors, refuse_invalid_types_shapes_and_offsets) {
  const auto one = [](const char* dtype, const char* shape, const char* offsets) {
    return refusal("{" + entry("w", dtype, shape, offsets) + "}", 8);
  };
  EXPECT_EQ(one("F32", "[2]", "[0,8]"), kNone);
  EXPECT_EQ(one("F64", "[1,1,1,1]", "[0,8]"), kNone);
  EXPECT_THAT(one("I64", "[1]", "[0,8]"), AllOf(kBad, Reports("dtype")));
  EXPECT_THAT(one("f32", "[2]", "[0,8]"), AllOf(kBad, Reports("dtype")));
  for (const char* shape : {"[-1]", "[1.0]", "2", "{}", "[\"2\"]", "[1,1,1,1,2]",
                            "[18446744073709551615]", "[1e300]", "[null]"})
    EXPECT_THAT(one("F32", shape, "[0,8]"), AllOf(kBad, Reports("shape"))) << shape;
  for (const char* shape : {"[1]", "[3]", "[4611686018427387904]", "[4294967296,4294967296,2]",
                            "[0]", "[1152921504606846976,1152921504606846976]"})
    EXPECT_NE(one("F32", shape, "[0,8]"), kNone) << shape;
  for (const char* offsets : {"[0,9]", "[8,0]", "[0]", "[0,4,8]", "[-1,7]", "[0.0,8.0]",
                              "[18446744073709551608,0]", "8", "[0,18446744073709551615]"})
    EXPECT_THAT(one("F32", "[2]", offsets), AllOf(kBad, Reports("offsets"))) << offsets;
}

TEST(Safetensors, refuse_overlaps_gaps_and_unused_bytes) {
  const auto two = [](const char* a, const char* b, std::size_t bytes) {
    return refusal("{" + entry("a", "F32", "[2]", a) + "," + entry("b", "F32", "[2]", b) + "}",
                   bytes);
  };
  EXPECT_EQ(two("[0,8]", "[8,16]", 16), kNone);
  EXPECT_EQ(two("[8,16]", "[0,8]", 16), kNone);
  EXPECT_THAT(two("[0,8]", "[4,12]", 12), AllOf(kBad, Reports("overlap")));
  EXPECT_THAT(two("[0,8]", "[0,8]", 8), AllOf(kBad, Reports("overlap")));
  EXPECT_THAT(two("[0,8]", "[12,20]", 20), AllOf(kBad, Reports("gap")));
  EXPECT_THAT(two("[4,12]", "[12,20]", 20), AllOf(kBad, Reports("gap")));
  EXPECT_THAT(two("[0,8]", "[8,16]", 17), AllOf(kBad, Reports("1 B")));
}

TEST(Safetensors, refuse_or_read_damaged_files_safely) {
  const std::vector<float> weights(16, 1);
  const std::vector<NamedTensor> tensors{
      {"a", DType::fp32, Shape{4, 2}, std::as_bytes(std::span(weights).first(8))},
      {"b", DType::fp32, Shape{8}, std::as_bytes(std::span(weights).last(8))}};
  const std::string good = write_safetensors(tensors);
  std::mt19937_64 random(5);
  int refused = 0;
  for (int i = 0; i < 20'000; ++i) {
    std::string file = good;
    for (std::size_t j = 0; j <= random() % 3; ++j)
      file[random() % 130] = static_cast<char>(random() % 2 == 0 ? random() : '0' + random() % 10);
    if (random() % 8 == 0) file.resize(random() % file.size());
    refused += refusal(file) == kNone ? 0 : 1;
  }
  EXPECT_GT(refused, 15'000);
}

}  // namespace
}  // namespace trainyard::session
