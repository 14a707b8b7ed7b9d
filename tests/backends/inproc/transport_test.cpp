// SPDX-License-Identifier: GPL-3.0-or-later
#include "backends/inproc/transport.h"

#include "tests/conformance/shaped_backend.h"
#include "tests/conformance/transport_conformance.h"
#include "tests/conformance/transport_faults.h"

namespace trainyard::conformance {
namespace {

Backend inproc_backend() {
  const auto prepare = [](const Shape& shape) -> Opener {
    auto ends = inproc::make(shape.ranks, shape.arena_bytes, {shape.channels});
    if (!ends) return [problem = ends.error()](int, std::uint32_t) { return base::fail(problem); };
    auto held = std::make_shared<std::vector<std::unique_ptr<Transport>>>(std::move(*ends));
    return [held](int rank, std::uint32_t) {
      return std::move((*held)[static_cast<std::size_t>(rank)]);
    };
  };
  return {"inproc", prepare, true, false, {}};
}

INSTANTIATE_TEST_SUITE_P(inproc, TransportConformance, testing::Values(inproc_backend()));
INSTANTIATE_TEST_SUITE_P(shaped_inproc, TransportConformance,
                         testing::Values(shaped(inproc_backend())));
INSTANTIATE_TEST_SUITE_P(inproc, TransportFaults, testing::Values(inproc_backend()));
INSTANTIATE_TEST_SUITE_P(shaped_inproc, TransportFaults, testing::Values(shaped(inproc_backend())));

TEST(InprocTransport, peers_read_the_same_memory_at_any_address) {
  auto ends = inproc::make(2, 4096);
  ASSERT_TRUE(good(ends));
  const std::vector<std::byte> elsewhere(std::size_t{1} << 20);
  for (const std::span<const std::byte> bytes :
       {std::span<const std::byte>((*ends)[0]->arena()), std::span<const std::byte>(elsewhere)}) {
    ASSERT_TRUE(good((*ends)[0]->post(1, 0, tag_of(0), bytes)));
    const auto message = (*ends)[1]->receive(0, 0);
    ASSERT_TRUE(good(message));
    EXPECT_EQ((*message)->bytes.data(), bytes.data());
    ASSERT_TRUE(good((*ends)[1]->release(0, 0)));
  }
}

TEST(InprocTransport, channels_can_be_used_by_threads_of_one_rank) {
  auto made = inproc::make(2, 0, {4});
  ASSERT_TRUE(good(made));
  auto& ends = *made;
  std::vector<std::thread> lanes;
  for (int channel = 0; channel < 4; ++channel)
    for (int rank = 0; rank < 2; ++rank)
      lanes.emplace_back([&, channel, rank] {
        for (int op = 0; op < 500; ++op) {
          const int self = rank, peer = 1 - rank;
          ASSERT_TRUE(good(comm::await_post(*ends[static_cast<std::size_t>(self)], peer, channel,
                                            tag_of(op), {}, patient)));
          ASSERT_TRUE(good(comm::await_expected(*ends[static_cast<std::size_t>(self)], peer,
                                                channel, {tag_of(op), 0}, patient)));
          ASSERT_TRUE(good(ends[static_cast<std::size_t>(self)]->release(peer, channel)));
        }
      });
  for (std::thread& lane : lanes) lane.join();
}

TEST(InprocTransport, refuses_an_empty_group) {
  EXPECT_FALSE(inproc::make(0, 0));
  EXPECT_FALSE(inproc::make(2, 0, {0}));
}

}  // namespace
}  // namespace trainyard::conformance
