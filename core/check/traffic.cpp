// SPDX-License-Identifier: GPL-3.0-or-later
// Computes traffic: the payload that each rank sends to each peer in one execution of a program.
#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "core/check/proofs.h"

namespace trainyard::check {
namespace {

// Rounds of a collective in which data is sent, by group and bucket. Rounds that only add or copy
// received data are not listed.
using RoundsSent = std::map<std::pair<std::int32_t, std::int32_t>, std::set<std::int32_t>>;

// Returns the bytes of a pull. For a table it is an upper bound, from the maximum number of rows in
// a list.
std::int64_t bytes_pulled(const plan::RankPlan& rank, const plan::Op& op) {
  const std::int64_t all = bytes_of(rank, op.writes);
  if (!op.named) return all;
  const std::int64_t rows = op.reads.back().count - plan::kListHead;
  return std::min(
      all, rows * op.row * base::size_of(rank.buffers[op.writes.front().buffer.index()].dtype));
}

std::int64_t bytes_pushed(const plan::RankPlan& rank, const plan::Op& op) {
  return op.named ? bytes_of(rank, {op.reads.front()}) : bytes_of(rank, op.reads);
}

// Counts the traffic of pairwise averaging. In each step an active rank sends its parameters to one
// neighbor, and the neighbor sends as many bytes back. The result has the mean bytes per step to
// and from each neighbor.
void count_gossip(const plan::RankPlan& rank, const plan::Program& program,
                  ProgramTraffic& traffic) {
  for (const plan::Op& op : program.ops) {
    if (op.kind != plan::OpKind::offer && op.kind != plan::OpKind::agree) continue;
    const auto& partners = rank.pairs.front().passive;
    const bool offers = op.kind == plan::OpKind::offer;
    const std::int64_t of = std::ssize(partners),
                       bytes = (bytes_of(rank, offers ? op.reads : op.writes) + of / 2) / of;
    for (const std::int32_t partner : partners)
      traffic.sent.push_back(offers ? Sent{rank.rank, partner, bytes, 1}
                                    : Sent{partner, rank.rank, bytes, 1});
  }
}

// Counts a server's answers as the bytes that the worker pulls, because the server sends one answer
// per request.
void count_answers(const plan::RankPlan& rank, const plan::Program& program,
                   ProgramTraffic& traffic) {
  std::map<std::int32_t, Sent> by_server;
  for (const plan::Op& op : program.ops) {
    if (op.kind != plan::OpKind::pull && op.kind != plan::OpKind::turn) continue;
    Sent& sent = by_server.try_emplace(op.peer, Sent{op.peer, rank.rank, 0, 0}).first->second;
    sent.bytes += bytes_pulled(rank, op);
    ++sent.messages;
  }
  for (const auto& [server, sent] : by_server) traffic.sent.push_back(sent);
}

void count(const plan::RankPlan& rank, const plan::Program& program, ProgramTraffic& traffic,
           RoundsSent& rounds) {
  std::map<std::int32_t, Sent> by_peer;
  for (const plan::Op& op : program.ops) {
    if (op.kind != plan::OpKind::send && op.kind != plan::OpKind::push) continue;
    rounds[{op.group, op.bucket}].insert(op.round);
    Sent& sent = by_peer.try_emplace(op.peer, Sent{rank.rank, op.peer, 0, 0}).first->second;
    sent.bytes += bytes_pushed(rank, op);
    ++sent.messages;
  }
  for (const auto& [peer, sent] : by_peer) traffic.sent.push_back(sent);
  count_answers(rank, program, traffic);
  count_gossip(rank, program, traffic);
}

}  // namespace

std::int64_t ProgramTraffic::bytes_from(std::int32_t rank) const {
  std::int64_t bytes = 0;
  for (const Sent& one : sent)
    if (one.from == rank) bytes += one.bytes;
  return bytes;
}

std::vector<ProgramTraffic> traffic(const Scope& scope) {
  std::vector<ProgramTraffic> list;
  std::map<std::string, RoundsSent> rounds;
  for (const plan::RankPlan& rank : scope.ranks)
    for (const plan::Program& program : rank.programs) {
      auto at = std::find_if(list.begin(), list.end(), [&](const ProgramTraffic& known) {
        return known.program == program.name;
      });
      if (at == list.end()) at = list.insert(list.end(), {program.name, {}, 0});
      count(rank, program, *at, rounds[program.name]);
    }
  for (ProgramTraffic& one : list)
    for (const auto& [bucket, sent] : rounds[one.program])
      one.rounds = std::max(one.rounds, static_cast<std::int32_t>(sent.size()));
  return list;
}

}  // namespace trainyard::check
