// SPDX-License-Identifier: GPL-3.0-or-later
// The engine by NCCL's library, for which another stands in (tests/backends/nccl/library): what it
// asks of it, and when.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "backends/nccl/nccl.h"
#include "tests/backends/joined_ranks.h"
#include "tests/backends/nccl/stand_in/host_streams.h"
#include "tests/problem_matchers.h"

namespace trainyard::nccl {
namespace {

using base::DType;
using base::Reduction;
using comm::CollectiveCall;
using comm::CollectiveKind;
using comm::in_threads;
using comm::Ranks;
using comm::wait_for;
using testing::HasSubstr;

constexpr const char* kStandIn = TRAINYARD_NCCL;

Options options_of(int rank, const std::vector<std::vector<int>>& groups) {
  Options options;
  options.rank = rank;
  options.groups = groups;
  options.library = kStandIn;
  return options;
}

base::Result<std::unique_ptr<comm::BoundCollectives>> bound(const Options& options) {
  return nccl::bind(options, std::make_unique<HostStreams>());
}

Ranks joined(int count, const std::vector<std::vector<int>>& groups) {
  return comm::joined_by(count, [&](int rank) { return bound(options_of(rank, groups)); });
}
Ranks joined(int count) { return joined(count, {comm::everyone(count)}); }

template <class Number>
CollectiveCall call_on(std::vector<Number>& buffer, CollectiveKind kind,
                       Reduction reduction = Reduction::sum, int root = 0) {
  const DType dtype = sizeof(Number) == 8 ? DType::fp64 : DType::fp32;
  return {kind,
          reduction,
          dtype,
          root,
          reinterpret_cast<std::byte*>(buffer.data()),
          std::ssize(buffer)};
}

// Returns the data of all ranks after a call. Element i of rank r is initially 100 (r + 1) + i.
std::vector<std::vector<double>> after(int count, std::size_t elements, CollectiveKind kind,
                                       Reduction reduction = Reduction::sum, int root = 0) {
  const Ranks ranks = joined(count);
  std::vector<std::vector<double>> buffers(ranks.size());
  in_threads(count, [&](int rank) {
    const auto r = static_cast<std::size_t>(rank);
    for (std::size_t i = 0; i < elements; ++i)
      buffers[r].push_back(100.0 * (rank + 1) + static_cast<double>(i));
    const auto started = ranks[r]->start(0, call_on(buffers[r], kind, reduction, root));
    if (!started) ADD_FAILURE() << base::to_string(started.error());
    if (const auto done = wait_for(*ranks[r], 0, 1); !done)
      ADD_FAILURE() << base::to_string(done.error());
  });
  return buffers;
}

// Returns the rank whose shard contains the element: the first shards are longer by one.
std::size_t owner(std::size_t element, std::size_t elements, std::size_t ranks) {
  const std::size_t part = elements / ranks, longer = elements % ranks;
  return element < longer * (part + 1) ? element / (part + 1)
                                       : longer + (element - longer * (part + 1)) / part;
}

class NcclCalls : public testing::TestWithParam<int> {};

TEST_P(NcclCalls, of_all_kinds_work_in_place) {
  const int n = GetParam();
  const auto ranks = static_cast<std::size_t>(n);
  for (const std::size_t elements : {3 * ranks, 3 * ranks + 1, 5 * ranks - 1}) {
    SCOPED_TRACE(elements);
    const double hundreds = 100.0 * n * (n + 1) / 2;
    const auto sum = after(n, elements, CollectiveKind::all_reduce),
               mean = after(n, elements, CollectiveKind::all_reduce, Reduction::mean),
               sent = after(n, elements, CollectiveKind::broadcast, Reduction::sum, n - 1),
               gathered = after(n, elements, CollectiveKind::all_gather),
               scattered = after(n, elements, CollectiveKind::reduce_scatter);
    for (std::size_t r = 0; r < ranks; ++r)
      for (std::size_t i = 0; i < elements; ++i) {
        const auto place = static_cast<double>(i);
        const std::size_t has = owner(i, elements, ranks);
        ASSERT_EQ(sum[r][i], hundreds + n * place);
        ASSERT_DOUBLE_EQ(mean[r][i], (hundreds + n * place) / n);
        ASSERT_EQ(sent[r][i], 100.0 * n + place);
        ASSERT_EQ(gathered[r][i], 100.0 * static_cast<double>(has + 1) + place);
        if (has == r) {
          ASSERT_EQ(scattered[r][i], hundreds + n * place);
        }
      }
  }
}

INSTANTIATE_TEST_SUITE_P(ranks, NcclCalls, testing::Range(1, 5));

TEST(Nccl, executes_calls_of_a_group_in_order_and_groups_independently) {
  const Ranks ranks = joined(3, {{0, 1}, {2, 1}, {0, 1, 2}});
  std::vector<float> a{1}, b{10}, own{7}, other{5};
  ASSERT_TRUE(ranks[1]->start(
      0, call_on(b, CollectiveKind::all_reduce)));  // for which rank 0 does not come yet
  ASSERT_TRUE(ranks[1]->start(1, call_on(own, CollectiveKind::all_reduce)));
  ASSERT_TRUE(ranks[2]->start(1, call_on(other, CollectiveKind::all_reduce)));
  ASSERT_TRUE(wait_for(*ranks[1], 1, 1));
  EXPECT_EQ(own[0], 12);
  EXPECT_EQ(ranks[1]->completed(0).value(), 0u);
  ASSERT_TRUE(ranks[0]->start(0, call_on(a, CollectiveKind::all_reduce)));
  ASSERT_TRUE(ranks[0]->start(0, call_on(a, CollectiveKind::broadcast)));
  ASSERT_TRUE(ranks[1]->start(0, call_on(b, CollectiveKind::broadcast)));
  ASSERT_TRUE(wait_for(*ranks[1], 0, 2));
  ASSERT_TRUE(wait_for(*ranks[0], 0, 2));
  EXPECT_EQ(b[0], 11);
  EXPECT_EQ(ranks[0]->start(1, {}).error().id, "not_a_member");
  EXPECT_EQ(ranks[0]->start(7, {}).error().id, "not_a_member");
}

// Two stages that send to each other: each waits for what the other computes first, and neither may
// be blocked by that.
TEST(Nccl, call_with_a_late_peer_does_not_block_other_groups) {
  const Ranks ranks = joined(2, {{0, 1}, {1, 0}});
  std::vector<double> outputs{3}, gradients{0}, inputs{0}, its_gradients{5};
  ASSERT_TRUE(ranks[0]->start(
      1, call_on(gradients, CollectiveKind::broadcast)));  // of which rank 1 is the root
  ASSERT_TRUE(ranks[1]->start(0, call_on(inputs, CollectiveKind::broadcast)));
  EXPECT_EQ(ranks[0]->completed(1).value(), 0u);
  ASSERT_TRUE(ranks[0]->start(0, call_on(outputs, CollectiveKind::broadcast)));
  ASSERT_TRUE(wait_for(*ranks[1], 0, 1));
  EXPECT_EQ(inputs[0], 3);
  ASSERT_TRUE(ranks[1]->start(1, call_on(its_gradients, CollectiveKind::broadcast)));
  ASSERT_TRUE(wait_for(*ranks[0], 1, 1));
  EXPECT_EQ(gradients[0], 5);
}

TEST(Nccl, is_refused_with_blocking_launches) {
  ::setenv("CUDA_LAUNCH_BLOCKING", "1", 1);
  const auto refused = bound(options_of(0, {comm::everyone(2)}));
  ::unsetenv("CUDA_LAUNCH_BLOCKING");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().where, "strategy.engine");
  EXPECT_EQ(refused.error().id, "launch_blocking");
}

TEST(Nccl, abort_ends_a_wait_for_a_missing_peer) {
  const Ranks ranks = joined(3);
  std::vector<float> buffer(100'000);
  ASSERT_TRUE(ranks[0]->start(0, call_on(buffer, CollectiveKind::all_reduce)));
  std::thread later([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    ranks[0]->abort(
        {"first_reason", base::ProblemCode::canceled, "", "a test stopped the run", "", ""});
    ranks[0]->abort({"made_by_test", base::ProblemCode::canceled, "", "once more", "", ""});
  });
  EXPECT_EQ(wait_for(*ranks[0], 0, 1).error().id, "first_reason") << "the first reason stays";
  later.join();
  EXPECT_EQ(ranks[0]->state().error().id, "first_reason");
  EXPECT_EQ(ranks[0]->start(0, {}).error().id, "first_reason");
}

TEST(Nccl, ends_the_wait_for_a_peer_that_has_left) {
  std::vector<std::vector<float>> buffers(
      3, std::vector<float>(50'000));  // outlive calls that never are complete
  Ranks ranks = joined(3);
  for (const std::size_t r : {0U, 1U})
    ASSERT_TRUE(ranks[r]->start(0, call_on(buffers[r], CollectiveKind::all_reduce)));
  ranks[2].reset();
  const auto done = wait_for(*ranks[0], 0, 1);
  ASSERT_FALSE(done);
  EXPECT_THAT(done.error(), testing::AllOf(base::IsProblem("collective_failed", "rank 0"),
                                           base::Reports("remote process exited")));
}

// Members of a group send to each other for the first time, which takes both: from then on a
// sender's part of a call is through before the others have it.
void meet(const Ranks& ranks, int group, const std::vector<std::size_t>& members) {
  std::vector<std::vector<double>> buffers(members.size(), std::vector<double>(1));
  in_threads(static_cast<int>(members.size()), [&](int m) {
    const auto at = static_cast<std::size_t>(m);
    if (!ranks[members[at]]->start(group, call_on(buffers[at], CollectiveKind::broadcast)))
      ADD_FAILURE() << m;
    if (const auto done = wait_for(*ranks[members[at]], group, 1); !done)
      ADD_FAILURE() << base::to_string(done.error());
  });
}

TEST(Nccl, delivers_the_last_message_although_its_sender_exits) {
  for (const int count : {2, 3}) {
    SCOPED_TRACE(count);
    Ranks ranks = joined(count);
    std::vector<std::vector<double>> buffers(ranks.size(), std::vector<double>(100'000));
    buffers[0].assign(100'000, 7);
    meet(ranks, 0, count == 2 ? std::vector<std::size_t>{0, 1} : std::vector<std::size_t>{0, 1, 2});
    ASSERT_TRUE(ranks[0]->start(0, call_on(buffers[0], CollectiveKind::broadcast)));
    ASSERT_TRUE(wait_for(*ranks[0], 0, 2));
    std::jthread leaving([&] { ranks[0].reset(); });
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    in_threads(count - 1, [&](int before) {
      const auto r = static_cast<std::size_t>(before) + 1;
      if (!ranks[r]->start(0, call_on(buffers[r], CollectiveKind::broadcast))) ADD_FAILURE() << r;
      if (const auto done = wait_for(*ranks[r], 0, 2); !done)
        ADD_FAILURE() << base::to_string(done.error());
      EXPECT_EQ(buffers[r], std::vector<double>(100'000, 7));
    });
    leaving.join();
  }
}

std::chrono::milliseconds time_of(const std::function<void()>& work) {
  const auto begun = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::steady_clock::now() -
                                                               begun);
}

TEST(Nccl, ends_immediately_after_its_peer_has_left) {
  Ranks ranks = joined(3, {{0, 1}, {0, 2}});
  std::vector<double> lost(100'000, 7), sent(lost), received(lost.size());
  meet(ranks, 0, {0, 1});
  meet(ranks, 1, {0, 2});
  ASSERT_TRUE(ranks[0]->start(0, call_on(lost, CollectiveKind::broadcast)));
  ASSERT_TRUE(ranks[0]->start(1, call_on(sent, CollectiveKind::broadcast)));
  ASSERT_TRUE(wait_for(*ranks[0], 0, 2));
  ASSERT_TRUE(wait_for(*ranks[0], 1, 2));
  EXPECT_TRUE(ranks[0]->state());
  ranks[1]->abort({"made_by_test", base::ProblemCode::failed, "", "is gone", "", ""});
  std::jthread leaving(
      [&] { EXPECT_LT(time_of([&] { ranks[0].reset(); }), std::chrono::seconds(30)); });
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  ASSERT_TRUE(ranks[2]->start(1, call_on(received, CollectiveKind::broadcast)));
  EXPECT_TRUE(wait_for(*ranks[2], 1, 2)) << "of another group, which has all its members";
  EXPECT_EQ(received, sent);
  leaving.join();
}

TEST(Nccl, ends_in_time_if_its_peer_no_longer_receives) {
  Ranks ranks = comm::joined_by(2, [&](int rank) {
    Options options = options_of(rank, {{0, 1}});
    options.parting = std::chrono::milliseconds(200);
    return bound(options);
  });
  std::vector<double> buffer(10);
  meet(ranks, 0, {0, 1});
  ASSERT_TRUE(ranks[0]->start(0, call_on(buffer, CollectiveKind::broadcast)));
  ASSERT_TRUE(wait_for(*ranks[0], 0, 2));
  const auto took = time_of([&] { ranks[0].reset(); });
  EXPECT_GE(took, std::chrono::milliseconds(200));
  EXPECT_LT(took, std::chrono::seconds(30));
}

TEST(Nccl, that_was_stopped_does_not_wait) {
  Ranks ranks = joined(2);
  std::vector<double> buffer(10);
  meet(ranks, 0, {0, 1});
  ASSERT_TRUE(ranks[0]->start(0, call_on(buffer, CollectiveKind::broadcast)));
  ASSERT_TRUE(wait_for(*ranks[0], 0, 2));
  ranks[0]->abort(
      {"made_by_test", base::ProblemCode::canceled, "", "a test stopped the run", "", ""});
  EXPECT_LT(time_of([&] { ranks[0].reset(); }), std::chrono::seconds(30));
}

TEST(Nccl, that_was_stopped_before_its_peer_joined_does_not_wait) {
  Ranks ranks = joined(2);
  std::vector<double> buffer(10);
  ASSERT_TRUE(ranks[0]->start(0, call_on(buffer, CollectiveKind::broadcast)));
  EXPECT_EQ(ranks[0]->completed(0).value(), 0u);
  ranks[0]->abort(
      {"made_by_test", base::ProblemCode::canceled, "", "a test stopped the run", "", ""});
  EXPECT_LT(time_of([&] { ranks[0].reset(); }), std::chrono::seconds(30));
}

TEST(Nccl, supports_neither_minimum_nor_sums_of_bytes) {
  const Ranks ranks = joined(2);
  std::vector<float> buffer(4);
  EXPECT_EQ(
      ranks[0]->start(0, call_on(buffer, CollectiveKind::all_reduce, Reduction::min)).error().id,
      "engine_lacks_operation");
  EXPECT_FALSE(supports(CollectiveKind::reduce_scatter, Reduction::sum, DType::byte));
  EXPECT_TRUE(supports(CollectiveKind::broadcast, Reduction::sum, DType::byte));
  EXPECT_TRUE(ranks[0]->state()) << "the engine continues";
}

TEST(Nccl, refuses_an_invalid_endpoint) {
  for (const std::string& bad : {std::string(), std::string("ipc:///tmp/x"), std::string("zz;"),
                                 std::string(256, 'x') + ";"}) {
    const auto one = bound(options_of(1, {{0, 1}}));
    ASSERT_TRUE(one);
    const auto made = (*one)->connect({bad, (*one)->endpoint()});
    ASSERT_FALSE(made) << bad;
    EXPECT_EQ(made.error().id, "bad_endpoint");
  }
}

TEST(Nccl, that_is_missing_or_another_library_is_a_problem) {
  Options options = options_of(0, {{0, 1}});
  options.library = "libnccl-nowhere.so";
  const auto absent = bound(options);
  ASSERT_FALSE(absent);
  EXPECT_EQ(absent.error().code, base::ProblemCode::unavailable);
  EXPECT_EQ(absent.error().id, "library_unavailable");
  EXPECT_EQ(absent.error().where, "libnccl-nowhere.so");
  options.library = "libm.so.6";
  EXPECT_EQ(bound(options).error().id, "library_unavailable");
  options.library = TRAINYARD_OLD_NCCL;
  const auto old = bound(options);
  ASSERT_FALSE(old);
  EXPECT_EQ(old.error().code, base::ProblemCode::unavailable);
  EXPECT_EQ(old.error().id, "library_unavailable");
}

}  // namespace
}  // namespace trainyard::nccl
