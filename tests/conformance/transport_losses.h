// SPDX-License-Identifier: GPL-3.0-or-later
// Loss of a peer that may be lost: other peers are not affected, and a new process replaces it.
// Included together with transport_conformance.h.
#pragma once

#include "core/compute/ops.h"
#include "tests/conformance/processes.h"
#include "tests/conformance/transport_backend.h"

namespace trainyard::conformance {

class TransportLosses : public testing::TestWithParam<Backend> {
 protected:
  static void await_loss(Transport& end, int peer) {
    for (const auto limit = std::chrono::steady_clock::now() + patient; !end.has_lost(peer);
         end.wait(milliseconds(5)))
      ASSERT_LT(std::chrono::steady_clock::now(), limit) << "rank " << peer << " is not missed";
  }
  // Passes a message of generation 2, in both directions.
  static void pass_again(Transport& from, Transport& to, std::uint32_t op,
                         std::span<const std::byte> bytes) {
    const Tag tag{2, 0, op};
    ASSERT_TRUE(good(comm::await_post(from, to.rank(), 0, tag, bytes, patient)));
    const auto message = comm::await_expected(to, from.rank(), 0, {tag, bytes.size()}, patient);
    ASSERT_TRUE(good(message));
    EXPECT_TRUE(std::memcmp(message->bytes.data(), bytes.data(), bytes.size()) == 0);
    ASSERT_TRUE(good(to.release(from.rank(), 0)));
    ASSERT_TRUE(good(comm::await_consumed(from, to.rank(), 0, op + 1, patient)));
  }
};

TEST_P(TransportLosses, loss_of_a_rank_does_not_affect_others) {
  Group ends(GetParam(), {3, 2, 4096});
  ends[0]->allow_loss(2);
  ends[1]->allow_loss(2);
  EXPECT_FALSE(ends[0]->has_lost(2));
  const auto memory = ends.postable(*ends[0], 100);
  pass(*ends[0], *ends[2], 0, 0, memory);
  pass(*ends[2], *ends[0], 0, 0, ends.postable(*ends[2], 100));
  ASSERT_TRUE(good(comm::await_consumed(*ends[0], 2, 0, 1, patient)));
  ASSERT_TRUE(good(comm::await_post(*ends[0], 2, 0, tag_of(1), memory, patient)))
      << "no rank will read it";
  ends[2].reset();
  await_loss(*ends[0], 2);
  const auto nothing = ends[0]->receive(2, 0);
  ASSERT_TRUE(good(nothing));
  EXPECT_FALSE(*nothing);
  for (int op = 0; op < 100; ++op)
    EXPECT_EQ(ends[0]->post(2, 0, tag_of(op), memory).value_or(false), true)
        << "it is sent nowhere, and fills no window";
  EXPECT_TRUE(good(ends[0]->consumed(2, 0)));
  EXPECT_TRUE(good(ends[0]->state()));
  pass(*ends[0], *ends[1], 1, 0, memory);
  pass(*ends[1], *ends[0], 1, 0, ends.postable(*ends[1], 100));
}

TEST_P(TransportLosses, messages_sent_before_the_loss_arrive) {
  Group ends(GetParam(), {2, 2, 4096});
  ends[0]->allow_loss(1);
  const auto memory = ends.postable(*ends[1], 100);
  fill(memory, 5);
  ASSERT_TRUE(good(comm::await_post(*ends[1], 0, 0, tag_of(0), memory, patient)));
  std::thread leaver([&] { ends[1].reset(); });
  const auto message = comm::await_expected(*ends[0], 1, 0, {tag_of(0), 100}, patient);
  leaver.join();
  ASSERT_TRUE(good(message));
  EXPECT_TRUE(is_filled(message->bytes, 5));
}

TEST_P(TransportLosses, replacement_of_a_lost_rank_starts_with_empty_channels) {
  Group ends(GetParam(), {3, 2, 4096});
  for (const std::size_t rank : {0u, 2u}) ends[rank]->allow_loss(1);
  const auto memory = ends.postable(*ends[0], 300);
  fill(memory, 9);
  pass(*ends[0], *ends[1], 0, 0, memory);
  for (int op = 1; op < 4; ++op)
    ASSERT_TRUE(good(comm::await_post(*ends[0], 1, 0, tag_of(op), memory, patient)));
  for (int op = 0; op < 3; ++op)
    ASSERT_TRUE(
        good(comm::await_post(*ends[1], 0, 0, tag_of(op), ends.postable(*ends[1], 300), patient)));
  ends[1].reset();
  for (const std::size_t rank : {0u, 2u}) {
    await_loss(*ends[rank], 1);
    ASSERT_TRUE(good(ends[rank]->reconnect(1, 2)));
    EXPECT_FALSE(ends[rank]->has_lost(1)) << "there is no process to kill";
  }
  EXPECT_EQ(ends[0]->consumed(1, 0), 0u);
  const auto nothing = ends[0]->receive(1, 0);
  ASSERT_TRUE(good(nothing));
  EXPECT_FALSE(*nothing) << "earlier messages are dropped";
  ends.replace(1);
  ASSERT_NE(ends[1], nullptr);
  const auto own = ends.postable(*ends[1], 300);
  fill(own, 4);
  for (std::uint32_t op = 0; op < 40; ++op) {
    pass_again(*ends[1], *ends[0], op, own);
    pass_again(*ends[0], *ends[1], op, memory);
  }
  pass(*ends[0], *ends[2], 1, 0, memory);
  ends[1].reset();
  await_loss(*ends[0], 1);
  await_loss(*ends[2], 1);
}

TEST_P(TransportLosses, killed_process_is_detected_without_blaming_others) {
  const Opener opener = GetParam().prepare({3, 1, 4096});
  Processes ranks(3, [&](int rank, const Processes::Ready& ready) -> std::string {
    const auto end = opener(rank);
    if (!end) return to_string(end.error());
    (*end)->allow_loss(2);
    const auto meet = [&](int peer) -> std::string {
      if (const auto ok = comm::await_post(**end, peer, 0, tag_of(0), {}, patient); !ok)
        return to_string(ok.error());
      if (const auto message = comm::await_expected(**end, peer, 0, {tag_of(0), 0}, patient);
          !message)
        return to_string(message.error());
      return "";
    };
    for (int peer = 0; peer < 3; ++peer)
      if (const std::string wrong = peer == rank ? "" : meet(peer); !wrong.empty()) return wrong;
    ready();
    if (rank == 2) ::pause();
    for (const auto limit = std::chrono::steady_clock::now() + patient; !(*end)->has_lost(2);
         (*end)->wait(milliseconds(5)))
      if (std::chrono::steady_clock::now() > limit) return "it is not missed";
    for (int peer = 0; peer < 2; ++peer) {
      if (peer == rank) continue;
      if (const auto ok = (*end)->release(peer, 0); !ok) return to_string(ok.error());
      if (const auto ok = comm::await_post(**end, peer, 0, tag_of(1), {}, patient); !ok)
        return to_string(ok.error());
      if (const auto message = comm::await_expected(**end, peer, 0, {tag_of(1), 0}, patient);
          !message)
        return to_string(message.error());
      if (const auto ok = (*end)->release(peer, 0); !ok) return to_string(ok.error());
      if (const auto ok = comm::await_consumed(**end, peer, 0, 2, patient); !ok)
        return to_string(ok.error());
    }
    return "";
  });
  ASSERT_TRUE(ranks.wait_until_ready(3));
  ranks.kill(2);
  for (int rank = 0; rank < 2; ++rank) EXPECT_TRUE(ranks.ended_well(rank)) << rank;
}

}  // namespace trainyard::conformance
