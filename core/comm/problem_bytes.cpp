// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/comm/problem_bytes.h"

#include <algorithm>
#include <string>

namespace trainyard::comm {
namespace {

constexpr std::size_t kMaxTextBytes = (kMaxProblemBytes - 1) / 5 - 2;

void append(std::vector<std::byte>& bytes, const std::string& text) {
  const std::size_t length = std::min(text.size(), kMaxTextBytes);
  bytes.push_back(static_cast<std::byte>(length & 0xff));
  bytes.push_back(static_cast<std::byte>(length >> 8));
  for (const char letter : text.substr(0, length)) bytes.push_back(static_cast<std::byte>(letter));
}

std::string take(std::span<const std::byte>& bytes) {
  if (bytes.size() < 2) return {};
  const std::size_t claimed =
      std::to_integer<std::size_t>(bytes[0]) | std::to_integer<std::size_t>(bytes[1]) << 8;
  bytes = bytes.subspan(2);
  const auto body = bytes.first(std::min(claimed, bytes.size()));
  bytes = bytes.subspan(body.size());
  return {reinterpret_cast<const char*>(body.data()), body.size()};
}

base::ProblemCode code_of(std::byte byte) {
  const int last = static_cast<int>(base::ProblemCode::canceled);
  const int code = std::to_integer<int>(byte);
  return code <= last ? static_cast<base::ProblemCode>(code) : base::ProblemCode::failed;
}

}  // namespace

std::vector<std::byte> to_bytes(const base::Problem& problem) {
  std::vector<std::byte> bytes{static_cast<std::byte>(problem.code)};
  for (const std::string* text :
       {&problem.id, &problem.where, &problem.what, &problem.accepted, &problem.advice})
    append(bytes, *text);
  return bytes;
}

base::Problem problem_from_bytes(std::span<const std::byte> bytes) {
  base::Problem problem;
  if (bytes.empty()) return problem;
  problem.code = code_of(bytes.front());
  bytes = bytes.subspan(1);
  for (std::string* text :
       {&problem.id, &problem.where, &problem.what, &problem.accepted, &problem.advice})
    *text = take(bytes);
  return problem;
}

}  // namespace trainyard::comm
