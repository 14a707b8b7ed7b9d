// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/run/exchange/transfers.h"

#include "core/base/clock.h"
#include "core/comm/expect.h"
#include "core/compute/combine.h"
#include "core/run/input/named_rows.h"

namespace trainyard::run {
namespace {

using plan::OpKind;

}  // namespace

Transfers::Transfers(comm::Transport& transport, compute::Compute& compute,
                     std::uint32_t generation, base::Reduction reduction)
    : transport_(transport), compute_(compute), generation_(generation), reduction_(reduction) {
  sources_.reserve(static_cast<std::size_t>(transport.ranks()));
}

int Transfers::waits_for() const {
  return empty() || oldest().op->peers.empty() ? -1 : peers_of(oldest()).front();
}

Transfers::Line& Transfers::line(int peer, int channel) {
  const auto c = static_cast<std::size_t>(channel);
  if (lines_.size() <= c)
    lines_.resize(c + 1, std::vector<Line>(static_cast<std::size_t>(transport_.ranks())));
  return lines_[c][static_cast<std::size_t>(peer)];
}

base::Result<bool> Transfers::advance(Transfer& transfer, std::int64_t& busy_ns) {
  const bool sends = transfer.op->kind == OpKind::send || transfer.op->kind == OpKind::push ||
                     transfer.op->kind == OpKind::offer;
  return sends ? advance_send(transfer) : advance_receive(transfer, busy_ns);
}

base::Result<bool> Transfers::advance_send(Transfer& transfer) {
  const BoundOp& op = *transfer.op;
  const int peer = peers_of(transfer).front();
  Line& to_peer = line(peer, op.channel);
  if (!transfer.posted) {
    if (to_peer.send_held_up == pass()) return false;
    const comm::Tag tag = tag_of(transfer, to_peer.posted);
    transfer.bytes = bytes_carried(op);
    const auto accepted =
        transport_.post(peer, op.channel, tag, {op.data, static_cast<std::size_t>(transfer.bytes)});
    if (!accepted) return base::fail(accepted.error());
    if (!*accepted) {
      to_peer.send_held_up = pass();
      return false;
    }
    transfer.posted = true;
    transfer.ticket = ++to_peer.posted;
  }
  return transport_.consumed(peer, op.channel).map([&](std::uint64_t consumed) {
    return consumed >= transfer.ticket;
  });
}

// Returns the tag of a message. Between servers and workers, which have no common steps, it
// contains a message count instead of the step.
comm::Tag Transfers::tag_of(const Transfer& transfer, std::uint64_t passed) const {
  const auto step =
      plan::serves(transfer.op->kind) ? passed : static_cast<std::uint64_t>(transfer.ready.step);
  return {generation_, static_cast<std::uint32_t>(step), transfer.op->transfer};
}

base::Result<bool> Transfers::arrived(const Transfer& transfer, int peer, const std::byte*& bytes) {
  const BoundOp& op = *transfer.op;
  const Line& from_peer = line(peer, op.channel);
  if (from_peer.receive_held_up == pass()) return false;
  const comm::Tag tag = tag_of(transfer, from_peer.taken);
  const auto message = comm::receive_expected(transport_, peer, op.channel,
                                              {tag, static_cast<std::size_t>(bytes_carried(op))});
  if (!message) return base::fail(message.error());
  if (!message->has_value()) return false;
  bytes = (*message)->bytes.data();
  return true;
}

base::Result<bool> Transfers::advance_receive(Transfer& transfer, std::int64_t& busy_ns) {
  auto complete = receive(transfer, busy_ns);
  if (complete && !*complete)
    for (const int peer : peers_of(transfer))
      line(peer, transfer.op->channel).receive_held_up = pass();
  return complete;
}

// Copies received table rows to their positions in the table, and returns their number of bytes.
std::int64_t Transfers::take_rows(const BoundOp& op, const std::byte* rows) {
  const RowList list(op.named.list);
  if (list.wants_all()) compute_.copy(op.data, rows, op.bytes);
  else scatter_rows(compute_, op.named.row_bytes, list.numbers(), rows, op.data);
  return bytes_carried(op);
}

base::Result<bool> Transfers::receive(Transfer& transfer, std::int64_t& busy_ns) {
  const BoundOp& op = *transfer.op;
  sources_.clear();
  const bool sums = op.kind == OpKind::recv_reduce || op.kind == OpKind::reduce_many;
  if (op.kind == OpKind::recv_reduce || op.kind == OpKind::copy) sources_.push_back(op.own);
  const std::span<const int> peers = peers_of(transfer);
  for (std::size_t i = 0; i < peers.size(); ++i) {
    if (op.kind == OpKind::reduce_many && static_cast<int>(i) == op.local_position)
      sources_.push_back(op.own);
    const std::byte* bytes = nullptr;
    const auto here = arrived(transfer, peers[i], bytes);
    if (!here) return base::fail(here.error());
    if (!*here) return false;
    sources_.push_back(bytes);
  }
  if (op.kind == OpKind::reduce_many && op.local_position == static_cast<int>(op.peers.size()))
    sources_.push_back(op.own);
  transfer.ready_ns = base::now_nanoseconds();
  if (op.named.list != nullptr) transfer.bytes = take_rows(op, sources_.front());
  else if (sums) compute::combine(compute_, reduction_, op.dtype, op.data, sources_, op.elements);
  else compute_.copy(op.data, sources_.front(), op.bytes);
  for (const int peer : peers) {
    if (const auto released = transport_.release(peer, op.channel); !released)
      return base::fail(released.error());
    ++line(peer, op.channel).taken;
  }
  busy_ns += base::now_nanoseconds() - transfer.ready_ns;
  return true;
}

}  // namespace trainyard::run
