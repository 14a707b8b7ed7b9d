// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/session/hosts/probe.h"

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>

#include <future>

namespace trainyard::session {
namespace {

using namespace std::chrono_literals;

const std::string kToken(kProbeTokenBytes, 't');

class Probes : public testing::Test {
 protected:
  Probes() {
    auto listener = ProbeListener::listen("127.0.0.1", kToken);
    EXPECT_TRUE(listener) << base::to_string(listener.error());
    port_ = listener->port();
    answer_ =
        std::async(std::launch::async, [one = std::move(*listener)] { return one.answer(5s); });
  }
  int port_ = 0;
  std::future<base::Result<void>> answer_;
};

TEST_F(Probes, measure_latency_and_bandwidth) {
  const auto figures = probe("127.0.0.1", port_, kToken, 5s);
  ASSERT_TRUE(figures) << base::to_string(figures.error());
  EXPECT_GT(figures->latency_seconds, 0);
  EXPECT_LT(figures->latency_seconds, 1);
  EXPECT_GT(figures->bandwidth_bits_per_second, 1e6);
  EXPECT_TRUE(answer_.get());
}

TEST_F(Probes, with_another_token_get_no_answer) {
  EXPECT_FALSE(probe("127.0.0.1", port_, std::string(kProbeTokenBytes, 'x'), 5s));
  EXPECT_TRUE(probe("127.0.0.1", port_, kToken, 5s)) << "the listener continues";
}

TEST(Probe, names_the_port_that_is_not_open) {
  int port = 0;
  {
    const auto listener = ProbeListener::listen("127.0.0.1", kToken);
    ASSERT_TRUE(listener);
    port = listener->port();
  }
  const auto figures = probe("127.0.0.1", port, kToken, 2s);
  ASSERT_FALSE(figures);
  EXPECT_EQ(figures.error().id, "port_unreachable");
  EXPECT_EQ(figures.error().where, "127.0.0.1:" + std::to_string(port));
  EXPECT_THAT(figures.error().what, testing::HasSubstr("refused"));
}

TEST(Probe, needs_a_numeric_address) {
  EXPECT_EQ(probe("no-such-host", 9, kToken, 1s).error().id, "bad_address");
  EXPECT_EQ(ProbeListener::listen("no-such-host", kToken).error().id, "bad_address");
}

TEST(Probe, listener_gives_up_after_its_limit) {
  const auto listener = ProbeListener::listen("127.0.0.1", kToken);
  ASSERT_TRUE(listener);
  EXPECT_EQ(listener->answer(50ms).error().id, "no_probe");
}

}  // namespace
}  // namespace trainyard::session
