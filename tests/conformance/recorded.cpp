// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/conformance/recorded.h"

#include <gtest/gtest.h>

#include "core/telemetry/recording.h"

namespace trainyard::conformance {

telemetry::History recorded(const session::CoordinatorResult& outcome) {
  telemetry::History history;
  auto reader = telemetry::RecordingReader::open(
                    std::filesystem::path(outcome.result["run_directory"].get<std::string>()) /
                    "recording.try")
                    .value();
  for (auto frame = reader.next(); frame && *frame; frame = reader.next())
    EXPECT_TRUE(history.take(**frame));
  return history;
}

}  // namespace trainyard::conformance
