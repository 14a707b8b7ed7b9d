// SPDX-License-Identifier: GPL-3.0-or-later
// A plan as text that parses back, one line an op:
//
//   plan 1
//   schedule steps 310 full 62 tail evaluate 63
//   group g0: 0 1 2 3
//   rank 0
//   lane input input
//   lane send.g0 send g0
//   buffer grads fp32 101770 shared
//   program train samples 32 of 128
//   LOAD.m0 @input writes input labels after compute:5@-1
//   F.s0.m0 @compute reads input params[0:100480] writes act.s0 flops 6430720 after input:1
//   SEND.b0.t0.c1>r1 @send.g0 group g0 reads grads[100:200] after compute:9
//
// The grammar. Words are parted by spaces, lines by a line feed; blank lines mean nothing. N is a
// number in decimal digits (at most 2^53; those that name something at most 2^31 - 1). NAME is any
// word of printable characters without brackets that is none of `group reads writes flops after`;
// names are unique among the lanes, buffers and programs of a rank. Groups and ranks are numbered
// from 0 in the order of their lines.
//
//   plan     = "plan 1" schedule {group} {rank}
//   schedule = "schedule steps" N "full" N ["tail" {N}] ["evaluate" N] ["average" N] ["local" N]    steps of train, tail, tail2, ...; "tail" alone: one
//   group    = "group g"N":" {N}                            ranks by position
//   rank     = "rank" N [rule] {pair} {lane | buffer} {program}
//   rule     = "rule" N "of" N ["in step"] ["bound" N]      a server: gradients of an update, of so many workers (arrivals.h)
//   pair     = "pair" N "with" {N} "seed" N                 an active rank and those that it may ask (pairing.h)
//   lane     = "lane" NAME ("input" | "compute" | "comm" | "send" | "recv" | "copy") ["g"N]
//   buffer   = "buffer" NAME ("fp32" | "fp64" | "int32") N ["shared"] ["host" | "disk"]    elements; without a place: on the device
//   program  = "program" NAME "samples" N "of" N ["repeats" N] {wanted} {op}
//   wanted   = "bucket" TOKEN "group g"N ["row" N] "writes" access    of an expanded collective, as BCAST.b0<r0, or of neighbours, as MIX.b0
//   op       = TOKEN "@"NAME ["group g"N] ["columns" N":"N"/"N] ["row" N] ["named"] ["weights" W{":"W}"/"N] ["reads" {access}] ["writes" {access}] ["flops" N]
//   ["after" {after}]
//                                                           columns: of the features [first, end) of all; row: elements that no chunk cuts; named: of rows of
//                                                           so many (without: one) those that a list names; weights: W is N or
//                                                           "-"N, one a span that is read, over a denominator
//   access   = NAME ["["N":"N"]"]                           elements [first, end); without a range: the whole buffer
//   after    = NAME":"(N | "end") ["@-"N]                   sequence on a lane, instances back
//   TOKEN    = KIND[".s"N][".m"N][".b"N][".t"N][".c"N["-"N]][(">r" | "<r")N{",r"N}]     segment, micro-batch, bucket, round,
//                                                           first and last chunk; peer: > for SEND, REDUCE, GATHER and PUSH, < for
//                                                           all others; SUM and MIX may name several
//
// and as a rank x time grid for people.
#pragma once

#include <optional>
#include <string>

#include "core/base/result.h"
#include "core/plan/plan.h"

namespace trainyard::plan {

std::string_view word(OpKind kind);    // "LOAD"
std::string_view word(LaneKind kind);  // "input"
std::string_view word(Place place);    // "host"
bool is_name(std::string_view text);   // whether it may name a lane, buffer or program
std::string token(const Op& op);       // "F.s2.m0"
base::Result<Op> parse_token(
    std::string_view text);  // kind and numbers only; a Problem names the column

std::string to_text(const RankPlan& rank);
std::string to_text(const Plan& plan);  // every rank
base::Result<Plan> parse(
    std::string_view text);  // a Problem names line and column; says nothing of the plan's sense

std::string hash(const Plan& plan);  // 16 hex digits: xxh64 of the text

// Rows are ranks and lanes, columns the order in which a greedy run with unit-time ops reaches
// them; ends with a legend. The lane, dependency and group numbers of the plan must be in range.
// `marked` is drawn >token<: {rank, program op index}. Then only the columns and ranks around it
// are drawn.
struct Mark {
  std::int32_t rank = -1;
  int op = -1;
};
std::string grid(const Plan& plan, std::string_view program, std::optional<Mark> marked = {});

}  // namespace trainyard::plan
