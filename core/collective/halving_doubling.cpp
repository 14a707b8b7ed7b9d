// SPDX-License-Identifier: GPL-3.0-or-later
// Recursive halving and doubling (Thakur, Rabenseifner and Gropp 2005; Goyal et al. 2017). Let m be
// the largest power of 2 that is at most n. The first 2 (n - m) members stand in pairs: the even
// one folds all it has into the odd one and waits. The m that go on, numbered anew, halve: at
// distance m/2, m/4 .. 1 a member gives its partner one half of the span it still holds and adds
// the other, until it owns chunk i of m; then they double back. Rounds: 2 log2 m, with the fold 2
// more. A member that goes on sends S - c[i] in the halving, in the doubling what it holds before
// each round (1, 2, 4 .. m/2 chunks), so 2 (m - 1)/m S where m divides, and S more to the one that
// it has taken in.
#include <bit>

#include "core/collective/circle.h"

namespace trainyard::collective {
namespace {

struct Folded {
  int most;   // m
  int extra;  // n - m
  explicit Folded(int members)
      : most(static_cast<int>(std::bit_floor(static_cast<unsigned>(members)))),
        extra(members - most) {}

  bool paired(int position) const { return position < 2 * extra; }
  bool waits(int position) const { return paired(position) && position % 2 == 0; }
  int number(int position) const { return paired(position) ? position / 2 : position - extra; }
  int position(int number) const { return number < extra ? 2 * number + 1 : number + extra; }
};

// Of the one that goes on as `number`.
Rounds halve_and_double(const Folded& folded, int number) {
  Rounds halving, doubling;
  for (int distance = folded.most / 2; distance > 0; distance /= 2) {
    const int partner = number ^ distance, peer = folded.position(partner);
    const int own = number / distance * distance,
              other = partner / distance * distance;  // where the two halves begin
    halving.push_back(
        {{StepKind::send, peer, other, distance}, {StepKind::recv_reduce, peer, own, distance}});
    doubling.insert(doubling.begin(), {{StepKind::send, peer, own, distance},
                                       {StepKind::recv, peer, other, distance}});
  }
  append(halving, doubling);
  return halving;
}

}  // namespace

Rounds halving_doubling(const Formation& formation, int position) {
  const Folded folded(formation.members);
  if (folded.waits(position)) {
    Rounds rounds(
        static_cast<std::size_t>(2 * std::countr_zero(static_cast<unsigned>(folded.most)) + 2));
    rounds.front() = {{StepKind::send, position + 1, 0, folded.most}};
    rounds.back() = {{StepKind::recv, position + 1, 0, folded.most}};
    return rounds;
  }
  Rounds rounds;
  if (folded.extra > 0) rounds.emplace_back();
  append(rounds, halve_and_double(folded, folded.number(position)));
  if (folded.extra > 0) rounds.emplace_back();
  if (folded.paired(position)) {
    rounds.front() = {{StepKind::recv_reduce, position - 1, 0, folded.most}};
    rounds.back() = {{StepKind::send, position - 1, 0, folded.most}};
  }
  return rounds;
}

}  // namespace trainyard::collective
