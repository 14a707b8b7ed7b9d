// SPDX-License-Identifier: GPL-3.0-or-later
// A message that is lost, repeated or cut is noticed by the receiver. Included beside
// transport_conformance.h.
#pragma once

#include "tests/conformance/faulty_transport.h"
#include "tests/conformance/transport_backend.h"

namespace trainyard::conformance {

class TransportFaults : public testing::TestWithParam<Backend> {
 protected:
  // Sends three messages of 100 bytes over a transport with this fault and returns what the
  // receiver says of the whole. `last`: how long it waits for the third.
  base::Result<void> send_three(Fault fault, std::uint64_t at, milliseconds last = patient) {
    Group ends(GetParam(), {});
    FaultyTransport sender(std::move(ends[0]), fault, at);
    const auto memory = ends.postable(sender, 100);
    for (int op = 0; op < 3; ++op)
      if (auto ok = comm::await_post(sender, 1, 0, tag_of(op), memory, patient); !ok) return ok;
    for (int op = 0; op < 3; ++op) {
      const auto message =
          comm::await_expected(*ends[1], 0, 0, {tag_of(op), 100}, op == 2 ? last : patient);
      if (!message) return base::fail(message.error());
      if (auto ok = ends[1]->release(0, 0); !ok) return ok;
    }
    return comm::await_consumed(sender, 1, 0, 3, patient);
  }
};

TEST_P(TransportFaults, messages_without_a_fault_arrive) {
  EXPECT_TRUE(good(send_three(Fault::drop, 99)));
}

TEST_P(TransportFaults, dropped_message_is_detected_by_its_tag) {
  const auto result = send_three(Fault::drop, 1);
  ASSERT_FALSE(result);
  EXPECT_NE(result.error().what.find("op 2"), std::string::npos) << to_string(result.error());
  EXPECT_NE(result.error().accepted.find("op 1"), std::string::npos) << to_string(result.error());
}

TEST_P(TransportFaults, repeated_message_is_detected_by_its_tag) {
  const auto result = send_three(Fault::repeat, 0);
  ASSERT_FALSE(result);
  EXPECT_NE(result.error().what.find("op 0"), std::string::npos) << to_string(result.error());
  EXPECT_NE(result.error().accepted.find("op 1"), std::string::npos) << to_string(result.error());
}

TEST_P(TransportFaults, truncated_message_is_detected_by_its_length) {
  const auto result = send_three(Fault::shorten, 2);
  ASSERT_FALSE(result);
  EXPECT_NE(result.error().what.find("50 bytes"), std::string::npos) << to_string(result.error());
  EXPECT_EQ(result.error().accepted, "100 bytes");
}

TEST_P(TransportFaults, message_dropped_at_the_end_is_detected_by_a_time_out) {
  const auto result = send_three(Fault::drop, 2, milliseconds(300));
  ASSERT_FALSE(result);
  EXPECT_NE(result.error().what.find("op 2"), std::string::npos) << to_string(result.error());
  EXPECT_EQ(result.error().code, base::ProblemCode::unavailable) << to_string(result.error());
}

}  // namespace trainyard::conformance
