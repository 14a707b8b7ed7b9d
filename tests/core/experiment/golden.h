// SPDX-License-Identifier: GPL-3.0-or-later
// Golden files of the repository. TRAINYARD_UPDATE_GOLDEN=1 rewrites them instead of comparing.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <string>

#include "core/base/file.h"

namespace trainyard {

inline std::filesystem::path in_tree(const std::string& path) {
  return std::filesystem::path(TRAINYARD_SOURCE_DIR) / path;
}

inline bool updating_golden_files() {
  const char* wish = std::getenv("TRAINYARD_UPDATE_GOLDEN");
  return wish != nullptr && std::string(wish) == "1";
}

inline void expect_golden(const std::filesystem::path& file, const std::string& text) {
  if (updating_golden_files()) {
    ASSERT_TRUE(base::write_file_atomically(file, text).has_value()) << file;
  }
  EXPECT_EQ(base::read_file(file, 64u << 20).value_or("(cannot be read)"), text)
      << file
      << " differs from the output of the software. If the change is intended, run this test with "
         "TRAINYARD_UPDATE_GOLDEN=1 in the environment and review the difference.";
}

}  // namespace trainyard
