// SPDX-License-Identifier: GPL-3.0-or-later
// Row lists: in each round a worker needs only some rows of a table, and sends a list of them to
// the servers.
//
// First server: assigns the next batch, answers, and keeps the version slot of the answer. The
// worker then sends its list of rows to every server without waiting for another rank, so the slot
// is occupied only briefly. Other servers: reserve a slot when they receive the list. If they
// reserved a slot earlier, waiting workers could occupy all slots, and none would be left for the
// workers that they wait for.
#include <fmt/core.h>

#include <algorithm>

#include "core/comm/expect.h"
#include "core/run/input/named_rows.h"
#include "core/run/servers/server_state.h"

namespace trainyard::run {

using base::Result;

namespace {

base::Problem of_worker(base::Problem problem, int rank) {
  problem.where = fmt::format("rank {}: {}", rank, problem.where);
  return problem;
}

}  // namespace

Result<void> Server::State::poll_row_lists() {
  for (Worker& one : workers) {
    if (!awaits_row_list(one) || one.lost || (!arrivals.waits(one.number) && !one.asks)) continue;
    const auto has_all_lists = has_sent_row_list(one);
    if (!has_all_lists) return base::fail(has_all_lists.error());
    one.has_list = *has_all_lists;
  }
  return {};
}

Result<bool> Server::State::has_sent_row_list(const Worker& from) {
  for (const BoundOp& op : named->ops) {
    if (op.kind != plan::OpKind::take) continue;
    const auto list = list_of(from, op);
    if (!list) return base::fail(list.error());
    if (!*list) return false;
  }
  return true;
}

Result<std::optional<comm::Message>> Server::State::list_of(const Worker& from,
                                                            const BoundOp& takes) {
  const comm::Tag tag{from.generation, static_cast<std::uint32_t>(from.taken[arrival_of(takes)]),
                      takes.transfer};
  return comm::receive_of(*parts.transport, from.rank, takes.channel, tag);
}

Result<bool> Server::State::receive_row_list(Worker& from) {
  if (auto all = has_sent_row_list(from); !all || !*all) return all;
  is_at("named");
  for (std::size_t op = 0; op < named->ops.size(); ++op) {
    const BoundOp& does = named->ops[op];
    if (does.kind == plan::OpKind::give) {
      if (auto ok = send_rows(from, op); !ok) return base::fail(ok.error());
      continue;
    }
    const auto list = list_of(from, does);
    if (!list) return base::fail(list.error());
    auto ok =
        RowList(does.named.list_of(from.number)).take((*list)->bytes, does.named).and_then([&] {
          return parts.transport->release(from.rank, does.channel);
        });
    if (!ok) return base::fail(of_worker(ok.error(), from.rank));
    ++from.taken[arrival_of(does)];
  }
  from.owes_rows = from.has_list = false;
  return true;
}

// Receives the row lists that have arrived. If a worker is lost before it sends its list, releases
// the version slot reserved for it.
Result<void> Server::State::receive_all_row_lists() {
  take_failed_workers();
  for (Worker& one : workers) {
    if (!one.owes_rows || one.lost) continue;
    // loss of the worker must be checked before messages are received, so that messages that it
    // sent before are still handled
    const bool lost = parts.transport->has_lost(one.rank);
    const auto heard = receive_row_list(one);
    if (!heard) return base::fail(heard.error());
    if (lost && !*heard) mark_lost(one.number);
  }
  return {};
}

Result<void> Server::State::send_rows(Worker& to, std::size_t op) {
  const BoundOp& gives = named->ops[op];
  const std::span<const std::byte> rows = share.rows_wanted(gives, to.number, to.reads);
  share.keep_rows(arrival_of(gives), to.number, to.reads);
  const comm::Tag tag{to.generation, static_cast<std::uint32_t>(to.handed[op]), gives.transfer};
  const auto accepted = parts.transport->post(to.rank, gives.channel, tag, rows);
  if (!accepted) return base::fail(accepted.error());
  if (!*accepted) return base::fail(full_line(to.rank));
  ++to.handed[op];
  return {};
}

// Returns the index of the op in `arrival` that receives the gradients of the same bucket as
// `of_share`.
std::size_t Server::State::arrival_of(const BoundOp& of_share) const {
  const auto same = [&](const BoundOp& op) { return op.bucket == of_share.bucket; };
  return static_cast<std::size_t>(std::find_if(arrival.ops.begin(), arrival.ops.end(), same) -
                                  arrival.ops.begin());
}

}  // namespace trainyard::run
