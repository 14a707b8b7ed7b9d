// SPDX-License-Identifier: GPL-3.0-or-later
// Two parts made one: ranks 0 and 1 on one host, 2 and 3 on another, each pair of hosts joined by a
// second group.
#include "core/comm/routed_transport.h"

#include "backends/inproc/transport.h"
#include "tests/conformance/transport_conformance.h"
#include "tests/conformance/transport_faults.h"
#include "tests/conformance/wrapped_transport.h"
#include "tests/problem_matchers.h"

namespace trainyard::conformance {
namespace {

using Ends = std::vector<std::unique_ptr<Transport>>;

int host_of(int rank) { return rank / 2; }

base::Result<std::unique_ptr<Transport>> join(Ends& near, Ends& far, int rank) {
  std::vector<int> route;
  for (int peer = 0; peer < static_cast<int>(near.size()); ++peer)
    route.push_back(host_of(peer) == host_of(rank) ? 0 : 1);
  Ends parts;
  parts.push_back(std::move(near[static_cast<std::size_t>(rank)]));
  parts.push_back(std::move(far[static_cast<std::size_t>(rank)]));
  return comm::RoutedTransport::make(std::move(parts), std::move(route));
}

Backend routed_backend() {
  const auto prepare = [](const Shape& shape) -> Opener {
    const auto group = [&] {
      return std::make_shared<Ends>(
          std::move(*inproc::make(shape.ranks, shape.arena_bytes, {shape.channels})));
    };
    return [near = group(), far = group()](int rank, std::uint32_t) {
      return join(*near, *far, rank);
    };
  };
  return {"routed", prepare, true, false, {}};
}

INSTANTIATE_TEST_SUITE_P(routed, TransportConformance, testing::Values(routed_backend()));
INSTANTIATE_TEST_SUITE_P(routed, TransportFaults, testing::Values(routed_backend()));

TEST(RoutedTransport, reaches_each_peer_through_its_part) {
  Ends near = std::move(*inproc::make(4, 4096)), far = std::move(*inproc::make(4, 4096));
  const auto end = join(near, far, 0);
  ASSERT_TRUE(good(end));
  for (int peer = 1; peer < 4; ++peer) ASSERT_TRUE(good((*end)->post(peer, 0, tag_of(peer), {})));
  for (std::size_t peer = 1; peer < 4; ++peer) {
    EXPECT_EQ((*near[peer]->receive(0, 0)).has_value(), peer == 1) << peer;
    EXPECT_EQ((*far[peer]->receive(0, 0)).has_value(), peer != 1) << peer;
  }
  EXPECT_EQ((*end)->traffic(2).sent_messages, 1u);
}

class Forgetting final : public WrappedTransport {
 public:
  Forgetting(std::unique_ptr<Transport> inner, std::vector<int>& forgotten)
      : WrappedTransport(std::move(inner)), forgotten_(forgotten) {}
  base::Result<void> reconnect(int peer, std::uint32_t generation) override {
    forgotten_.push_back(peer);
    return WrappedTransport::reconnect(peer, generation);
  }

 private:
  std::vector<int>& forgotten_;
};

// A replacement rank opens one end in the shared memory of its host and one for sockets, for any
// peer.
TEST(RoutedTransport, removes_a_lost_rank_from_every_part) {
  Ends near = std::move(*inproc::make(4, 4096)), far = std::move(*inproc::make(4, 4096));
  std::vector<int> in_near, in_far;
  near[0] = std::make_unique<Forgetting>(std::move(near[0]), in_near);
  far[0] = std::make_unique<Forgetting>(std::move(far[0]), in_far);
  const auto end = join(near, far, 0);
  ASSERT_TRUE(good(end));
  ASSERT_TRUE(good((*end)->reconnect(3, 2)));
  ASSERT_TRUE(good((*end)->reconnect(1, 2)));
  EXPECT_EQ(in_near, (std::vector<int>{3, 1}));
  EXPECT_EQ(in_far, (std::vector<int>{3, 1}));
}

TEST(RoutedTransport, forwards_an_abort_to_the_other_part) {
  Ends near = std::move(*inproc::make(4, 4096)), far = std::move(*inproc::make(4, 4096));
  const auto end = join(near, far, 0);
  ASSERT_TRUE(good(end));
  far[3]->abort({"made_by_test", base::ProblemCode::failed, "rank 3", "broke", "", ""});
  for (int i = 0; i < 3; ++i) (*end)->wait(milliseconds(1));
  ASSERT_FALSE((*end)->state());
  ASSERT_FALSE(near[1]->state());
  EXPECT_THAT(near[1]->state().error(), base::IsProblem("made_by_test", "rank 3"));
}

// Under AddressSanitizer this reads freed memory when the part with the arena goes first.
TEST(RoutedTransport, part_may_send_from_the_arena_of_another_until_it_is_destroyed) {
  for (const bool late_first : {false, true}) {
    Ends near = std::move(*inproc::make(4, 4096)), far = std::move(*inproc::make(4, 0));
    Ends parts;
    parts.push_back(std::move(near[0]));
    parts.push_back(std::make_unique<LateTransport>(std::move(far[0])));
    if (late_first) std::swap(parts[0], parts[1]);
    near.clear();
    const auto end = comm::RoutedTransport::make(
        std::move(parts), {0, late_first ? 1 : 0, late_first ? 0 : 1, late_first ? 0 : 1});
    ASSERT_TRUE(good(end));
    ASSERT_EQ((*end)->arena().size(), 4096u);
    ASSERT_TRUE(good((*end)->post(2, 0, tag_of(0), (*end)->arena().first(1000))));
  }
}

TEST(RoutedTransport, refuses_parts_that_do_not_match) {
  const auto part = [](int ranks, std::size_t rank) {
    return std::move((*inproc::make(ranks, 0))[rank]);
  };
  const auto make = [](std::unique_ptr<Transport> first, std::unique_ptr<Transport> second,
                       std::vector<int> route) {
    Ends parts;
    parts.push_back(std::move(first));
    parts.push_back(std::move(second));
    return comm::RoutedTransport::make(std::move(parts), std::move(route)).has_value();
  };
  EXPECT_FALSE(comm::RoutedTransport::make({}, {}));
  EXPECT_FALSE(make(part(2, 0), part(2, 1), {0, 1}));
  EXPECT_FALSE(make(part(2, 0), part(3, 0), {0, 1}));
  EXPECT_FALSE(make(part(2, 0), part(2, 0), {0}));
  EXPECT_FALSE(make(part(2, 0), part(2, 0), {0, 2}));
  EXPECT_TRUE(make(part(2, 0), part(2, 0), {0, 1}));
}

}  // namespace
}  // namespace trainyard::conformance
