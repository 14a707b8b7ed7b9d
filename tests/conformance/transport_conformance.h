// SPDX-License-Identifier: GPL-3.0-or-later
// Requirements on every transport. A backend's test file includes this once and names its backend:
//
// INSTANTIATE_TEST_SUITE_P(shm, TransportConformance, testing::Values(shm_backend()));
#pragma once

#include <atomic>
#include <barrier>

#include "core/compute/ops.h"
#include "tests/conformance/processes.h"
#include "tests/conformance/transport_backend.h"

namespace trainyard::conformance {

class TransportConformance : public testing::TestWithParam<Backend> {};

TEST_P(TransportConformance, messages_keep_their_order) {
  in_threads(GetParam(), {}, [](Transport& end) {
    constexpr int count = 2000;
    for (int op = 0; op < count; ++op) {
      if (end.rank() == 0) {
        ASSERT_TRUE(good(comm::await_post(end, 1, 0, tag_of(op), {}, patient)));
      } else {
        ASSERT_TRUE(good(comm::await_expected(end, 0, 0, {tag_of(op), 0}, patient)));
        ASSERT_TRUE(good(end.release(0, 0)));
      }
    }
    if (end.rank() == 1) return;
    EXPECT_TRUE(good(comm::await_consumed(end, 1, 0, count, patient)));
  });
}

TEST_P(TransportConformance, messages_of_every_size_arrive_completely) {
  const std::size_t largest = std::size_t{3} << 20;
  Group ends(GetParam(), {2, 2, largest});
  const auto memory = ends.postable(*ends[0], largest);
  int op = 0;
  for (const std::size_t size :
       {std::size_t{0}, std::size_t{1}, std::size_t{7}, std::size_t{64}, std::size_t{65},
        std::size_t{4095}, std::size_t{8192}, std::size_t{8193}, std::size_t{65537},
        std::size_t{1000003}, largest}) {
    SCOPED_TRACE(size);
    fill(memory.first(size), static_cast<unsigned>(op));
    pass(*ends[0], *ends[1], 0, op++, memory.first(size));
    ASSERT_TRUE(
        good(comm::await_consumed(*ends[0], 1, 0, static_cast<std::uint64_t>(op), patient)));
  }
}

TEST_P(TransportConformance, message_of_a_quarter_gibibyte_arrives_completely) {
  const std::size_t size = std::size_t{256} << 20;
  Group ends(GetParam(), {2, 1, size});
  const auto memory = ends.postable(*ends[0], size);
  for (std::size_t i = 0; i < size; i += 4096)
    fill(memory.subspan(i, 16), static_cast<unsigned>(i >> 12));
  pass(*ends[0], *ends[1], 0, 0, memory);
  EXPECT_TRUE(good(comm::await_consumed(*ends[0], 1, 0, 1, patient)));
}

// Every rank sends to every other on every channel and checks what comes.
inline std::string exchange_with_all(Transport& end, int channels, int messages) {
  const std::size_t size = 1000;
  std::vector<std::byte> own;
  const auto memory = postable(end, own, size);
  fill(memory, static_cast<unsigned>(end.rank()));
  for (int op = 0; op < messages; ++op)
    for (int channel = 0; channel < channels; ++channel) {
      for (int peer = 0; peer < end.ranks(); ++peer)
        if (peer != end.rank())
          if (auto ok = comm::await_post(end, peer, channel, tag_of(op), memory, patient); !ok)
            return to_string(ok.error());
      for (int peer = 0; peer < end.ranks(); ++peer) {
        if (peer == end.rank()) continue;
        const auto message = comm::await_expected(end, peer, channel, {tag_of(op), size}, patient);
        if (!message) return to_string(message.error());
        if (!is_filled(message->bytes, static_cast<unsigned>(peer)))
          return "wrong bytes from rank " + std::to_string(peer);
        if (auto ok = end.release(peer, channel); !ok) return to_string(ok.error());
      }
    }
  for (int channel = 0; channel < channels; ++channel)
    for (int peer = 0; peer < end.ranks(); ++peer)
      if (peer != end.rank())
        if (auto ok = comm::await_consumed(end, peer, channel, static_cast<std::uint64_t>(messages),
                                           patient);
            !ok)
          return to_string(ok.error());
  return "";
}

TEST_P(TransportConformance, eight_ranks_exchange_messages_pairwise) {
  in_threads(GetParam(), {8, 2, 4096},
             [](Transport& end) { EXPECT_EQ(exchange_with_all(end, 2, 20), ""); });
}

TEST_P(TransportConformance, full_channel_is_reported_blocks_no_other_and_recovers) {
  Group ends(GetParam(), {2, 2, 4096});
  const auto memory = ends.postable(*ends[0], 64);
  int posted = 0;
  for (; posted < 100'000; ++posted) {
    const auto room = ends[0]->post(1, 0, tag_of(posted), memory);
    ASSERT_TRUE(good(room));
    if (!*room) break;
  }
  ASSERT_GT(posted, 1);
  ASSERT_LT(posted, 100'000) << "the channel is never full";
  pass(*ends[0], *ends[1], 1, 7, memory);
  for (int op = 0; op < posted; ++op) {
    ASSERT_TRUE(good(comm::await_expected(*ends[1], 0, 0, {tag_of(op), 64}, patient)));
    ASSERT_TRUE(good(ends[1]->release(0, 0)));
  }
  ASSERT_TRUE(
      good(comm::await_consumed(*ends[0], 1, 0, static_cast<std::uint64_t>(posted), patient)));
  pass(*ends[0], *ends[1], 0, posted, memory);
}

TEST_P(TransportConformance, receive_returns_the_same_message_until_it_is_released) {
  Group ends(GetParam(), {});
  for (int op = 0; op < 2; ++op)
    ASSERT_TRUE(good(comm::await_post(*ends[0], 1, 0, tag_of(op), {}, patient)));
  for (int again = 0; again < 3; ++again)
    EXPECT_TRUE(good(comm::await_expected(*ends[1], 0, 0, {tag_of(0), 0}, patient)));
  ASSERT_TRUE(good(ends[1]->release(0, 0)));
  EXPECT_TRUE(good(comm::await_expected(*ends[1], 0, 0, {tag_of(1), 0}, patient)));
  EXPECT_TRUE(good(comm::await_consumed(*ends[0], 1, 0, 1, patient)));
  EXPECT_EQ(ends[0]->consumed(1, 0), 1u);
}

TEST_P(TransportConformance, messages_in_the_arena_are_read_in_place) {
  if (!GetParam().in_place) GTEST_SKIP() << "this transport copies between memories";
  Group ends(GetParam(), {});
  const auto memory = ends[0]->arena().subspan(128, 1000);
  ASSERT_TRUE(good(comm::await_post(*ends[0], 1, 0, tag_of(0), memory, patient)));
  const auto message = comm::await_expected(*ends[1], 0, 0, {tag_of(0), 1000}, patient);
  ASSERT_TRUE(good(message));
  EXPECT_EQ(message->bytes[999], std::byte{0});
  memory[999] = std::byte{42};  // what no user may do shows that there is one memory only
  EXPECT_EQ(message->bytes[999], std::byte{42});
}

TEST_P(TransportConformance, messages_outside_the_arena_are_copied) {
  Group ends(GetParam(), {});
  for (int op = 0; op < 40; ++op) {
    std::vector<std::byte> outside(static_cast<std::size_t>(1 + op * 100));
    fill(outside, static_cast<unsigned>(op));
    pass(*ends[0], *ends[1], 1, op, outside);
    ASSERT_TRUE(
        good(comm::await_consumed(*ends[0], 1, 1, static_cast<std::uint64_t>(op) + 1, patient)));
  }
}

TEST_P(TransportConformance, both_ends_count_equal_bytes) {
  Group ends(GetParam(), {});
  const auto memory = ends.postable(*ends[0], 1000);
  for (int op = 0; op < 5; ++op)
    pass(*ends[0], *ends[1], op % 2, op, memory.first(static_cast<std::size_t>(op) * 100));
  ASSERT_TRUE(good(comm::await_consumed(*ends[0], 1, 0, 3, patient)));
  ASSERT_TRUE(good(comm::await_consumed(*ends[0], 1, 1, 2, patient)));
  const comm::Traffic sent = ends[0]->traffic(1), received = ends[1]->traffic(0);
  EXPECT_EQ(sent.sent_payload_bytes, 1000u);
  EXPECT_EQ(received.received_payload_bytes, 1000u);
  EXPECT_EQ(sent.sent_messages, 5u);
  EXPECT_EQ(received.received_messages, 5u);
  EXPECT_GT(sent.sent_header_bytes, 0u);
  EXPECT_EQ(sent.sent_header_bytes, received.received_header_bytes);
  EXPECT_EQ(sent.received_header_bytes, received.sent_header_bytes);
  EXPECT_EQ(sent.received_payload_bytes, 0u);
}

TEST_P(TransportConformance, invalid_arguments_are_problems) {
  Group ends(GetParam(), {});
  Transport& end = *ends[0];
  for (const auto& [peer, channel] :
       {std::pair(0, 0), std::pair(2, 0), std::pair(-1, 0), std::pair(1, 2), std::pair(1, -1)}) {
    EXPECT_FALSE(end.post(peer, channel, tag_of(0), {})) << peer << " " << channel;
    EXPECT_FALSE(end.consumed(peer, channel)) << peer << " " << channel;
    EXPECT_FALSE(end.receive(peer, channel)) << peer << " " << channel;
    EXPECT_FALSE(end.release(peer, channel)) << peer << " " << channel;
  }
  EXPECT_FALSE(end.release(1, 0)) << "no message was received that could be released";
  EXPECT_TRUE(good(end.state())) << "an invalid call does not affect other ranks";
}

TEST_P(TransportConformance, wait_ends_at_its_time_limit_and_when_woken) {
  Group ends(GetParam(), {});
  for (int i = 0; i < 10; ++i)
    ends[0]->wait(milliseconds(1));  // nothing comes; would hang forever if the limit were not kept
  std::atomic<bool> stop{false};
  std::thread waker([&] {
    while (!stop) ends[0]->wake();
  });
  for (int i = 0; i < 10; ++i) ends[0]->wait(seconds(1000));
  stop = true;
  waker.join();
}

TEST_P(TransportConformance, abort_wakes_waiting_ranks_and_the_first_reason_is_kept) {
  std::barrier connected(3);
  in_threads(GetParam(), {3, 1, 4096}, [&](Transport& end) {
    EXPECT_EQ(exchange_with_all(end, 1, 1), "");
    connected.arrive_and_wait();
    const base::Problem first{
        "made_by_test", base::ProblemCode::canceled, "rank 1", "a test stopped the run", "",
        "none"};
    if (end.rank() == 1) end.abort(first);
    const auto message =
        comm::await_expected(end, (end.rank() + 1) % 3, 0, {tag_of(1), 0}, patient);
    ASSERT_FALSE(message);
    EXPECT_EQ(message.error(), first);
    end.abort({"made_later", base::ProblemCode::failed, "", "a later reason", "", ""});
    EXPECT_EQ(end.state().error(), first);
    EXPECT_FALSE(end.post((end.rank() + 1) % 3, 0, tag_of(1), {}));
  });
}

TEST_P(TransportConformance,
       messages_posted_before_leaving_arrive_and_later_receives_name_the_rank) {
  Group ends(GetParam(), {});
  const auto memory = ends.postable(*ends[0], 5000);
  fill(memory, 3);
  ASSERT_TRUE(good(comm::await_post(*ends[0], 1, 0, tag_of(0), memory, patient)));
  std::thread leaver([&] { ends[0].reset(); });
  const auto message = comm::await_expected(*ends[1], 0, 0, {tag_of(0), 5000}, patient);
  leaver.join();
  ASSERT_TRUE(good(message));
  EXPECT_TRUE(is_filled(message->bytes, 3));
  ASSERT_TRUE(good(ends[1]->release(0, 0)));
  const auto more = comm::await_expected(*ends[1], 0, 0, {tag_of(1), 0}, patient);
  ASSERT_FALSE(more);
  EXPECT_EQ(more.error().id, "peer_left") << to_string(more.error());
  EXPECT_NE(more.error().what.find("rank 0 "), std::string::npos);
}

TEST_P(TransportConformance, processes_exchange_messages_pairwise) {
  if (!GetParam().processes) GTEST_SKIP() << "ranks are threads";
  const Opener opener = GetParam().prepare({4, 2, 4096});
  Processes ranks(4, [&](int rank, const Processes::Ready&) -> std::string {
    const auto end = opener(rank);
    return end ? exchange_with_all(**end, 2, 50) : to_string(end.error());
  });
  for (int rank = 0; rank < 4; ++rank) EXPECT_TRUE(ranks.ended_well(rank)) << rank;
}

TEST_P(TransportConformance, killed_process_is_named_by_the_remaining_ones) {
  if (!GetParam().processes) GTEST_SKIP() << "ranks are threads";
  const Opener opener = GetParam().prepare({3, 1, 4096});
  Processes ranks(3, [&](int rank, const Processes::Ready& ready) -> std::string {
    const auto end = opener(rank);
    if (!end) return to_string(end.error());
    if (const std::string wrong = exchange_with_all(**end, 1, 1); !wrong.empty()) return wrong;
    ready();
    if (rank == 2) ::pause();
    const auto message = comm::await_expected(**end, 2, 0, {tag_of(1), 0}, patient);
    if (message) return "a message from the dead";
    const std::string text = to_string(message.error());
    return message.error().code == base::ProblemCode::failed &&
                   text.find("rank 2") != std::string::npos
               ? ""
               : "the death is not named: " + text;
  });
  ASSERT_TRUE(ranks.wait_until_ready(3));
  ranks.kill(2);
  for (int rank = 0; rank < 2; ++rank) EXPECT_TRUE(ranks.ended_well(rank)) << rank;
}

}  // namespace trainyard::conformance
