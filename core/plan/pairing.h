// SPDX-License-Identifier: GPL-3.0-or-later
// Averages of two, each rank on its own clock: AD-PSGD (Lian, Zhang, Zhang, Liu 2018, "Asynchronous
// Decentralized Parallel Stochastic Gradient Descent"). A rank is active or passive, and neighbours
// are never alike: the graph has two halves. In every step of its own an active rank offers its
// parameters x_a to one neighbour, its partner of the step, which answers by making x = (x_a + x_p)
// / 2 its own, at one go, and sending x back; the active one takes its step from x, and offers
// nothing else before. So of two ranks no sum of parameters is lost or counted twice: the mean of
// all ranks stays as it is, since what two exchange is the doubly stochastic matrix [1/2 1/2; 1/2
// 1/2].
//
// Nobody waits for ever. In its steps a passive rank waits for nobody, and answers between any two
// of its ops, and while it waits for samples, is paused, or is done with its steps. An active rank
// waits for its partner's answer alone: every wait within steps goes from an active rank to a
// passive one, which does not wait, and so none closes a circle. Between steps, where all meet to
// make their mean, a passive rank first answers all offers that the steps before will bring, and
// then waits for the others as they do for it; how many those are it knows, since who asks whom is
// a function of seed, step and rank. Offers of the steps after the meeting it answers once its own
// next step has begun, which depends on nobody that asks.
#pragma once

#include <cstdint>
#include <vector>

namespace trainyard::plan {

// An active rank and whom it may ask.
struct Pairing {
  std::int32_t active = -1;
  std::vector<std::int32_t> passive;  // ascending
  std::int64_t seed = 0;

  // Of a step of the active rank: its partner, as a number in `passive`, which is not empty; and as
  // a rank.
  std::size_t choice(std::int64_t step) const;
  std::int32_t partner(std::int64_t step) const { return passive[choice(step)]; }
  bool operator==(const Pairing&) const = default;
};

}  // namespace trainyard::plan
