// SPDX-License-Identifier: GPL-3.0-or-later
// Names for the indices in op events: lanes, tokens and kinds of ops. They are read from the
// recorded plan of a rank.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/plan/plan.h"
#include "ui/model/spans/payload_kind.h"

namespace trainyard::ui {

// Kind of a span on a timeline. `other` is computation that belongs to no segment: learning rate,
// norms, clipping, zeroing.
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
  offload
};
inline constexpr std::size_t kSpanKinds = 10;
SpanKind kind_of(plan::OpKind kind);
// True for a send, for a receive, and for a full collective that an engine executes. Such an engine
// does not report single messages.
bool communicates(SpanKind kind);
bool computes(SpanKind kind);  // true except for communication, input and offloading

struct NamedOp {
  std::string token;  // "F.s2.m0"
  SpanKind kind = SpanKind::other;
  int lane = 0;  // index in RankNames::lanes
  // index of the bucket in NamedProgram::buckets; -1 if the op is in no bucket, or is a full
  // collective
  int bucket = -1;
  OpPayload payload = {};
};

// A collective of a program that is executed as chunk ops.
struct NamedBucket {
  std::string token;        // token of the coarse op: "AR.b1"
  int lane = 0;             // index in RankNames::lanes
  std::uint16_t first = 0;  // index of the collective's first op in the program
  std::size_t ops = 0;
};

struct NamedProgram {
  std::string name;  // name of the program: "train"
  std::vector<NamedOp> ops;
  std::vector<NamedBucket> buckets;
};

// Names of the lanes and ops of one rank. Lane 0 contains the ops that the plan does not name: all
// ops if the plan is unknown, otherwise normally none.
struct RankNames {
  static constexpr const char* kUnnamed = "unnamed";
  // The first lane is `kUnnamed`. The plan's lanes follow in the plan's order ("input", "compute",
  // "send.g0", "recv.g0"). Then there is a lane of full collectives ("buckets.g0") for each group
  // whose collectives are split into chunks.
  std::vector<std::string> lanes{kUnnamed};
  std::vector<int> shown{0};  // all lanes in display order: full collectives above their chunks
  int first_bucket_lane = 1;  // index of the first lane of full collectives
  std::vector<NamedProgram> programs;
  std::optional<plan::GossipPair> gossip_pair = {};  // set if each step averages with one partner

  bool is_bucket_lane(int lane) const { return lane >= first_bucket_lane; }
  const NamedBucket* bucket(int program, int op) const;  // null if the op is in no bucket

  const NamedOp* find(int program, int op) const;  // null if the plan has no such op
  // Returns the token of the op. If the op has no token, returns the indices of the program and the
  // op.
  std::string token(int program, int op) const;
};

// Parses the names from the plan of one rank, in the text form that recordings contain.
base::Result<RankNames> names_from_plan(const std::string& text);

}  // namespace trainyard::ui
