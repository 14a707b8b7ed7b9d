// SPDX-License-Identifier: GPL-3.0-or-later
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "backends/zmq/codec.h"
#include "tests/backends/zmq/control_frames.h"
#include "tests/conformance/control_messages.h"

namespace trainyard::zmq {
namespace {

using namespace session;

const ControlHeader header{0x0123456789abcdef, 7, 42};

// Why a frame is refused; empty when it is not.
std::string refusal(const std::string& frame) {
  const auto decoded = decode_message(bytes_of(frame));
  return decoded ? "" : decoded.error().id;
}

template <class Body>
std::string refusal_of_body(const std::string& body) {
  return refusal(frame_around(type_of<Body>(), body));
}

TEST(ControlCodec, messages_decode_with_their_header) {
  for (const Message& message : conformance::sample_messages()) {
    const auto frame = encode_message(header, message);
    ASSERT_TRUE(frame);
    const auto decoded = decode_message(bytes_of(*frame));
    ASSERT_TRUE(decoded) << base::to_string(decoded.error());
    EXPECT_EQ(decoded->header, header);
    EXPECT_EQ(conformance::words(decoded->message), conformance::words(message));
  }
}

TEST(ControlCodec, samples_have_every_type_of_message) {
  std::set<std::size_t> types;
  for (const Message& message : conformance::sample_messages()) types.insert(message.index());
  EXPECT_EQ(types.size(), std::variant_size_v<Message>);
}

TEST(ControlCodec, changed_bit_anywhere_is_refused) {
  const std::string frame = *encode_message(header, Hello{3, "secret", "0.1.0", 1234});
  for (std::size_t bit = 0; bit < 8 * frame.size(); ++bit) {
    std::string changed = frame;
    changed[bit / 8] = static_cast<char>(changed[bit / 8] ^ (1 << bit % 8));
    EXPECT_NE(refusal(changed), "") << "bit " << bit;
  }
}

TEST(ControlCodec, truncated_frame_is_refused) {
  const std::string frame = *encode_message(header, conformance::sample_status());
  for (std::size_t length = 0; length < frame.size(); ++length)
    EXPECT_NE(refusal(frame.substr(0, length)), "") << length;
}

TEST(ControlCodec, truncated_body_is_refused_even_with_a_valid_checksum) {
  for (const Message& message :
       {Message(conformance::sample_status()), Message(Finished{1, 2, "x", 3, 4, {{}, {}}}),
        Message(Events{1, 2, conformance::sample_events(3)})}) {
    const std::string frame = *encode_message(header, message);
    for (std::size_t length = kControlHeaderBytes; length < frame.size(); ++length) {
      std::string cut = frame.substr(0, length);
      seal(cut);
      EXPECT_NE(refusal(cut), "") << length;
    }
  }
}

TEST(ControlCodec, bytes_after_the_body_are_refused) {
  std::string frame = *encode_message(header, Horizon{3, false});
  frame += '\0';
  seal(frame);
  EXPECT_EQ(refusal(frame), "trailing_bytes");
}

TEST(ControlCodec, unknown_types_and_versions_are_refused) {
  EXPECT_EQ(refusal(frame_around(0, "")), "unknown_type");
  EXPECT_EQ(refusal(frame_around(std::variant_size_v<Message> + 1, "")), "unknown_type");
  EXPECT_EQ(refusal(frame_around(0xffff, "")), "unknown_type");
  std::string frame = *encode_message(header, Horizon{});
  frame[4] = kControlVersion + 1;
  seal(frame);
  EXPECT_EQ(refusal(frame), "unknown_version");
}

TEST(ControlCodec, claim_of_more_elements_than_bytes_is_refused_before_allocation) {
  for (const std::uint64_t claim :
       {~std::uint64_t{0}, std::uint64_t{1} << 60, std::uint64_t{1} << 40, std::uint64_t{9}}) {
    const std::string count = raw(claim), eight(8, 'x');
    EXPECT_EQ(refusal_of_body<Start>(count + eight), "bad_count") << claim;   // a list of texts
    EXPECT_EQ(refusal_of_body<Assign>(count + eight), "bad_count") << claim;  // a text
    EXPECT_EQ(refusal_of_body<Events>(eight + "four" + count + eight), "bad_count")
        << claim;  // raw events
  }
}

TEST(ControlCodec, list_longer_than_the_maximum_of_ranks_is_refused_by_both_ends) {
  EXPECT_EQ(refusal_of_body<Start>(raw(std::uint64_t{65'537}) + std::string(8 * 65'538, '\0')),
            "list_too_long");
  EXPECT_FALSE(encode_message(header, Start{std::vector<std::string>(65'537), ""}));
  EXPECT_TRUE(encode_message(header, Start{std::vector<std::string>(65'536), ""}));
}

TEST(ControlCodec, invalid_enumeration_values_are_refused) {
  const std::string rest = raw(1.0) + raw(std::int32_t{0}) + raw(2.0) + raw(0.0) +
                           raw(std::int32_t{-1}) + raw(std::int32_t{-1}) + raw(1.0);  // of an Ask
  EXPECT_EQ(refusal_of_body<Ask>(raw(std::uint64_t{1}) + '\13' + rest), "");
  EXPECT_EQ(refusal_of_body<Ask>(raw(std::uint64_t{1}) + '\14' + rest), "unknown_enumerator");
  EXPECT_EQ(refusal_of_body<Status>(raw(std::uint64_t{1}) + '\11' + std::string(100, '\0')),
            "unknown_enumerator");
  EXPECT_EQ(refusal_of_body<Abort>('\6' + std::string(32, '\0')), "unknown_enumerator");
  EXPECT_EQ(refusal_of_body<Horizon>(raw(std::int64_t{1}) + '\2'), "bad_boolean");
  Events events{0, 0, conformance::sample_events(2)};
  events.events[1].kind = static_cast<telemetry::EventKind>(3);
  EXPECT_EQ(refusal(*encode_message(header, events)), "unknown_event");
}

TEST(ControlCodec, message_over_the_limit_is_refused_by_both_ends) {
  const Message message = Assign{std::string(1'000, 'x'), 0, 0, ""};
  const std::string frame = *encode_message(header, message);
  EXPECT_TRUE(encode_message(header, message, frame.size()));
  EXPECT_TRUE(decode_message(bytes_of(frame), frame.size()));
  EXPECT_FALSE(encode_message(header, message, frame.size() - 1));
  EXPECT_FALSE(decode_message(bytes_of(frame), frame.size() - 1));
}

TEST(ControlCodec, damaged_frames_are_refused_or_read_safely) {
  std::vector<std::string> frames;
  for (const Message& message : conformance::sample_messages())
    if (const std::string frame = *encode_message(header, message); frame.size() < 20'000)
      frames.push_back(frame);
  std::mt19937_64 random(1);
  int refused = 0;
  for (int i = 0; i < 100'000; ++i)
    refused += refusal(mutated(frames[random() % frames.size()], random)).empty() ? 0 : 1;
  EXPECT_GT(refused, 90'000);
}

}  // namespace
}  // namespace trainyard::zmq
