// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/base/log.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <thread>

namespace trainyard::base {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;
using ::testing::Not;

class LogFile : public ::testing::Test {
 protected:
  void TearDown() override {
    set_log_name("");
    fs::remove(path_);
  }

  std::string content() const {
    std::ifstream in(path_);
    return {std::istreambuf_iterator<char>(in), {}};
  }

  fs::path path_ = fs::temp_directory_path() / ("trainyard-log-" + std::to_string(::getpid()));
};

TEST_F(LogFile, line_has_source_and_level_and_literal_text) {
  ASSERT_TRUE(add_log_file(path_));
  set_log_name("rank 2");
  log_warning("half {} done %d");
  EXPECT_THAT(content(), HasSubstr("warning: [rank 2] half {} done %d\n"));
}

TEST_F(LogFile, omits_lines_below_the_level) {
  ASSERT_TRUE(add_log_file(path_));
  log(LogLevel::debug, "quiet");
  log_info("loud");
  EXPECT_THAT(content(), HasSubstr("loud"));
  EXPECT_THAT(content(), Not(HasSubstr("quiet")));
}

TEST_F(LogFile, can_be_added_while_other_threads_log) {
  std::jthread speaker([](const std::stop_token& stop) {
    while (!stop.stop_requested()) log(LogLevel::info, "talk");
  });
  EXPECT_TRUE(add_log_file(path_));
  log_info("after");
  speaker.request_stop();
  speaker.join();
  EXPECT_THAT(content(), HasSubstr("after"));
}

TEST(Log, reports_a_file_that_cannot_be_opened) {
  EXPECT_FALSE(add_log_file("/proc/trainyard.log"));
}

}  // namespace
}  // namespace trainyard::base
