// SPDX-License-Identifier: GPL-3.0-or-later
#include <gmock/gmock.h>

#include <cmath>
#include <cstring>
#include <limits>

#include "tests/backends/gloo/joined_ranks.h"
#include "tests/conformance/reduced_value.h"
#include "tests/problem_matchers.h"

namespace trainyard::gloo {
namespace {

using base::DType;
using base::Reduction;
using comm::CollectiveCall;
using comm::CollectiveKind;
using testing::HasSubstr;

template <class Number>
constexpr DType kDType = sizeof(Number) == 8 ? DType::fp64 : DType::fp32;

// Not whole, and of both signs: orders of adding differ.
template <class Number>
Number given(int rank, std::size_t i) {
  return static_cast<Number>(std::sin(static_cast<double>(i) * 0.7 + rank) * (1 + rank));
}

template <class Number>
double expected(Reduction reduction, int ranks, std::size_t i) {
  return tests::reduced_value(reduction, ranks, [i](int rank) { return given<Number>(rank, i); });
}

template <class Number>
std::vector<std::vector<Number>> all_reduced(const Ranks& ranks, Reduction reduction,
                                             std::size_t elements) {
  std::vector<std::vector<Number>> buffers(ranks.size(), std::vector<Number>(elements));
  in_threads(static_cast<int>(ranks.size()), [&](int rank) {
    const auto r = static_cast<std::size_t>(rank);
    for (std::size_t i = 0; i < elements; ++i) buffers[r][i] = given<Number>(rank, i);
    const std::uint64_t before = ranks[r]->completed(0).value();
    const auto started = ranks[r]->start(
        0, {CollectiveKind::all_reduce, reduction, kDType<Number>, 0,
            reinterpret_cast<std::byte*>(buffers[r].data()), static_cast<std::int64_t>(elements)});
    if (!started) ADD_FAILURE() << base::to_string(started.error());
    if (const auto done = wait_for(*ranks[r], 0, before + 1); !done)
      ADD_FAILURE() << base::to_string(done.error());
  });
  return buffers;
}

template <class Number>
void expect_all_reduce(const Ranks& ranks, Reduction reduction, std::size_t elements) {
  const auto buffers = all_reduced<Number>(ranks, reduction, elements);
  const int n = static_cast<int>(ranks.size());
  const double allowed = static_cast<double>(std::numeric_limits<Number>::epsilon()) * n * n *
                         2;  // the sum of magnitudes is at most n (n + 1) / 2
  for (std::size_t i = 0; i < elements; ++i)
    ASSERT_NEAR(static_cast<double>(buffers[0][i]), expected<Number>(reduction, n, i), allowed)
        << n << " ranks, element " << i << " of " << elements;
  for (const auto& other : buffers)
    ASSERT_TRUE(elements == 0 ||
                std::memcmp(other.data(), buffers[0].data(), elements * sizeof(Number)) == 0)
        << "the same bits on all ranks";
}

class GlooAllReduce : public testing::TestWithParam<int> {};

TEST_P(GlooAllReduce, equals_the_reference_within_rounding_and_bit_for_bit_on_all_ranks) {
  const Ranks ranks = joined(GetParam());
  for (const Reduction reduction :
       {Reduction::sum, Reduction::mean, Reduction::min, Reduction::max})
    for (const std::size_t elements : {std::size_t{0}, std::size_t{1}, std::size_t{7},
                                       std::size_t{1021}, std::size_t{700'001}}) {
      expect_all_reduce<float>(ranks, reduction, elements);
      expect_all_reduce<double>(ranks, reduction, elements);
    }
}

TEST_P(GlooAllReduce, min_and_max_keep_nan_at_any_position) {
  const int n = GetParam();
  const Ranks ranks = joined(n);
  for (const Reduction reduction : {Reduction::min, Reduction::max}) {
    std::vector<std::vector<float>> buffers(ranks.size(),
                                            std::vector<float>(static_cast<std::size_t>(n) + 1));
    in_threads(n, [&](int rank) {
      const auto r = static_cast<std::size_t>(rank);
      for (std::size_t i = 0; i < buffers[r].size(); ++i)
        buffers[r][i] = i == r ? std::numeric_limits<float>::quiet_NaN() : static_cast<float>(rank);
      const std::uint64_t before = ranks[r]->completed(0).value();
      ASSERT_TRUE(ranks[r]->start(0, {CollectiveKind::all_reduce, reduction, DType::fp32, 0,
                                      reinterpret_cast<std::byte*>(buffers[r].data()), n + 1}));
      ASSERT_TRUE(wait_for(*ranks[r], 0, before + 1));
    });
    for (const auto& buffer : buffers) {
      for (std::size_t i = 0; i < buffer.size() - 1; ++i)
        EXPECT_TRUE(std::isnan(buffer[i])) << "rank " << i << " has none";
      EXPECT_EQ(buffer.back(), static_cast<float>(reduction == Reduction::min ? 0 : n - 1))
          << "no rank has a NaN";
    }
  }
}

INSTANTIATE_TEST_SUITE_P(ranks, GlooAllReduce, testing::Range(1, 6));

TEST(Gloo, broadcast_gives_all_ranks_the_buffer_of_the_root) {
  const Ranks ranks = joined(4);
  for (int root = 0; root < 4; ++root) {
    std::vector<std::vector<double>> buffers(4);
    in_threads(4, [&](int rank) {
      const auto r = static_cast<std::size_t>(rank);
      for (std::size_t i = 0; i < 333; ++i) buffers[r].push_back(given<double>(rank, i));
      const std::uint64_t before = ranks[r]->completed(0).value();
      ASSERT_TRUE(ranks[r]->start(0, {CollectiveKind::broadcast, Reduction::sum, DType::fp64, root,
                                      reinterpret_cast<std::byte*>(buffers[r].data()), 333}));
      ASSERT_TRUE(wait_for(*ranks[r], 0, before + 1));
    });
    for (const auto& buffer : buffers)
      for (std::size_t i = 0; i < 333; ++i) ASSERT_EQ(buffer[i], given<double>(root, i));
  }
}

TEST(Gloo, all_gather_collects_unequal_parts_in_place) {
  const Ranks ranks = joined(3);
  std::vector<std::vector<float>> buffers(3, std::vector<float>(8, -1));
  const std::size_t first[] = {0, 3, 6, 8};  // of 8 = 3 + 3 + 2
  in_threads(3, [&](int rank) {
    const auto r = static_cast<std::size_t>(rank);
    for (std::size_t i = first[r]; i < first[r + 1]; ++i) buffers[r][i] = static_cast<float>(i);
    ASSERT_TRUE(ranks[r]->start(0, {CollectiveKind::all_gather, Reduction::sum, DType::fp32, 0,
                                    reinterpret_cast<std::byte*>(buffers[r].data()), 8}));
    ASSERT_TRUE(wait_for(*ranks[r], 0, 1));
  });
  for (const auto& buffer : buffers)
    EXPECT_THAT(buffer, testing::ElementsAre(0, 1, 2, 3, 4, 5, 6, 7));
}

TEST(Gloo, executes_calls_of_a_group_in_order_and_groups_independently) {
  const Ranks ranks = joined(3, {{0, 1}, {2, 1}, {0, 1, 2}});
  std::vector<float> a{1}, b{10}, c{100};
  // Group 0 waits, because rank 0 does not join the call; group 1 continues.
  ASSERT_TRUE(ranks[1]->start(0, {CollectiveKind::all_reduce, Reduction::sum, DType::fp32, 0,
                                  reinterpret_cast<std::byte*>(b.data()), 1}));
  std::vector<float> other{5}, own{7};
  ASSERT_TRUE(ranks[1]->start(1, {CollectiveKind::all_reduce, Reduction::sum, DType::fp32, 0,
                                  reinterpret_cast<std::byte*>(own.data()), 1}));
  ASSERT_TRUE(ranks[2]->start(1, {CollectiveKind::all_reduce, Reduction::sum, DType::fp32, 0,
                                  reinterpret_cast<std::byte*>(other.data()), 1}));
  ASSERT_TRUE(wait_for(*ranks[1], 1, 1));
  ASSERT_TRUE(wait_for(*ranks[2], 1, 1)) << "a rank may still send after another has completed";
  EXPECT_EQ(own[0], 12);
  EXPECT_EQ(ranks[1]->completed(0).value(), 0u);
  ASSERT_TRUE(ranks[0]->start(0, {CollectiveKind::all_reduce, Reduction::sum, DType::fp32, 0,
                                  reinterpret_cast<std::byte*>(a.data()), 1}));
  ASSERT_TRUE(wait_for(*ranks[1], 0, 1));
  ASSERT_TRUE(wait_for(*ranks[0], 0, 1));
  EXPECT_EQ(b[0], 11);
  EXPECT_EQ(ranks[0]->start(1, {}).error().id, "not_a_member");
  EXPECT_EQ(ranks[0]->start(7, {}).error().id, "not_a_member");
}

TEST(Gloo, refuses_unsupported_operations_without_starting_them) {
  const Ranks ranks = joined(2);
  std::vector<float> buffer(4);
  const auto started =
      ranks[0]->start(0, {CollectiveKind::reduce_scatter, Reduction::sum, DType::fp32, 0,
                          reinterpret_cast<std::byte*>(buffer.data()), 4});
  EXPECT_THAT(started.error(),
              testing::AllOf(base::IsProblem("engine_lacks_operation"),
                             base::Reports("reduce_scatter"), base::Reports("fp32")));
  EXPECT_FALSE(supports(CollectiveKind::all_reduce, Reduction::sum, DType::int32));
  EXPECT_TRUE(supports(CollectiveKind::broadcast, Reduction::sum, DType::int32));
  EXPECT_TRUE(ranks[0]->state().has_value()) << "the engine continues";
}

TEST(Gloo, abort_ends_a_wait_for_a_missing_peer) {
  const Ranks ranks = joined(3);
  std::vector<float> buffer(100'000);
  ASSERT_TRUE(ranks[0]->start(0, {CollectiveKind::all_reduce, Reduction::sum, DType::fp32, 0,
                                  reinterpret_cast<std::byte*>(buffer.data()), 100'000}));
  std::thread later([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    ranks[0]->abort(
        {"first_reason", base::ProblemCode::canceled, "", "a test stopped the run", "", ""});
    ranks[0]->abort({"made_by_test", base::ProblemCode::canceled, "", "once more", "", ""});
  });
  const auto begin = std::chrono::steady_clock::now();
  EXPECT_EQ(wait_for(*ranks[0], 0, 1).error().id, "first_reason") << "the first reason stays";
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(10));
  later.join();
  EXPECT_EQ(ranks[0]->state().error().id, "first_reason");
  EXPECT_EQ(ranks[0]->start(0, {}).error().id, "first_reason");
}

TEST(Gloo, names_a_peer_that_has_left) {
  Ranks ranks = joined(4);
  std::vector<std::vector<float>> buffers(4, std::vector<float>(50'000));
  for (const std::size_t r : {0u, 1u, 3u})
    ASSERT_TRUE(ranks[r]->start(0, {CollectiveKind::all_reduce, Reduction::sum, DType::fp32, 0,
                                    reinterpret_cast<std::byte*>(buffers[r].data()), 50'000}));
  ranks[2].reset();
  for (const std::size_t r : {0u, 1u, 3u}) {
    const auto done = wait_for(*ranks[r], 0, 1);
    ASSERT_FALSE(done) << r;
    EXPECT_THAT(done.error(),
                testing::AllOf(base::IsProblem("collective_failed", "rank " + std::to_string(r)),
                               base::Reports("rank 2")));
  }
}

TEST(Gloo, refuses_an_invalid_endpoint) {
  Options options;
  options.groups = {{0, 1}};
  for (const std::string& bad :
       {std::string(), std::string("ipc:///tmp/x"), std::string("zz,zz,;"), std::string("00,;")}) {
    const auto bound = bind(options);
    ASSERT_TRUE(bound);
    const auto joined = (*bound)->connect({(*bound)->endpoint(), bad});
    ASSERT_FALSE(joined) << bad;
    EXPECT_THAT(
        joined.error(),
        base::IsProblem(testing::AnyOf("bad_endpoint", "collectives_not_connected"), "rank 0"))
        << bad;
  }
}

TEST(Gloo, reports_an_address_of_another_machine) {
  Options options;
  options.address = "198.51.100.7";  // reserved for documentation (RFC 5737)
  options.groups = {{0, 1}};
  const auto bound = bind(options);
  ASSERT_FALSE(bound);
  EXPECT_EQ(bound.error().code, base::ProblemCode::unavailable);
  EXPECT_THAT(bound.error(), testing::AllOf(base::IsProblem("cannot_listen", "rank 0"),
                                            base::Reports("198.51.100.7")));
}

}  // namespace
}  // namespace trainyard::gloo
