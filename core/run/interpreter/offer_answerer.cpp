// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/run/interpreter/offer_answerer.h"

#include <fmt/core.h>

#include <array>

#include "core/base/clock.h"
#include "core/comm/expect.h"
#include "core/compute/combine.h"

namespace trainyard::run {

using base::Result;

OfferAnswerer::OfferAnswerer(const OfferAnswererParts& parts)
    : parts_(parts), queue_(parts.compute->make_queue()) {
  for (const plan::GossipPair& pair : parts.plan->pairs)
    asking_ranks_.push_back({&pair, asked_from(pair, parts.first_step)});
}

// Returns the first step, from `step` on, in which the active rank makes an offer to this rank; the
// end of the run if there is none.
std::int64_t OfferAnswerer::asked_from(const plan::GossipPair& pair, std::int64_t step) const {
  while (step < parts_.steps && pair.partner(step) != parts_.plan->rank) ++step;
  return step;
}

int OfferAnswerer::next_answer(std::int64_t step) const {
  for (std::size_t i = 0; i < asking_ranks_.size(); ++i)
    if (asking_ranks_[i].next <= step && asking_ranks_[i].next < parts_.steps)
      return static_cast<int>(i);
  return -1;
}

Result<bool> OfferAnswerer::answer(const std::function<void(const AnsweredOffer&)>& report) {
  bool any = false;
  for (std::size_t i = 0; i < asking_ranks_.size(); ++i) {
    auto answered = answer(i, report);
    if (!answered) return answered;
    any = any || *answered;
  }
  return any;
}

// Answers the offer of one active rank. An active rank makes no new offer before it has read the
// answer. So there is room for one answer, and no rank reads its buffer while it is written.
Result<bool> OfferAnswerer::answer(std::size_t number,
                                   const std::function<void(const AnsweredOffer&)>& report) {
  AskingRank& asking_rank = asking_ranks_[number];
  const BoundOp& op = parts_.answers->ops[number];
  const int peer = asking_rank.pair->active;
  const comm::Tag tag{parts_.generation, static_cast<std::uint32_t>(asking_rank.next), op.transfer};
  const auto message = comm::receive_expected(*parts_.transport, peer, op.channel,
                                              {tag, static_cast<std::size_t>(op.bytes)});
  if (!message) return base::fail(message.error());
  if (!*message) return false;
  AnsweredOffer done{static_cast<int>(number), asking_rank.next, base::now_nanoseconds(), 0,
                     2 * op.bytes};
  if (const auto ran = average(op, (*message)->bytes.data()); !ran) return base::fail(ran.error());
  if (const auto released = parts_.transport->release(peer, op.channel); !released)
    return base::fail(released.error());
  const auto accepted =
      parts_.transport->post(peer, op.channel, tag, {op.data, static_cast<std::size_t>(op.bytes)});
  if (!accepted) return base::fail(accepted.error());
  if (!*accepted)
    return base::fail(
        {"channel_full", base::ProblemCode::failed, fmt::format("rank {}", parts_.plan->rank),
         fmt::format("the channel to rank {} is full", peer), "one reply in flight", ""});
  asking_rank.next = asked_from(*asking_rank.pair, asking_rank.next + 1);
  ++averages_;
  done.end_ns = base::now_nanoseconds();
  report(done);
  return true;
}

// Computes the average in the send buffer, writes it to the rank's parameters, and copies the
// result back for sending.
Result<void> OfferAnswerer::average(const BoundOp& op, const std::byte* offered) {
  const std::array<const std::byte*, 2> both{op.own, offered};
  compute::combine(*parts_.compute, base::Reduction::sum, op.dtype, op.data, both, op.elements);
  for (const auto& kernel : op.kernels) kernel->enqueue(*queue_);
  if (auto ran = compute::finish(*queue_); !ran) return ran;
  parts_.compute->copy(op.data, op.own, op.bytes);
  return {};
}

}  // namespace trainyard::run
