// SPDX-License-Identifier: GPL-3.0-or-later
// Text form of a plan, one op per line, and its parser.
//
// plan 1
// schedule steps 310 full 62 tail evaluate 63
// group g0: 0 1 2 3
// rank 0
// lane input input
// lane send.g0 send g0
// buffer grads fp32 101770 shared
// program train samples 32 of 128
// LOAD.m0 @input writes input labels after compute:5@-1
// F.s0.m0 @compute reads input params[0:100480] writes act.s0 flops 6430720 after input:1
// SEND.b0.t0.c1>r1 @send.g0 group g0 reads grads[100:200] after compute:9
//
// Grammar. Words are separated by spaces, lines by a line feed; blank lines are ignored. N is a
// number in decimal digits (at most 2^53; identifiers at most 2^31 - 1). NAME is any word of
// printable characters without brackets except `group reads writes flops after`. Names are unique
// among the lanes, buffers and programs of a rank. Groups and ranks are numbered from 0 in the
// order of their lines.
//
// plan     = "plan 1" schedule {group} {rank}
// schedule = "schedule steps" N "full" N ["tail" {N}] ["evaluate" N] ["average" N]
//            ["local" N]          tail: steps of tail, tail2, ...; "tail" alone: one step
// group    = "group g"N":" {N}    ranks by position
// rank     = "rank" N [rule] {pair} {lane | buffer} {program}
// rule     = "rule" N "of" N ["in step"] ["bound" N]
//            a server: gradients per update, number of workers (arrivals.h)
// pair     = "pair" N "with" {N} "seed" N
//            an active rank and its possible partners (gossip_pair.h)
// lane     = "lane" NAME ("input" | "compute" | "comm" | "send" | "recv" | "copy") ["g"N]
// buffer   = "buffer" NAME ("fp32" | "fp64" | "int32") N ["shared"] ["host" | "disk"]
//            N: elements; default memory: device
// program  = "program" NAME "samples" N "of" N ["repeats" N] {wanted} {op}
// wanted   = "bucket" TOKEN "group g"N ["row" N] "writes" access
//            postcondition of an expanded collective, as BCAST.b0<r0, or of mixing
//            neighbors, as MIX.b0
// op       = TOKEN "@"NAME ["group g"N] ["columns" N":"N"/"N] ["row" N] ["named"]
//            ["weights" W{":"W}"/"N] ["reads" {access}] ["writes" {access}]
//            ["flops" N] ["after" {after}]
//            columns: features [first, end) out of all
//            row: elements that no chunk splits (default 1)
//            named: only the rows (of `row` elements) that a list names
//            weights: W is N or "-"N, one per span read, over a denominator
// access   = NAME ["["N":"N"]"]   elements [first, end); default: the full buffer
// after    = NAME":"(N | "end") ["@-"N]     sequence on a lane, instances back
// TOKEN    = KIND[".s"N][".m"N][".b"N][".t"N][".c"N["-"N]][(">r" | "<r")N{",r"N}]
//            segment, micro-batch, bucket, round, first and last chunk, peer
//            > for SEND, REDUCE, GATHER and PUSH, < for all others;
//            SUM and MIX may name several peers
//
// `grid` prints a plan as a table of ranks and ticks.
#pragma once

#include <optional>
#include <string>

#include "core/base/result.h"
#include "core/plan/plan.h"

namespace trainyard::plan {

std::string_view word(OpKind kind);       // returns a word such as "LOAD"
std::string_view word(LaneKind kind);     // returns a word such as "input"
std::string_view word(MemoryKind place);  // returns a word such as "host"
// true if the text may be the name of a lane, buffer or program
bool is_name(std::string_view text);
std::string token(const Op& op);  // returns a token such as "F.s2.m0"
// parses an op's token: its kind and numbers; a Problem names the column
base::Result<Op> parse_token(std::string_view text);

std::string to_text(const RankPlan& rank);
std::string to_text(const Plan& plan);  // returns the text of all ranks
base::Result<Plan> parse(
    // checks syntax only, not the plan's meaning; a Problem names line and column
    std::string_view text);

std::string hash(const Plan& plan);  // returns 16 hex digits: xxh64 of the text

// Prints a program as a table. Rows are ranks and lanes. Columns are ticks of a run in which each
// op starts as early as possible and takes one tick; a legend follows. Numbers of lanes,
// dependencies and groups of the plan must be in range. If `marked` {rank, index in the program} is
// given, that op is printed as >token<, and only the columns and ranks near it are printed.
struct Mark {
  std::int32_t rank = -1;
  int op = -1;
};
std::string grid(const Plan& plan, std::string_view program, std::optional<Mark> marked = {});

}  // namespace trainyard::plan
