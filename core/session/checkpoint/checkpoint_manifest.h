// SPDX-License-Identifier: GPL-3.0-or-later
// Manifest of a checkpoint.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/base/field_table.h"

namespace trainyard::session {

struct CheckpointFile {
  std::string name, xxh64;
  std::int64_t bytes = 0;
  std::int64_t version = 0;  // Number of steps completed; for a server, number of updates.
};

struct CheckpointManifest {
  std::string format = "trainyard checkpoint";
  std::int32_t version = 2;
  std::int64_t step = 0;
  std::string plan_hash;
  std::vector<CheckpointFile> files;
  std::string xxh64;  // Checksum of this document's text with this field empty.
};

}  // namespace trainyard::session

template <>
struct trainyard::base::Fields<trainyard::session::CheckpointFile> {
  using C = trainyard::session::CheckpointFile;
  static constexpr std::string_view title = "Checkpoint file";
  static auto table() {
    return std::tuple{
        base::field("name", &C::name, "", {1, 200}, "File name in the checkpoint directory"),
        base::field("bytes", &C::bytes, "bytes", {0, 1e15}, "File size"),
        base::field("xxh64", &C::xxh64, "", {16, 16}, "Checksum (xxh64), hexadecimal"),
        base::field("version", &C::version, "", {0, 1e15},
                    "Version of the content: number of completed steps; for a server, number of "
                    "its updates")};
  }
};

template <>
struct trainyard::base::Fields<trainyard::session::CheckpointManifest> {
  using C = trainyard::session::CheckpointManifest;
  static constexpr std::string_view title = "Checkpoint manifest";
  static auto table() {
    return std::tuple{base::field("format", &C::format, "", {}, "File format"),
                      base::field("version", &C::version, "", {2, 2}, "Version of the file format"),
                      base::field("step", &C::step, "", {0, 1e15},
                                  "Number of steps for which the parameters were trained"),
                      base::field("plan_hash", &C::plan_hash, "", {0, 100},
                                  "Hash of the plan that trained the parameters"),
                      base::field("files", &C::files, "", {1, 10'000}, "Files of the checkpoint"),
                      base::field("xxh64", &C::xxh64, "", {16, 16},
                                  "Checksum of this document with this field empty, hexadecimal")};
  }
};
