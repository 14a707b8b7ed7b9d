// SPDX-License-Identifier: GPL-3.0-or-later
// Contents of checkpoint parts that ranks send in pieces, because they have no access to the run
// directory.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "core/session/protocol/messages.h"

namespace trainyard::session {

class ReceivedParts {
 public:
  // Appends the piece, which must follow the earlier pieces of its file. A piece of another file
  // discards what the rank sent before. Returns the number of bytes of the file so far.
  std::int64_t add(const SavedPiece& piece) {
    Part& part = parts_[piece.rank];
    if (part.file != piece.file) part = {piece.file, ""};
    if (piece.offset == static_cast<std::int64_t>(part.content.size())) part.content += piece.bytes;
    return static_cast<std::int64_t>(part.content.size());
  }

  // Returns the content of the file, and forgets it. Empty if the rank sent none.
  std::string take(std::int32_t rank, const std::string& file) {
    const auto part = parts_.find(rank);
    if (part == parts_.end() || part->second.file != file) return {};
    return std::move(parts_.extract(part).mapped().content);
  }

 private:
  struct Part {
    std::string file, content;
  };
  std::map<std::int32_t, Part> parts_;  // by rank
};

}  // namespace trainyard::session
