// SPDX-License-Identifier: GPL-3.0-or-later
// What the numbers in op events mean, as the recorded plan of a rank says it: lanes, tokens, and
// what an op is for.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/plan/plan.h"
#include "ui/model/cargo.h"

namespace trainyard::ui {

// What a person tells apart on a timeline. `other` is compute that belongs to no segment: learning
// rate, norms, clipping, zeros.
enum class SpanKind : std::uint8_t {
  input,
  forward,
  loss,
  backward,
  update,
  other,
  send,
  receive,
  collective,
  swap
};
inline constexpr std::size_t kSpanKinds = 10;
SpanKind kind_of(plan::OpKind kind);
bool communicates(SpanKind kind);  // send and receive; and a collective that an engine took whole,
                                   // of which it tells no more
bool computes(SpanKind kind);      // neither those nor input, nor a swap

struct NamedOp {
  std::string token;  // "F.s2.m0"
  SpanKind kind = SpanKind::other;
  int lane = 0;     // of RankNames
  int bucket = -1;  // of its program; -1: it is part of none, or all of it
  OpCargo cargo = {};
};

// A collective of a program, whose ops are chunks of it.
struct NamedBucket {
  std::string token;        // of the coarse op: "AR.b1"
  int lane = 0;             // of RankNames
  std::uint16_t first = 0;  // the first of its ops in the program
  std::size_t ops = 0;
};

struct NamedProgram {
  std::string name;  // "train"
  std::vector<NamedOp> ops;
  std::vector<NamedBucket> buckets;
};

// Of one rank. Lane 0 is for ops that the plan does not name; it is there for ranks whose plan is
// not known, and stays empty else.
struct RankNames {
  static constexpr const char* kUnnamed = "unnamed";
  // Then the plan's, in its order: "input", "compute", "send.g0", "recv.g0"; then for each group
  // whose collectives are cut into chunks a lane that shows them whole: "buckets.g0".
  std::vector<std::string> lanes{kUnnamed};
  std::vector<int> shown{0};  // all of them, as they are to stand below each other: whole
                              // collectives above their chunks
  int first_of_buckets = 1;   // of these lanes
  std::vector<NamedProgram> programs;
  std::optional<plan::Pairing> pairing = {};  // of a rank that averages with a partner of the step

  bool of_buckets(int lane) const { return lane >= first_of_buckets; }
  const NamedBucket* bucket(int program, int op) const;  // null where the op is part of none

  const NamedOp* find(int program, int op) const;  // null where the plan has none
  // A person's name for it: its token, else its numbers.
  std::string token(int program, int op) const;
};

// From the text of one rank's plan, as a recording holds it.
base::Result<RankNames> names_from_plan(const std::string& text);

}  // namespace trainyard::ui
